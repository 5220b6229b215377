//! Each verb, failing at each of its calls to the store, in three ways; each verb that commits, with a
//! pointer that lies; and real processes that die.
//!
//! ```text
//!   for n in 0..  run the verb in a copy of one world, with a fault at call n; then, with a healthy store:
//!     1  every table is as before or as after, never other: the rows of every snapshot are compared
//!     2  what the verb answered is true
//!     3  the checker finds nothing
//!     4  the verb can be tried again, and then succeeds                               I8
//!     5  the orphan hunt finds every leftover, and takes nothing that is needed
//!     6  not one file outside the table's folder was written, changed or deleted      I7
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catalog::{Table, Warehouse};
use kiosko_tests::{Double, Hook, Hooked, Kind, State, Whim, World, ident, new_table, rows};
use ops::{Error, compact, expire, orphans};
use store::{Faulty, Store};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Create,
    Append,
    Overwrite,
    Compact,
    Expire,
    Clean,
    Orphans,
}

use Verb::{Append, Clean, Compact, Create, Expire, Orphans, Overwrite};

const ALL: [Verb; 7] = [Create, Append, Overwrite, Compact, Expire, Clean, Orphans];
const COMMITS: [Verb; 5] = [Create, Append, Overwrite, Compact, Expire];

impl Verb {
    /// The table that the verb works on.
    fn table(self) -> &'static str {
        if self == Create { "new" } else { "t" }
    }
}

/// The world in which a verb is tried, and what it needs to know.
struct Scene {
    world: World,
    /// The table before the expiry, for [`Clean`].
    before_expiry: Table,
}

/// ```text
///   t      s1 +3   s2 -3   s3 +4   s4 +1      and two files that nobody knows
///   other  s1 +1                              whose files are none of t's business
/// ```
fn scene(kind: Kind, verb: Verb) -> Scene {
    let world = World::new(kind);
    let client = world.client();
    world.create("other", &[]);
    ops::append::append(&client, &world.table("other"), &[rows::batch(100, 1)]).unwrap();
    let mut t = world.create("t", &[]);
    t = ops::append::append(&client, &t, &[rows::batch(1, 3)]).unwrap();
    t = ops::overwrite::overwrite(&client, &t, &[rows::batch(6, 4)]).unwrap();
    t = ops::append::append(&client, &t, &[rows::batch(10, 1)]).unwrap();
    for stray in STRAYS {
        world.stray("t", stray);
    }
    if verb == Clean {
        expire::run(&client, &t, &expire::plan(&t.metadata, &oldest(&t)).unwrap()).unwrap();
    }
    world.verify();
    Scene { world, before_expiry: t }
}

const STRAYS: [&str; 2] = ["data/nobody.parquet", "metadata/nobody.avro"];

/// The ids of s1 and s2.
fn oldest(table: &Table) -> BTreeSet<i64> {
    let old = table.metadata.snapshots.iter().filter(|snapshot| snapshot.sequence_number <= 2);
    old.map(|snapshot| snapshot.snapshot_id).collect()
}

/// Runs a verb as somebody would who knows nothing but the table's name.
fn act(verb: Verb, client: &Warehouse, before_expiry: &Table) -> ops::Result<()> {
    if verb == Create {
        client.catalog.create_table(&ident("new"), new_table(&[]))?;
        return Ok(());
    }
    let t = client.catalog.load_table(&ident("t"))?;
    match verb {
        Create => {}
        Append => drop(ops::append::append(client, &t, &[rows::batch(20, 3)])?),
        Overwrite => drop(ops::overwrite::overwrite(client, &t, &[rows::batch(30, 2)])?),
        Compact => {
            let options =
                compact::Options { min_input_files: 2, ..compact::Options::of(&t.metadata) };
            let plan = compact::plan(client.store.as_ref(), &t, &options)?;
            compact::run(client, &t, &plan)?;
        }
        Expire => {
            expire::run(client, &t, &expire::plan(&t.metadata, &oldest(&t))?)?;
        }
        Clean => drop(expire::clean(client, before_expiry)?),
        Orphans => {
            let plan = orphans::plan(client, &t, 0)?;
            orphans::run(client, &t, &plan)?;
        }
    }
    Ok(())
}

/// What readers see of all tables.
fn states(world: &World) -> [Option<State>; 3] {
    ["t", "new", "other"].map(|name| world.state(name))
}

/// The files in the verb's table's folder that the table does not need.
fn leftovers(verb: Verb, world: &World) -> BTreeSet<String> {
    let needed = world.needed(&world.table(verb.table()));
    world.files(verb.table()).difference(&needed).cloned().collect()
}

/// What a verb makes of its scene when nothing fails.
struct Expected {
    before: [Option<State>; 3],
    after: [Option<State>; 3],
    leftovers: BTreeSet<String>,
}

fn expected(verb: Verb, scene: &Scene) -> Expected {
    let world = scene.world.copy();
    let before = states(&world);
    act(verb, &world.client(), &scene.before_expiry).unwrap();
    world.verify();
    Expected { before, after: states(&world), leftovers: leftovers(verb, &world) }
}

