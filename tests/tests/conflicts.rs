//! Two writers. For each ordered pair of verbs: A reads the table and begins, B commits, A commits. The
//! result is that of a serial order, or a typed conflict that leaves B's work alone. No row is lost and
//! none comes back from the dead, wherever in A's work B may fall.
//!
//! Below the table of pairs, the pitfalls that shipped elsewhere, each by its name in the list of the
//! house; at the end, threads.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]
#![expect(clippy::panic, reason = "an outcome that is not in the table should stop the test")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use catalog::{Local, Outcome, Sqlite, Table, Warehouse};
use kiosko_tests::{Double, Hook, Hooked, Kind, State, Whim, World, ident, new_table, rows};
use meta::Location;
use meta::data_file::{Content, DataFile};
use meta::manifest::{ManifestEntry, Status};
use meta::manifest_list::{self, ManifestContent, ManifestFile};
use meta::manifest_write::ManifestWriter;
use meta::snapshot::{MAIN, Operation, RefKind, Snapshot, SnapshotRef, Summary};
use meta::update::Update;
use ops::{Error, compact, expire, orphans};
use store::{Disk, Stamp, put_new};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Append,
    Overwrite,
    Compact,
    Expire,
    Clean,
    Orphans,
}

use Verb::{Append, Clean, Compact, Expire, Orphans, Overwrite};

const ALL: [Verb; 6] = [Append, Overwrite, Compact, Expire, Clean, Orphans];

/// How A ends when B committed after A had read the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The effects of B, then of A.
    Both,
    /// The effects of B, and a conflict that names this rule.
    Lost(&'static str),
}

use End::{Both, Lost};

/// Rows: A. Columns: B, in the order of [`ALL`]. An overwrite must have seen the rows that it replaces
/// (C2), and what a verb removes must still be there (C4). Forgetting and sweeping touch no live file.
#[rustfmt::skip]
const ENDS: [(Verb, [End; 6]); 6] = [
    //               append        overwrite     compact       expire clean orphans
    (Append,        [Both,         Both,         Both,         Both,  Both, Both]),
    (Overwrite,     [Lost("C2"),   Lost("C2"),   Lost("C4"),   Both,  Both, Both]),
    (Compact,       [Both,         Lost("C4"),   Lost("C4"),   Both,  Both, Both]),
    (Expire,        [Both,         Both,         Both,         Both,  Both, Both]),
    (Clean,         [Both,         Both,         Both,         Both,  Both, Both]),
    (Orphans,       [Both,         Both,         Both,         Both,  Both, Both]),
];

fn end(a: Verb, b: Verb) -> End {
    let row = ENDS.iter().find(|(verb, _)| *verb == a).unwrap();
    ALL.iter().zip(row.1).find(|(verb, _)| **verb == b).unwrap().1
}

/// ```text
///   t   s1 +3   s2 -3   s3 +4   s4 +1     and two files that nobody knows, four days old
/// ```
fn scene(kind: Kind) -> World {
    let world = World::new(kind);
    let client = world.client();
    let mut t = world.create("t", &[]);
    t = ops::append::append(&client, &t, &[rows::batch(1, 3)]).unwrap();
    t = ops::overwrite::overwrite(&client, &t, &[rows::batch(6, 4)]).unwrap();
    ops::append::append(&client, &t, &[rows::batch(10, 1)]).unwrap();
    for stray in STRAYS {
        world.stray("t", stray);
    }
    world.stamp.sleep(std::time::Duration::from_secs(4 * 24 * 60 * 60));
    world.verify();
    world
}

const STRAYS: [&str; 2] = ["data/nobody.parquet", "metadata/nobody.avro"];

/// The rows of the scene, and of what A and B write.
const ROWS: (i64, usize) = (6, 5);
const BY_A: (i64, usize) = (100, 2);
const BY_B: (i64, usize) = (200, 3);

/// The rows of the table after these verbs, each with the rows it writes.
fn model(verbs: &[(Verb, (i64, usize))]) -> Vec<String> {
    let mut now = rows::model(ROWS.0, ROWS.1);
    for (verb, (first, count)) in verbs {
        match verb {
            Append => now.extend(rows::model(*first, *count)),
            Overwrite => now = rows::model(*first, *count),
            _ => {}
        }
    }
    now.sort();
    now
}

/// What a verb has read before it acts.
struct Begun {
    table: Table,
    compaction: compact::Plan,
    expiry: expire::Plan,
    hunt: orphans::Plan,
}

fn begin(verb: Verb, client: &Warehouse) -> ops::Result<Begun> {
    let table = client.catalog.load_table(&ident("t"))?;
    let options = compact::Options { min_input_files: 2, ..compact::Options::of(&table.metadata) };
    let compaction = match verb {
        Compact => compact::plan(client.store.as_ref(), &table, &options)?,
        _ => compact::Plan::default(),
    };
    let old = table.metadata.snapshots.iter().filter(|snapshot| snapshot.sequence_number <= 2);
    let expiry =
        expire::plan(&table.metadata, &old.map(|snapshot| snapshot.snapshot_id).collect())?;
    let hunt = match verb {
        Orphans => orphans::plan(client, &table, orphans::DEFAULT_AGE_MS)?,
        _ => orphans::Plan::default(),
    };
    Ok(Begun { table, compaction, expiry, hunt })
}

