//! Random histories against a model: what was acknowledged is there, what was refused is not, and every
//! retained snapshot shows the rows that it always showed.
//!
//! The model is a map from sequence number to rows, and which of them is current. A step is a verb by a
//! writer who is fresh or holds an old handle, undisturbed, or with a fault in the store, or with a rival
//! who appends at some call of it. After each step:
//!
//! ```text
//!   I3  exactly the acknowledged snapshots are there, less the expired; each parent is the one before
//!   I5  their rows are the model's, as multisets, nulls and NaN included
//!   I1, I2, I4, I6: the checker finds nothing
//!   I8  a fresh writer whom nothing disturbs always succeeds
//! ```
//!
//! 64 histories, or as many as `PROPTEST_CASES` says. A history that fails is shrunk, printed, and then
//! becomes a test of its own below, with a number.

#![expect(clippy::indexing_slicing, reason = "what is not there should stop the test")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catalog::{Table, Warehouse};
use kiosko_tests::{Double, Hook, Hooked, Kind, Whim, World, ident, rows};
use ops::{Error, compact, expire, orphans};
use proptest::collection::vec;
use proptest::prelude::*;
use store::{Faulty, Store};

/// What a writer does.
#[derive(Debug, Clone)]
enum Act {
    /// Adds so many rows.
    Append(usize),
    /// Replaces all rows by so many.
    Overwrite(usize),
    /// Brings together bins of at least so many files.
    Compact(usize),
    /// Forgets the snapshots whose bit is set, the current one excepted; and cleans up, or not.
    Expire(u16, bool),
    /// Removes orphans, of any age or old ones.
    Orphans(bool),
    /// Closes everything and opens it again.
    Reopen,
    /// Keeps a handle of the table as it is.
    Remember,
}

/// What disturbs it.
#[derive(Debug, Clone)]
enum Trouble {
    None,
    /// The writer works on the remembered handle.
    Stale,
    /// The store fails at this call, in one of its three ways.
    Fault(u8, u64),
    /// A rival appends so many rows just before this call.
    Rival(u64, usize),
}

type Step = (Act, Trouble);

fn step() -> impl Strategy<Value = Step> {
    let act = prop_oneof![
        5 => (0..4_usize).prop_map(Act::Append),
        3 => (0..3_usize).prop_map(Act::Overwrite),
        3 => (2..4_usize).prop_map(Act::Compact),
        3 => (any::<u16>(), any::<bool>()).prop_map(|(mask, clean)| Act::Expire(mask, clean)),
        2 => any::<bool>().prop_map(Act::Orphans),
        1 => Just(Act::Reopen),
        2 => Just(Act::Remember),
    ];
    let trouble = prop_oneof![
        4 => Just(Trouble::None),
        3 => Just(Trouble::Stale),
        3 => (0..3_u8, 0..40_u64).prop_map(|(mode, at)| Trouble::Fault(mode, at)),
        3 => (0..30_u64, 1..3_usize).prop_map(|(at, rows)| Trouble::Rival(at, rows)),
    ];
    (act, trouble)
}

/// What should be there.
#[derive(Default)]
struct Model {
    /// Rows by sequence number, of each snapshot that was acknowledged and not expired.
    rows: BTreeMap<i64, Vec<String>>,
    /// The current one.
    head: Option<i64>,
    /// The ids of all that were acknowledged, expired or not, in order.
    history: Vec<i64>,
}

impl Model {
    fn now(&self) -> Vec<String> {
        self.head.map(|head| self.rows[&head].clone()).unwrap_or_default()
    }

    fn commit(&mut self, number: i64, id: i64, mut rows: Vec<String>) {
        rows.sort();
        self.rows.insert(number, rows);
        self.head = Some(number);
        self.history.push(id);
    }
}

/// The world, the model, and who remembers what.
struct Simulation {
    world: World,
    model: Model,
    next_row: i64,
    /// A handle, and the sequence number of its current snapshot.
    remembered: Option<Table>,
}

/// A rival's commit: its sequence number and id, and its rows.
type Rivalry = Arc<std::sync::Mutex<Option<(i64, i64, Vec<String>)>>>;

fn head_of(table: &Table) -> Option<(i64, i64)> {
    table.metadata.current_snapshot().map(|head| (head.sequence_number, head.snapshot_id))
}

impl Simulation {
    fn new(kind: Kind) -> Simulation {
        let world = World::new(kind);
        world.create("t", &[]);
        Simulation { world, model: Model::default(), next_row: 1, remembered: None }
    }

    fn fresh_rows(&mut self, count: usize) -> (i64, usize) {
        self.next_row += count as i64;
        (self.next_row - count as i64, count)
    }

    fn run(mut self, steps: &[Step]) {
        for (at, step) in steps.iter().enumerate() {
            let told = format!("step {at}, {step:?}");
            match step {
                (Act::Reopen, _) => self.world = self.world.reopen(),
                (Act::Remember, _) => self.remembered = Some(self.world.table("t")),
                (act, trouble) => self.act(act, trouble, &told),
            }
            self.look(&told);
        }
        // In the end, as always: whoever is not disturbed succeeds, and no leftover is overlooked.
        for act in
            [Act::Append(1), Act::Compact(2), Act::Expire(u16::MAX, true), Act::Orphans(true)]
        {
            let told = format!("in the end, {act:?}");
            self.act(&act, &Trouble::None, &told);
            self.look(&told);
        }
        let needed = self.world.needed(&self.world.table("t"));
        assert_eq!(self.world.files("t"), needed, "in the end nothing is left over");
    }