/// Looks at a world after a verb that met a fault: the six points of this file's head.
fn judge(
    verb: Verb,
    scene: &Scene,
    expected: &Expected,
    world: &World,
    answer: &ops::Result<()>,
    at: &str,
) {
    // 1. As before or as after.
    let seen = states(world);
    let (before, after) = (seen == expected.before, seen == expected.after);
    assert!(before || after, "{at}: neither before nor after: {seen:?}");
    // 2. The answer is true.
    match answer {
        Ok(()) => assert!(after, "{at}: it said that all went well"),
        Err(Error::Unknown { .. }) => {}
        Err(error) => assert!(before, "{at}: it said that nothing happened: {error}"),
    }
    // 3. Sound.
    world.verify();
    // 4. Once more. A verb that changes no rows is tried again whenever it answered an error.
    if answer.is_err() && before {
        if let Err(error) = act(verb, &world.client(), &scene.before_expiry) {
            assert!(answer.is_ok(), "{at}: tried again: {error}");
        }
        if matches!(verb, Clean | Orphans) {
            assert_eq!(leftovers(verb, world), expected.leftovers, "{at}: tried again");
        }
    }
    // 5. Leftovers are found, all of them and nothing else.
    let (client, table) = (world.client(), world.table(verb.table()));
    let needed = world.needed(&table);
    let left: BTreeSet<_> = world.files(verb.table()).difference(&needed).cloned().collect();
    let plan = orphans::plan(&client, &table, 0).unwrap();
    let found: BTreeSet<_> =
        plan.orphans.iter().map(|orphan| orphan.path.normal().to_string()).collect();
    // A metadata file with another uuid may be another table's root: the one that a creation left behind
    // before it was tried again is spared.
    let spared: BTreeSet<_> = left.difference(&found).cloned().collect();
    assert!(found.is_subset(&left), "{at}: the orphan hunt");
    assert!(
        spared.iter().all(|path| verb == Create && path.contains("/metadata/00000-")),
        "{at}: the orphan hunt: {spared:?}"
    );
    orphans::run(&client, &table, &plan).unwrap();
    let stay = needed.union(&spared).cloned().collect();
    assert_eq!(world.files(verb.table()), stay, "{at}: after the orphan hunt");
    assert_eq!(states(world), expected.after, "{at}: after the orphan hunt");
    world.verify();
    // 6. Elsewhere nothing happened.
    let outside = world.outside(verb.table());
    assert!(outside == scene.world.outside(verb.table()), "{at}: outside: {:?}", outside.keys());
}

type Mode = fn(Arc<dyn Store>, u64) -> Faulty;

/// Runs a verb with a fault at call 0, 1, 2, ... until one is not reached.
fn at_every_call(kind: Kind, verb: Verb, name: &str, mode: Mode) {
    let scene = scene(kind, verb);
    let expected = expected(verb, &scene);
    for n in 0.. {
        let world = scene.world.copy();
        let faulty = Arc::new(mode(world.shared_store(), n));
        let answer = act(verb, &world.client_of(faulty.clone()), &scene.before_expiry);
        let at = format!("{verb:?} in {kind:?}, {name} {n}");
        // Who reads the error learns that the store failed, and not that a file is damaged. Who deletes
        // says instead which neighbour it could not look at.
        let told = match &answer {
            Ok(()) | Err(Error::Store(_) | Error::Catalog(catalog::Error::Store(_))) => true,
            Err(Error::Invalid { why, .. }) => {
                matches!(verb, Orphans | Clean) && why.contains("does not load")
            }
            Err(_) => false,
        };
        assert!(told, "{at}: {answer:?}");
        judge(verb, &scene, &expected, &world, &answer, &at);
        if !faulty.hit() {
            assert!(answer.is_ok(), "{at}: nothing failed");
            assert!(n >= 3, "{at}: every verb makes more calls than that");
            return;
        }
    }
}

macro_rules! at_every_call {
    ($($test:ident: $kind:ident $name:ident;)*) => {
        $(
            #[test]
            fn $test() {
                for verb in ALL {
                    at_every_call(Kind::$kind, verb, stringify!($name), Faulty::$name);
                }
            }
        )*
    };
}

at_every_call! {
    a_call_that_fails_in_memory: Memory fail_at;
    a_call_that_fails_on_disk: SqliteDisk fail_at;
    an_answer_that_is_lost_in_memory: Memory fail_after;
    an_answer_that_is_lost_on_disk: SqliteDisk fail_after;
    a_death_in_memory: Memory stop_at;
    a_death_on_disk: SqliteDisk stop_at;
}