fn finish(
    verb: Verb,
    client: &Warehouse,
    begun: &Begun,
    (first, count): (i64, usize),
) -> ops::Result<()> {
    let table = &begun.table;
    match verb {
        Append => drop(ops::append::append(client, table, &[rows::batch(first, count)])?),
        Overwrite => drop(ops::overwrite::overwrite(client, table, &[rows::batch(first, count)])?),
        Compact => drop(compact::run(client, table, &begun.compaction)?),
        Expire => drop(expire::run(client, table, &begun.expiry)?),
        Clean => {
            expire::run(client, table, &begun.expiry)?;
            expire::clean(client, table)?;
        }
        Orphans => drop(orphans::run(client, table, &begun.hunt)?),
    }
    Ok(())
}

fn whole(verb: Verb, client: &Warehouse, rows: (i64, usize)) -> ops::Result<()> {
    finish(verb, client, &begin(verb, client)?, rows)
}

/// Sound; and the snapshots that were there before, if still kept, show the rows they always showed.
/// Answers the rows of now.
fn look(world: &World, before: &State, at: &str) -> Vec<String> {
    world.verify();
    let now = world.state("t").unwrap();
    for (number, operation, rows) in &now.snapshots {
        if let Some(old) = before.snapshots.iter().find(|(old, _, _)| old == number) {
            assert_eq!((operation, rows), (&old.1, &old.2), "{at}: snapshot {number} has changed");
        }
    }
    let head = now.snapshots.iter().find(|(number, _, _)| Some(*number) == now.head).unwrap();
    head.2.clone()
}

/// B commits between A's reading and A's acting.
#[test]
fn every_pair_on_a_stale_table() {
    for kind in [Kind::SqliteDisk, Kind::Memory] {
        let scene = scene(kind);
        let before = scene.state("t").unwrap();
        for (a, b) in ALL.into_iter().flat_map(|a| ALL.map(|b| (a, b))) {
            let at = format!("A {a:?}, B {b:?} in {kind:?}");
            let world = scene.copy();
            let client = world.client();
            let begun = begin(a, &client).unwrap();
            whole(b, &client, BY_B).unwrap();
            let after_b = world.state("t").unwrap();
            let files = world.files("t");
            let answer = finish(a, &client, &begun, BY_A);
            let now = look(&world, &before, &at);
            match (end(a, b), answer) {
                (Both, Ok(())) => assert_eq!(now, model(&[(b, BY_B), (a, BY_A)]), "{at}"),
                (Lost(number), Err(Error::Conflict { rule, operation, .. })) => {
                    assert!(rule.starts_with(number), "{at}: {rule}");
                    assert!(["overwrite", "compaction"].contains(&operation), "{at}: {operation}");
                    assert_eq!(world.state("t").unwrap(), after_b, "{at}: B's work alone");
                    assert_eq!(world.files("t"), files, "{at}: A left something behind");
                }
                (end, answer) => panic!("{at}: {answer:?} and not {end:?}"),
            }
        }
    }
}

/// B runs as a whole just before A's call number k to the store or the pointer, for each k.
fn every_rival_at_every_call(a: Verb) {
    let scene = scene(Kind::Memory);
    let before = scene.state("t").unwrap();
    for b in ALL {
        for k in 0.. {
            let at = format!("A {a:?}, B {b:?} at call {k}");
            let world = scene.copy();
            let (client, met) = interrupted(&world, k, move |rival| {
                // Where A forgot the same snapshots a moment ago, B has nothing to forget.
                let answer = whole(b, rival, BY_B);
                let nothing = matches!(answer, Err(Error::Invalid { .. })) && b == Expire;
                assert!(answer.is_ok() || nothing, "{answer:?}");
            });
            let answer = whole(a, &client, BY_A);
            let now = look(&world, &before, &at);
            if !met.load(Ordering::SeqCst) {
                assert!(k >= 4, "{at}: every verb makes more calls than that");
                assert_eq!(now, model(&[(a, BY_A)]), "{at}: alone");
                break;
            }
            match (end(a, b), answer) {
                (_, Ok(())) => {
                    let serial = [model(&[(a, BY_A), (b, BY_B)]), model(&[(b, BY_B), (a, BY_A)])];
                    assert!(serial.contains(&now), "{at}: {now:?}");
                }
                (Lost(_), Err(Error::Conflict { .. })) => {
                    assert_eq!(now, model(&[(b, BY_B)]), "{at}");
                }
                // B expired what A was about to: it is told so, and the snapshots are gone.
                (_, Err(Error::Invalid { .. }))
                    if matches!(a, Expire | Clean) && matches!(b, Expire | Clean) =>
                {
                    assert_eq!(now, model(&[]), "{at}");
                    assert_eq!(world.table("t").metadata.snapshots.len(), 2, "{at}");
                }
                // B cleaned away what A was about to follow: A cannot know what is needed, and stops.
                (_, Err(Error::Store(store::Error::NotFound { .. })))
                    if matches!(a, Clean | Orphans) && b == Clean =>
                {
                    assert_eq!(now, model(&[]), "{at}");
                }
                (end, answer) => panic!("{at}: {answer:?} and not {end:?}"),
            }
        }
    }
}