    /// The world is the model.
    fn look(&self, at: &str) {
        self.world.verify();
        let state = self.world.state("t").unwrap();
        assert_eq!(state.head, self.model.head, "{at}: the current snapshot");
        let numbers: Vec<_> = state.snapshots.iter().map(|(number, _, _)| *number).collect();
        let wanted: Vec<_> = self.model.rows.keys().copied().collect();
        assert_eq!(numbers, wanted, "{at}: I3, the snapshots");
        for (number, _, rows) in &state.snapshots {
            assert_eq!(rows, &self.model.rows[number], "{at}: I5, the rows of s{number}");
        }
        for snapshot in &self.world.table("t").metadata.snapshots {
            let place = self.model.history.iter().position(|id| *id == snapshot.snapshot_id);
            let before = place.unwrap().checked_sub(1).map(|place| self.model.history[place]);
            assert_eq!(snapshot.parent_snapshot_id, before, "{at}: I3, the history");
        }
    }

    fn act(&mut self, act: &Act, trouble: &Trouble, at: &str) {
        let rivalry = Rivalry::default();
        let client = self.client(trouble, &rivalry);
        let stale = matches!(trouble, Trouble::Stale) && self.remembered.is_some();
        let mine = match act {
            Act::Append(count) | Act::Overwrite(count) => self.fresh_rows(*count),
            _ => (0, 0),
        };
        let base = match (&self.remembered, stale) {
            (Some(table), true) => Ok(table.clone()),
            _ => client.catalog.load_table(&ident("t")).map_err(Error::from),
        };
        let mut expired = BTreeSet::new();
        let answer = base.and_then(|base| {
            let after = perform(act, &client, &base, mine, &mut expired)?;
            Ok((base, after))
        });
        let rival = rivalry.lock().unwrap().take();
        // A rival who came before us is part of the table that we were given back.
        let ours = answer.as_ref().ok().map(|(_, after)| after);
        let first = |number: i64| {
            ours.is_none_or(|after| {
                after.metadata.snapshots.iter().any(|s| s.sequence_number == number)
            })
        };
        let (before, after) = match rival {
            Some(rival) if first(rival.0) => (Some(rival), None),
            rival => (None, rival),
        };
        self.rival(before);
        match &answer {
            Ok((base, after)) => self.settle(act, base, after, mine, at),
            Err(error) => {
                let disturbed = match trouble {
                    Trouble::None => false,
                    Trouble::Stale => stale,
                    Trouble::Fault(..) => matches!(error, Error::Store(_) | Error::Catalog(_)),
                    Trouble::Rival(..) => matches!(error, Error::Conflict { .. }),
                };
                assert!(disturbed, "{at}: {error}");
                assert!(!matches!(error, Error::Unknown { .. }), "{at}: {error}");
            }
        }
        for number in expired {
            self.model.rows.remove(&number);
        }
        self.rival(after);
    }

    fn rival(&mut self, rival: Option<(i64, i64, Vec<String>)>) {
        if let Some((number, id, rows)) = rival {
            let rows = [self.model.now(), rows].concat();
            self.model.commit(number, id, rows);
        }
    }

    /// What a won commit means for the model.
    fn settle(&mut self, act: &Act, base: &Table, after: &Table, mine: (i64, usize), at: &str) {
        let now = self.model.now();
        let all = after.metadata.snapshots.iter().map(|s| (s.sequence_number, s.snapshot_id));
        let last = self.model.history.last().copied();
        let new: Vec<_> = all.skip_while(|(_, id)| last.is_some_and(|last| *id != last)).collect();
        let new = if last.is_some() { new.get(1..).unwrap_or_default().to_vec() } else { new };
        let mine = rows::model(mine.0, mine.1);
        match (act, new.as_slice()) {
            (Act::Append(_), [(number, id)]) => {
                self.model.commit(*number, *id, [now, mine].concat());
            }
            (Act::Overwrite(_), new) => {
                let seen = head_of(base).and_then(|(number, _)| self.model.rows.get(&number));
                assert_eq!(seen.cloned().unwrap_or_default(), now, "{at}: replaced without seeing");
                let (delete, append) = match new {
                    [append] => (None, append),
                    [delete, append] => (Some(delete), append),
                    _ => no_such_step(at, new),
                };
                assert_eq!(
                    delete.is_some(),
                    !now.is_empty(),
                    "{at}: a delete if there is something"
                );
                if let Some((number, id)) = delete {
                    self.model.commit(*number, *id, Vec::new());
                }
                self.model.commit(append.0, append.1, mine);
            }
            (Act::Compact(_), [(number, id)]) => self.model.commit(*number, *id, now),
            (Act::Compact(_) | Act::Expire(..) | Act::Orphans(_), []) => {}
            (_, new) => no_such_step(at, new),
        }
    }