/// A pointer whose write happens, or not, or later, and whose answer is an error: nothing that was
/// written may be deleted, whatever the verb believes.
#[test]
fn a_pointer_that_lies() {
    for kind in [Kind::SqliteDisk, Kind::Memory] {
        for verb in COMMITS {
            let scene = scene(kind, verb);
            let expected = expected(verb, &scene);
            for whim in [
                Whim::ErrorInstead,
                Whim::ErrorAfter,
                Whim::DeadInstead,
                Whim::DeadAfter,
                Whim::Late,
            ] {
                let at = format!("{verb:?} in {kind:?}, {whim:?}");
                let world = scene.world.copy();
                let there = world.everything();
                let double = Arc::new(Double::new(world.pointer(), whim));
                let client = world.client_with(Shared(double.clone()), world.shared_store());
                let answer = act(verb, &client, &scene.before_expiry);
                // The second look after a lost answer proves a win, and never a loss.
                match (&answer, whim) {
                    (Ok(()), Whim::ErrorAfter) => {}
                    (Err(error), _) if verb == Create => {
                        assert!(matches!(error, Error::Catalog(_)), "{at}: {error}");
                    }
                    (Err(Error::Unknown { .. }), _) if whim != Whim::ErrorAfter => {}
                    _ => panic!("{at}: {answer:?}"),
                }
                let kept = world.everything();
                assert!(there.keys().all(|path| kept.contains_key(path)), "{at}: a file is gone");
                let now = states(&world);
                let happened = matches!(whim, Whim::ErrorAfter | Whim::DeadAfter);
                let truth = if happened { &expected.after } else { &expected.before };
                assert_eq!(&now, truth, "{at}");
                if double.arrive().unwrap() {
                    assert_eq!(states(&world), expected.after, "{at}: arrived late");
                } else {
                    assert!(whim != Whim::Late, "{at}: it was under way");
                }
                // A create that is told nothing answers the error of the pointer: also unknown.
                let unknown = || Error::Unknown { table: "t".into(), why: String::new() };
                let answer = answer.map_err(|_| unknown());
                judge(verb, &scene, &expected, &world, &answer, &at);
            }
        }
    }
}

/// One double, held by the test and by the catalog.
struct Shared(Arc<Double>);

impl catalog::Pointer for Shared {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn create_namespace(&self, namespace: &catalog::Namespace) -> catalog::Result<bool> {
        self.0.create_namespace(namespace)
    }
    fn namespace_exists(&self, namespace: &catalog::Namespace) -> catalog::Result<bool> {
        self.0.namespace_exists(namespace)
    }
    fn list_namespaces(&self) -> catalog::Result<Vec<catalog::Namespace>> {
        self.0.list_namespaces()
    }
    fn list(&self, namespace: &catalog::Namespace) -> catalog::Result<Vec<catalog::TableIdent>> {
        self.0.list(namespace)
    }
    fn get(&self, ident: &catalog::TableIdent) -> catalog::Result<Option<String>> {
        self.0.get(ident)
    }
    fn put_new(&self, ident: &catalog::TableIdent, location: &str) -> catalog::Result<bool> {
        self.0.put_new(ident, location)
    }
    fn swap(&self, ident: &catalog::TableIdent, base: &str, new: &str) -> catalog::Result<bool> {
        self.0.swap(ident, base, new)
    }
}

/// What a child process is told: `folder`, the number of its verb, and the call to die at.
const CHILD: &str = "KIOSKO_TESTS_CHILD";

/// Not a test of its own: the process that [`a_process_that_is_killed`] starts, and that dies.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let [folder, verb, at] = order.split('|').collect::<Vec<_>>().try_into().unwrap();
    let (verb, at): (usize, u64) = (verb.parse().unwrap(), at.parse().unwrap());
    let verb = ALL.into_iter().nth(verb).unwrap();
    let world = World::open(folder.as_ref(), 77);
    let calls = AtomicU64::new(0);
    let hook: Hook = Arc::new(move |_| {
        if calls.fetch_add(1, Ordering::SeqCst) == at {
            std::process::abort();
        }
    });
    let store = Arc::new(Hooked::new(world.shared_store(), hook.clone()));
    let client = world.client_with(Double::hooked(world.pointer(), Whim::Honest, hook), store);
    // Clean needs a handle from before the expiry, which dies with the process; so it is not tried.
    act(verb, &client, &world.table("t")).unwrap();
}

/// Real processes, that die before a call of the store or of the pointer: at the first ones, and then
/// at ever fewer. Nothing is tidied up, not even the staged file.
#[test]
fn a_process_that_is_killed() {
    for verb in [Create, Append, Overwrite, Compact, Expire, Orphans] {
        let scene = scene(Kind::SqliteDisk, verb);
        let expected = expected(verb, &scene);
        let number = ALL.iter().position(|each| *each == verb).unwrap();
        let mut n = 0;
        loop {
            let world = scene.world.copy();
            let order = format!("{}|{number}|{n}", world.folder().display());
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["child", "--exact", "--nocapture"])
                .env(CHILD, order)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            // Whoever was killed told nothing.
            let unknown = || Error::Unknown { table: "t".into(), why: String::new() };
            let answer = if status.success() { Ok(()) } else { Err(unknown()) };
            let again = World::open(world.folder(), 78);
            judge(verb, &scene, &expected, &again, &answer, &format!("{verb:?}, killed at {n}"));
            if status.success() {
                assert!(n > 3, "{verb:?}: the child died at least at its first calls");
                break;
            }
            n += 1 + n / 4;
        }
    }
}