macro_rules! every_rival_at_every_call {
    ($($test:ident: $verb:ident;)*) => {
        $(
            #[test]
            fn $test() {
                every_rival_at_every_call($verb);
            }
        )*
    };
}

every_rival_at_every_call! {
    every_rival_at_every_call_of_an_append: Append;
    every_rival_at_every_call_of_an_overwrite: Overwrite;
    every_rival_at_every_call_of_a_compaction: Compact;
    every_rival_at_every_call_of_an_expiry: Expire;
    every_rival_at_every_call_of_a_cleaning_expiry: Clean;
    every_rival_at_every_call_of_an_orphan_hunt: Orphans;
}

/// A client at whose call number `k` a rival acts, as soon as it is made; and whether that happened.
fn interrupted(
    world: &World,
    k: u64,
    act: impl Fn(&Warehouse) + Send + Sync + 'static,
) -> (Warehouse, Arc<AtomicBool>) {
    let (rival, calls) = (world.client(), AtomicU64::new(0));
    let met = Arc::new(AtomicBool::new(false));
    let meet = met.clone();
    let hook: Hook = Arc::new(move |call: &str| {
        // Between two writes to one file nothing can happen that could not happen before them.
        if !call.starts_with("write /") && calls.fetch_add(1, Ordering::SeqCst) == k {
            meet.store(true, Ordering::SeqCst);
            act(&rival);
        }
    });
    (hooked(world, hook), met)
}

fn hooked(world: &World, hook: Hook) -> Warehouse {
    let store = Arc::new(Hooked::new(world.shared_store(), hook.clone()));
    world.client_with(Double::hooked(world.pointer(), Whim::Honest, hook), store)
}

/// A client before whose first swap a rival acts.
fn beaten(world: &World, act: impl Fn(&Warehouse) + Send + Sync + 'static) -> Warehouse {
    let (rival, done) = (world.client(), AtomicBool::new(false));
    hooked(
        world,
        Arc::new(move |call: &str| {
            if call.starts_with("swap") && !done.swap(true, Ordering::SeqCst) {
                act(&rival);
            }
        }),
    )
}

/// A reader holds a table; whatever a rival does at any moment but deleting what the reader reads, it
/// sees the rows of that table and no others.
#[test]
fn a_reader_is_never_surprised() {
    let scene = scene(Kind::Memory);
    for b in ALL {
        for k in 0.. {
            let world = scene.copy();
            let act = move |rival: &Warehouse| whole(b, rival, BY_B).unwrap();
            let (client, met) = interrupted(&world, k, act);
            let table = client.catalog.load_table(&ident("t")).unwrap();
            let mut seen = Vec::new();
            let scan = ops::scan::Scan::default();
            for batch in ops::scan::scan(&client.store, &table, &scan).unwrap() {
                seen.extend(rows::text(&batch.unwrap()));
            }
            seen.sort();
            let whole = [model(&[]), model(&[(b, BY_B)])];
            assert!(whole.contains(&seen), "B {b:?} at call {k}: {seen:?}");
            if !met.load(Ordering::SeqCst) {
                break;
            }
        }
    }
}

/// Two who create one table: one has it, the other is told so and leaves nothing.
#[test]
fn one_name_is_given_once() {
    for kind in [Kind::SqliteDisk, Kind::Memory] {
        let scene = World::new(kind);
        for k in 0.. {
            let world = scene.copy();
            let (client, met) = interrupted(&world, k, |rival| {
                let table = new_table(&[("made-by", "b")]);
                let made = rival.catalog.create_table(&ident("t"), table);
                let taken = matches!(made, Err(catalog::Error::AlreadyExists { .. }));
                assert!(made.is_ok() || taken);
            });
            let made = client.catalog.create_table(&ident("t"), new_table(&[("made-by", "a")]));
            let by = world.table("t").metadata.properties["made-by"].clone();
            match &made {
                Ok(table) => assert_eq!(*table, world.table("t"), "call {k}"),
                Err(catalog::Error::AlreadyExists { .. }) => assert_eq!(by, "b", "call {k}"),
                Err(error) => panic!("call {k}: {error}"),
            }
            assert_eq!(world.files("t"), world.needed(&world.table("t")), "call {k}");
            if !met.load(Ordering::SeqCst) {
                break;
            }
        }
    }
}