    /// The writer's client, disturbed as the step says.
    fn client(&mut self, trouble: &Trouble, rivalry: &Rivalry) -> Warehouse {
        let store = self.world.shared_store();
        match *trouble {
            Trouble::None | Trouble::Stale => self.world.client(),
            Trouble::Fault(mode, at) => {
                let mode: fn(Arc<dyn Store>, u64) -> Faulty = match mode {
                    0 => Faulty::fail_at,
                    1 => Faulty::fail_after,
                    _ => Faulty::stop_at,
                };
                self.world.client_of(Arc::new(mode(store, at)))
            }
            Trouble::Rival(at, count) => {
                let (first, count) = self.fresh_rows(count);
                let (rival, rivalry, calls) =
                    (self.world.client(), rivalry.clone(), AtomicU64::new(0));
                let hook: Hook = Arc::new(move |call: &str| {
                    if call.starts_with("write /") || calls.fetch_add(1, Ordering::SeqCst) != at {
                        return;
                    }
                    let table = rival.catalog.load_table(&ident("t")).unwrap();
                    let rows = rows::batch(first, count);
                    let table = ops::append::append(&rival, &table, &[rows]).unwrap();
                    let (number, id) = head_of(&table).unwrap();
                    *rivalry.lock().unwrap() = Some((number, id, rows::model(first, count)));
                });
                let store = Arc::new(Hooked::new(store, hook.clone()));
                let pointer = Double::hooked(self.world.pointer(), Whim::Honest, hook);
                self.world.client_with(pointer, store)
            }
        }
    }
}

#[expect(clippy::panic, reason = "an outcome that no model knows")]
fn no_such_step(at: &str, new: &[(i64, i64)]) -> ! {
    panic!("{at}: made the snapshots {new:?}")
}

/// Performs an act on a table, and answers the table after it. What was expired is told even when the
/// clean-up after it fails.
fn perform(
    act: &Act,
    client: &Warehouse,
    base: &Table,
    (first, count): (i64, usize),
    expired: &mut BTreeSet<i64>,
) -> ops::Result<Table> {
    match act {
        Act::Append(_) => ops::append::append(client, base, &[rows::batch(first, count)]),
        Act::Overwrite(_) => ops::overwrite::overwrite(client, base, &[rows::batch(first, count)]),
        Act::Compact(min) => {
            let options =
                compact::Options { min_input_files: *min, ..compact::Options::of(&base.metadata) };
            let plan = compact::plan(client.store.as_ref(), base, &options)?;
            compact::run(client, base, &plan)
        }
        Act::Expire(mask, clean) => {
            let head = base.metadata.current_snapshot_id;
            let chosen = base.metadata.snapshots.iter().enumerate().filter(|(place, snapshot)| {
                mask & (1 << (place % 16)) != 0 && Some(snapshot.snapshot_id) != head
            });
            let (ids, numbers): (BTreeSet<_>, BTreeSet<_>) = chosen
                .map(|(_, snapshot)| (snapshot.snapshot_id, snapshot.sequence_number))
                .unzip();
            let plan = expire::plan(&base.metadata, &ids)?;
            let after = expire::run(client, base, &plan)?;
            expired.extend(numbers);
            if *clean {
                expire::clean(client, base)?;
            }
            Ok(after)
        }
        Act::Orphans(any_age) => {
            let age_ms = if *any_age { 0 } else { orphans::DEFAULT_AGE_MS };
            let plan = orphans::plan(client, base, age_ms)?;
            orphans::run(client, base, &plan)?;
            Ok(base.clone())
        }
        Act::Reopen | Act::Remember => Ok(base.clone()),
    }
}

/// 64 histories, unless `PROPTEST_CASES` says otherwise; `share` of them.
fn config(share: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").is_ok();
    let cases = if asked { ProptestConfig::default().cases } else { 64 };
    ProptestConfig {
        cases: (cases / share).max(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config(1))]
    #[test]
    fn random_histories_in_memory(steps in vec(step(), 1..12)) {
        Simulation::new(Kind::Memory).run(&steps);
    }
}

proptest! {
    #![proptest_config(config(8))]
    #[test]
    fn random_histories_on_disk(steps in vec(step(), 1..12)) {
        Simulation::new(Kind::SqliteDisk).run(&steps);
    }
}

/// Bug 1: a writer who held a handle of the empty table replaced it with rows of his own. Meanwhile rows had
/// been added, by a snapshot that has expired since; the walk through the history ended there, found
/// nothing that forbids, and both the rival's rows and the overwriter's were in the table.
#[test]
fn bug_1_an_overwrite_from_the_empty_table_after_the_rivals_snapshot_expired() {
    for kind in [Kind::Memory, Kind::SqliteDisk] {
        Simulation::new(kind).run(&[
            (Act::Remember, Trouble::None),
            (Act::Append(1), Trouble::None),
            (Act::Append(0), Trouble::None),
            (Act::Expire(1, false), Trouble::None),
            (Act::Overwrite(1), Trouble::Stale),
        ]);
    }
}