/// A row of the newest manifests, for the tests below.
fn entries(world: &World, table: &Table) -> Vec<ManifestEntry> {
    let head = table.metadata.current_snapshot().unwrap();
    let manifests = ops::load::manifests(world.store(), head).unwrap();
    manifests.iter().flat_map(|m| ops::load::entries(world.store(), m).unwrap()).collect()
}

/// B14 (iceberg#9227, trino#20092): a retry kept an empty cached list and committed a snapshot without
/// the new files. Here each attempt has the same added file, once; and it is written once.
#[test]
fn b14_a_retry_commits_the_added_files_once() {
    for kind in [Kind::SqliteDisk, Kind::Memory] {
        let world = scene(kind);
        let before = world.files("t").into_iter().filter(|path| path.contains("/data/")).count();
        let client = beaten(&world, |rival| whole(Append, rival, BY_B).unwrap());
        let after =
            ops::append::append(&client, &world.table("t"), &[rows::batch(100, 2)]).unwrap();
        assert_eq!(after, world.table("t"));
        let head = after.metadata.current_snapshot().unwrap();
        assert_eq!(head.sequence_number, 6, "B's is 5");
        assert_eq!(head.summary.count("added-data-files"), Some(1));
        assert_eq!(head.summary.count("added-records"), Some(2));
        let added: Vec<_> = entries(&world, &after)
            .into_iter()
            .filter(|entry| entry.snapshot_id == head.snapshot_id)
            .collect();
        assert_eq!(added.len(), 1);
        // The manifest was written before the race was lost; its number is that of the commit that won.
        assert_eq!((added[0].status, added[0].sequence_number), (Status::Added, Some(6)));
        let data = world.files("t").into_iter().filter(|path| path.contains("/data/")).count();
        assert_eq!(data, before + 2, "one file of A's, one of B's");
        assert_eq!(world.rows(&after, None), model(&[(Append, BY_B), (Append, BY_A)]));
        let kept: BTreeSet<_> =
            STRAYS.map(|rest| format!("{}/{rest}", kiosko_tests::folder("t"))).into();
        let left =
            world.files("t").difference(&world.needed(&after)).cloned().collect::<BTreeSet<_>>();
        assert_eq!(left, kept, "what the lost attempt wrote for itself was taken away");
        world.verify();
    }
}

/// B16 (iceberg-go#1427): replaying a manifest list after a conflict brought removed files back, and
/// dropped the other writer's. A compacts f1 and f2, B appends f3 first: f3 and the compacted file stay.
#[test]
fn b16_a_retried_compaction_keeps_the_rivals_file_and_not_the_compacted_ones() {
    let world = World::new(Kind::Memory);
    let client = world.client();
    let mut t = world.create("t", &[]);
    for first in [1, 3] {
        t = ops::append::append(&client, &t, &[rows::batch(first, 2)]).unwrap();
    }
    let old: BTreeSet<_> = entries(&world, &t).into_iter().map(|e| e.data_file.file_path).collect();
    let options = compact::Options { min_input_files: 2, ..compact::Options::of(&t.metadata) };
    let plan = compact::plan(world.store(), &t, &options).unwrap();
    let client = beaten(&world, |rival| {
        let t = rival.catalog.load_table(&ident("t")).unwrap();
        ops::append::append(rival, &t, &[rows::batch(5, 1)]).unwrap();
    });
    let after = compact::run(&client, &t, &plan).unwrap();
    let live: Vec<_> = entries(&world, &after).into_iter().filter(|e| e.is_live()).collect();
    assert_eq!(live.len(), 2, "f3 and the compacted file");
    assert!(live.iter().all(|entry| !old.contains(&entry.data_file.file_path)));
    assert_eq!(world.rows(&after, None), rows::model(1, 5));
    world.verify();
}

/// One append of several files, all in one manifest.
fn files_in_one_manifest(world: &World, table: &Table, counts: &[(i64, usize)]) -> Table {
    let batches: Vec<_> = counts.iter().map(|(first, count)| rows::batch(*first, *count)).collect();
    ops::append::append(&world.client(), table, &batches).unwrap()
}

/// Compacts exactly these files, each group into one.
fn compact_exactly(world: &World, table: &Table, bins: &[&[&ManifestEntry]]) -> Table {
    let bin = |bin: &&[&ManifestEntry]| bin.iter().map(|e| e.data_file.clone()).collect();
    let plan = compact::Plan {
        snapshot_id: table.metadata.current_snapshot_id,
        bins: bins.iter().map(bin).collect(),
        keep: Vec::new(),
    };
    compact::run(&world.client(), table, &plan).unwrap()
}

/// C1 (iceberg#3842): merging manifests lost the explicit data sequence number of added entries. A
/// compacted file keeps the number of the snapshot it was made from, also when its manifest is written
/// anew because its neighbour went.
#[test]
fn c1_a_compacted_file_keeps_its_data_sequence_number_when_its_manifest_is_rewritten() {
    let world = World::new(Kind::Memory);
    let t = world.create("t", &[("write.target-file-size-bytes", "1")]);
    let t = files_in_one_manifest(&world, &t, &[(1, 1), (2, 1), (3, 1), (4, 1)]);
    let t = ops::append::append(&world.client(), &t, &[rows::batch(5, 1)]).unwrap();
    // Commit 3 compacts two pairs, from snapshot 2: two added files with data sequence number 2.
    let e = entries(&world, &t);
    let by = |rows: &str| {
        let id = |e: &&ManifestEntry| {
            e.data_file.lower_bounds[&1] == rows.parse::<i64>().unwrap().to_le_bytes()
        };
        e.iter().find(id).unwrap()
    };
    let t = compact_exactly(&world, &t, &[&[by("1"), by("2")], &[by("3"), by("4")]]);
    let pair: Vec<_> = entries(&world, &t)
        .into_iter()
        .filter(|e| e.status == Status::Added && e.data_file.record_count == 2)
        .collect();
    assert_eq!(pair.len(), 2);
    for entry in &pair {
        assert_eq!((entry.sequence_number, entry.file_sequence_number), (Some(2), Some(3)));
    }
    // Commit 4 takes one of them away, together with the file of snapshot 2.
    let t = compact_exactly(&world, &t, &[&[&pair[0], by("5")]]);
    let survivor: Vec<_> = entries(&world, &t)
        .into_iter()
        .filter(|e| e.data_file.file_path == pair[1].data_file.file_path)
        .collect();
    assert_eq!(survivor.len(), 1);
    let survivor = &survivor[0];
    assert_eq!(survivor.status, Status::Existing);
    assert_eq!((survivor.sequence_number, survivor.file_sequence_number), (Some(2), Some(3)));
    assert_eq!(survivor.snapshot_id, pair[1].snapshot_id, "who added it");
    let head = t.metadata.current_snapshot().unwrap();
    let manifests = ops::load::manifests(world.store(), head).unwrap();
    let rewritten = manifests.iter().find(|m| m.counts.existing_files == Some(1)).unwrap();
    assert_eq!((rewritten.sequence_number, rewritten.min_sequence_number), (4, 2));
    assert_eq!(world.rows(&t, None), rows::model(1, 5));
    world.verify();
}

/// C2 (iceberg-rust#2203, iceberg#5913, #6002): rewriting a manifest lost survivors or their numbers. Of
/// f1, f2, f3 in one manifest f2 goes: f1 and f3 are existing, f2 is deleted, all with the numbers that
/// they had; and the deleted entry names the snapshot that deleted it.
#[test]
fn c2_survivors_of_a_rewritten_manifest_keep_their_numbers() {
    let world = World::new(Kind::Memory);
    let t = world.create("t", &[("write.target-file-size-bytes", "1")]);
    let t = files_in_one_manifest(&world, &t, &[(1, 1), (2, 2), (3, 3)]);
    let t = ops::append::append(&world.client(), &t, &[rows::batch(9, 4)]).unwrap();
    let before = entries(&world, &t);
    let of = |count: i64, entries: &[ManifestEntry]| {
        entries.iter().find(|e| e.data_file.record_count == count).unwrap().clone()
    };
    let t = compact_exactly(&world, &t, &[&[&of(2, &before), &of(4, &before)]]);
    let (after, head) = (entries(&world, &t), t.metadata.current_snapshot().unwrap());
    for (count, status, number) in [
        (1, Status::Existing, 1),
        (2, Status::Deleted, 1),
        (3, Status::Existing, 1),
        (4, Status::Deleted, 2),
        (6, Status::Added, 2),
    ] {
        let entry = of(count, &after);
        assert_eq!((entry.status, entry.sequence_number), (status, Some(number)), "{count} rows");
        let by = match status {
            Status::Existing => of(count, &before).snapshot_id,
            _ => head.snapshot_id,
        };
        assert_eq!(entry.snapshot_id, by, "{count} rows: the snapshot that made the status");
        if status != Status::Added {
            assert_eq!(entry.file_sequence_number, Some(number), "{count} rows");
        }
    }
    assert_eq!(after.len(), 5);
    world.verify();
}

/// C7 (iceberg-rust#2545): an append filtered out manifests that hold only deleted entries. Letting go
/// of them is for verbs that remove files; an append carries every manifest of its parent.
#[test]
fn c7_an_append_carries_manifests_of_nothing_but_deleted_entries() {
    let world = World::new(Kind::Memory);
    let client = world.client();
    let t = world.create("t", &[]);
    let t = ops::append::append(&client, &t, &[rows::batch(1, 2)]).unwrap();
    let t = ops::overwrite::overwrite(&client, &t, &[rows::batch(3, 0)]).unwrap();
    let manifests = |table: &Table| -> Vec<Location> {
        let head = table.metadata.current_snapshot().unwrap();
        let all = ops::load::manifests(world.store(), head).unwrap();
        all.into_iter().map(|m| m.manifest_path).collect()
    };
    let tombs = manifests(&t);
    assert_eq!(tombs.len(), 1);
    let t = ops::append::append(&client, &t, &[rows::batch(4, 1)]).unwrap();
    let after = manifests(&t);
    assert_eq!(after.len(), 2);
    assert!(after.contains(&tombs[0]), "the manifest of the deleted entry is on the list");
    assert_eq!(world.rows(&t, None), rows::model(4, 1));
    world.verify();
}

/// C8 (iceberg-go#1783): deleted entries were read as live files. After an overwrite the old file is in
/// the manifests of the head, and is neither scanned, nor listed, nor compacted, nor removed again.
#[test]
fn c8_a_deleted_entry_is_not_a_live_file() {
    let world = World::new(Kind::Memory);
    let client = world.client();
    let t = world.create("t", &[]);
    let t = ops::append::append(&client, &t, &[rows::batch(1, 2)]).unwrap();
    let t = ops::overwrite::overwrite(&client, &t, &[rows::batch(3, 1)]).unwrap();
    let old = entries(&world, &t).into_iter().find(|e| e.status == Status::Deleted).unwrap();
    let gone = &old.data_file.file_path;
    assert_eq!(world.rows(&t, None), rows::model(3, 1));
    assert_eq!(ops::inspect::files(world.store(), &t).unwrap().num_rows(), 1);
    let options = compact::Options { min_input_files: 1, ..compact::Options::of(&t.metadata) };
    let plan = compact::plan(world.store(), &t, &options).unwrap();
    let planned = plan.bins.iter().flatten().chain(plan.keep.iter().map(|(file, _)| file));
    assert!(planned.into_iter().all(|file| file.file_path != *gone));
    // Removing it again is a conflict, and not a second deletion.
    let plan = compact::Plan {
        snapshot_id: t.metadata.current_snapshot_id,
        bins: vec![vec![old.data_file.clone()]],
        keep: Vec::new(),
    };
    let again = compact::run(&client, &t, &plan);
    assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
    // And once nobody shows it, it is not reachable through the entry that tells of its end.
    let first = t.metadata.snapshots.first().unwrap().snapshot_id;
    let plan = expire::plan(&t.metadata, &[first].into()).unwrap();
    expire::run(&client, &t, &plan).unwrap();
    expire::clean(&client, &t).unwrap();
    assert!(!world.files("t").contains(gone.normal()));
    world.verify();
}

/// A rival's commit of a delete file, as another engine would make it: the head's manifests, and one
/// manifest of deletes.
fn commit_a_delete_file(client: &Warehouse, deleted_from: &Location) -> Table {
    let t = client.catalog.load_table(&ident("t")).unwrap();
    let metadata = &t.metadata;
    let (head, id) = (metadata.current_snapshot().unwrap(), client.stamp.snapshot_id());
    let number = metadata.last_sequence_number + 1;
    let place = |rest: &str| metadata.location.join(rest).unwrap();
    let path = place("data/deletes.parquet");
    put_new(client.store.as_ref(), path.normal(), b"position deletes").unwrap();
    let data_file = DataFile {
        content: Content::PositionDeletes,
        referenced_data_file: Some(deleted_from.as_str().into()),
        ..DataFile::new(path, 1, 16)
    };
    let entry = ManifestEntry {
        status: Status::Added,
        snapshot_id: id,
        sequence_number: None,
        file_sequence_number: None,
        data_file,
    };
    let (spec, content) = (metadata.default_spec().unwrap(), ManifestContent::Deletes);
    let schema = metadata.current_schema().unwrap();
    let writer = ManifestWriter { schema, schemas: &metadata.schemas, spec, content };
    let bytes = writer.encode(std::slice::from_ref(&entry), [1; 16]).unwrap();
    let path = place("metadata/deletes-m0.avro");
    put_new(client.store.as_ref(), path.normal(), &bytes).unwrap();
    let deletes =
        ManifestFile::describe(path, bytes.len() as i64, spec, content, (id, number), &[entry]);
    let mut manifests = ops::load::manifests(client.store.as_ref(), head).unwrap();
    manifests.push(deletes);
    let bytes = manifest_list::encode(id, Some(head.snapshot_id), number, &manifests, [2; 16]);
    let list = place("metadata/snap-deletes.avro");
    put_new(client.store.as_ref(), list.normal(), &bytes).unwrap();
    let snapshot = Snapshot {
        snapshot_id: id,
        parent_snapshot_id: Some(head.snapshot_id),
        sequence_number: number,
        timestamp_ms: client.stamp.now_ms(),
        manifest_list: list,
        summary: Summary { operation: Operation::Delete, properties: [].into() },
        schema_id: Some(metadata.current_schema_id),
        extra: Default::default(),
    };
    let updates = [
        Update::AddSnapshot(snapshot),
        Update::SetSnapshotRef(MAIN.into(), SnapshotRef::branch(id)),
    ];
    match client.catalog.commit(&t, &[], &updates).unwrap() {
        Outcome::Won(table) => table,
        other => panic!("{other:?}"),
    }
}

/// D13 (nimtable/iceberg-compaction#163): deletes committed during a compaction vanished. Rows: an
/// overwrite during the compaction; the compaction is given up.
#[test]
fn d13_rows_deleted_during_a_compaction_stay_deleted() {
    let world = scene(Kind::Memory);
    let client = beaten(&world, |rival| whole(Overwrite, rival, BY_B).unwrap());
    let answer = whole(Compact, &client, BY_A);
    assert!(
        matches!(&answer, Err(Error::Conflict { rule, .. }) if rule.starts_with("C4")),
        "{answer:?}"
    );
    assert_eq!(world.rows(&world.table("t"), None), model(&[(Overwrite, BY_B)]));
    world.verify();
}

/// D13 again, with a delete file of another engine: neither a compaction nor an overwrite that began
/// before it may pass; an append may, and carries it. What cannot apply it refuses to read.
#[test]
fn d13_delete_files_committed_meanwhile_forbid_what_began_before_them() {
    for verb in [Compact, Overwrite, Append] {
        let world = scene(Kind::Memory);
        let begun = begin(verb, &world.client()).unwrap();
        let live = ops::load::live_data_files(
            world.store(),
            begun.table.metadata.current_snapshot().unwrap(),
        );
        let deleted_from = live.unwrap()[0].data_file.file_path.clone();
        let rival = move |rival: &Warehouse| drop(commit_a_delete_file(rival, &deleted_from));
        let client = beaten(&world, rival);
        let answer = finish(verb, &client, &begun, BY_A);
        match verb {
            Append => {
                answer.unwrap();
                let head = world.table("t").metadata.current_snapshot().unwrap().clone();
                let manifests = ops::load::manifests(world.store(), &head).unwrap();
                let deletes = manifests.iter().filter(|m| m.content == ManifestContent::Deletes);
                assert_eq!(deletes.count(), 1, "the delete manifest is carried");
            }
            _ => assert!(
                matches!(&answer, Err(Error::Conflict { rule, .. }) if rule.starts_with("C3")),
                "{verb:?}: {answer:?}"
            ),
        }
        let scan = world.try_rows(&world.table("t"), None);
        assert!(
            matches!(&scan, Err(Error::Meta(meta::Error::Unsupported { .. }))),
            "{verb:?}: deleted rows must not come back: {scan:?}"
        );
        // And whoever begins now is told at once.
        for verb in [Overwrite, Compact] {
            let answer = whole(verb, &world.client(), BY_A);
            assert!(
                matches!(answer, Err(Error::Meta(meta::Error::Unsupported { .. }))),
                "{verb:?}"
            );
        }
        world.verify();
    }
}

/// H13 (iceberg-python#2890, iceberg-go#1659): a table was dropped and made anew under a handle, and
/// the handle's commits went to the stranger.
#[test]
fn h13_a_commit_never_reaches_a_stranger_of_the_same_name() {
    for verb in [Append, Overwrite, Compact, Expire] {
        let ours = scene(Kind::Memory);
        let begun = begin(verb, &ours.client()).unwrap();
        // Another world stands for the one in which the name was given again.
        let theirs = World::new(Kind::Memory);
        theirs.stamp.uuid();
        let stranger = theirs.create("t", &[]);
        assert_ne!(stranger.metadata.table_uuid, begun.table.metadata.table_uuid);
        for path in ours.files("t") {
            let bytes = ours.store().read(&path).unwrap();
            put_new(theirs.store(), &path, &bytes).unwrap();
        }
        let answer = finish(verb, &theirs.client(), &begun, BY_A);
        assert!(matches!(answer, Err(Error::Conflict { .. })), "{verb:?}: {answer:?}");
        assert_eq!(theirs.table("t"), stranger, "{verb:?}");
    }
}

/// A rival gives a snapshot a name, or makes it current again, at any moment of an expiry of just that
/// snapshot: it stays, and the expiry says why; or it was gone before, and the rival is told.
#[test]
fn a_snapshot_that_is_named_meanwhile_is_not_expired() {
    for kind in [RefKind::Tag, RefKind::Branch] {
        let scene = scene(Kind::Memory);
        for k in 0.. {
            let world = scene.copy();
            let (begun, at) =
                (begin(Expire, &world.client()).unwrap(), format!("{kind:?}, call {k}"));
            let old = begun.table.metadata.snapshots[1].snapshot_id;
            let name = if kind == RefKind::Tag { "monthly" } else { MAIN };
            let won = Arc::new(AtomicBool::new(false));
            let told = won.clone();
            let (client, met) = interrupted(&world, k, move |rival| {
                let t = rival.catalog.load_table(&ident("t")).unwrap();
                let reference = SnapshotRef { kind, ..SnapshotRef::branch(old) };
                let updates = [Update::SetSnapshotRef(name.into(), reference)];
                // Refused when the snapshot is gone already.
                let outcome = rival.catalog.commit(&t, &[], &updates);
                told.store(matches!(outcome, Ok(Outcome::Won(_))), Ordering::SeqCst);
            });
            let answer = finish(Expire, &client, &begun, BY_A);
            let now = world.table("t").metadata;
            let named = now.refs.get(name).filter(|reference| reference.snapshot_id == old);
            let won = won.load(Ordering::SeqCst);
            assert_eq!(named.is_some(), won, "{at}: A {answer:?}, and the refs are {:?}", now.refs);
            assert_eq!(now.snapshot(old).is_some(), won, "{at}: the snapshot");
            match &answer {
                Ok(()) => assert!(!won, "{at}"),
                Err(Error::Invalid { .. }) => assert!(won, "{at}"),
                Err(error) => panic!("{at}: {error}"),
            }
            assert!(
                now.refs.contains_key(MAIN) && now.current_snapshot().is_some(),
                "{at}: no head"
            );
            world.verify();
            if !met.load(Ordering::SeqCst) {
                break;
            }
        }
    }
}

/// An orphan hunt of any age plans while an append is under way, at each of its calls, and acts when
/// the append is done: what was nobody's in the plan is needed now, and stays.
#[test]
fn a_file_that_is_committed_after_the_hunt_was_planned_is_not_deleted() {
    let scene = scene(Kind::Memory);
    let mut spared = 0;
    for k in 0.. {
        let world = scene.copy();
        let planned = Arc::new(Mutex::new(None));
        let plan = planned.clone();
        let (client, met) = interrupted(&world, k, move |rival| {
            let t = rival.catalog.load_table(&ident("t")).unwrap();
            *plan.lock().unwrap() = Some(orphans::plan(rival, &t, 0).unwrap());
        });
        whole(Append, &client, BY_A).unwrap();
        if !met.load(Ordering::SeqCst) {
            break;
        }
        let (t, plan) = (world.table("t"), planned.lock().unwrap().take().unwrap());
        let deleted = orphans::run(&world.client(), &t, &plan).unwrap();
        spared += plan.orphans.len() - deleted.len();
        assert_eq!(deleted.len(), STRAYS.len(), "call {k}: {deleted:?}");
        assert_eq!(world.rows(&t, None), model(&[(Append, BY_A)]), "call {k}");
        world.verify();
    }
    assert!(spared > 0, "no file of the append was ever planned for deletion");
}

/// The real clock, real threads, SQLite and a disk, each writer with a connection of its own: 8 writers
/// of 10 appends each. All 80 are there, once each, numbered without a gap.
#[test]
fn eighty_appends_by_eight_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (file, place) = (folder.path().join("catalog.db"), folder.path().join("warehouse"));
    let place = Location::parse(place.to_str().unwrap()).unwrap();
    let client = || {
        let (store, stamp) = (Arc::new(Disk::without_fsync()), Arc::new(Stamp::real()));
        let pointer = Sqlite::create(&file, "kiosko").unwrap();
        let local = Local::new(pointer, store.clone(), stamp.clone(), place.clone());
        Warehouse { catalog: Arc::new(local), store, stamp }
    };
    let patient = [
        ("commit.retry.num-retries", "300"),
        ("commit.retry.min-wait-ms", "1"),
        ("commit.retry.max-wait-ms", "20"),
    ];
    let first = client();
    first.catalog.create_namespace(&"shop".parse().unwrap()).unwrap();
    first.catalog.create_table(&ident("t"), new_table(&patient)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let client = client();
            scope.spawn(move || {
                for round in 0..10 {
                    let t = client.catalog.load_table(&ident("t")).unwrap();
                    let rows = rows::batch(1 + thread * 10 + round, 1);
                    ops::append::append(&client, &t, &[rows]).unwrap();
                }
            });
        }
    });
    let t = first.catalog.load_table(&ident("t")).unwrap();
    let faults = ops::check::check(first.store.as_ref(), &t);
    assert!(faults.is_empty(), "{}", kiosko_tests::show(&faults));
    let numbers: Vec<_> = t.metadata.snapshots.iter().map(|s| s.sequence_number).collect();
    assert_eq!(numbers, (1..=80).collect::<Vec<_>>());
    assert_eq!(t.metadata.ancestors(t.metadata.current_snapshot_id).count(), 80, "one history");
    let mut seen = Vec::new();
    for batch in ops::scan::scan(&first.store, &t, &ops::scan::Scan::default()).unwrap() {
        seen.extend(rows::text(&batch.unwrap()));
    }
    seen.sort();
    assert_eq!(seen, rows::model(1, 80));
    // Lost attempts left nothing: 80 data files, manifests and lists, and the metadata files.
    let count =
        |folder: &str| first.store.list(place.join(folder).unwrap().normal()).unwrap().len();
    assert_eq!((count("shop/t/data"), count("shop/t/metadata")), (80, 80 + 80 + 81));
}
