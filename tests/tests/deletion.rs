//! What must never be deleted, and what must never be read short. Each test is a way in which a reviewer
//! destroyed a table, or got fewer rows, before it was closed.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set should stop the test")]

use kiosko_tests::rows::{batch, model};
use kiosko_tests::{Kind, World};
use meta::manifest_list;
use meta::snapshot::Operation;
use ops::snapshot::{Change, Producer};
use ops::{append, commit, compact, expire, orphans, overwrite};
use std::collections::BTreeSet;

fn worlds() -> [World; 2] {
    [World::new(Kind::Memory), World::new(Kind::SqliteDisk)]
}

fn appended(world: &World, name: &str, first: i64) -> catalog::Table {
    append::append(&world.client(), &world.table(name), &[batch(first, 2)]).unwrap()
}

/// A1, A2: another catalog's table, or one reached through a link, has its files in our folder. Its
/// metadata file tells.
#[test]
fn a_strangers_table_in_the_folder_forbids_the_hunt() {
    for world in worlds() {
        world.create("t", &[]);
        world.create("stranger", &[]);
        appended(&world, "t", 1);
        let stranger = appended(&world, "stranger", 1);
        let bytes = world.store().read(stranger.metadata_location.normal()).unwrap();
        let place = world.table("t").metadata.location.join("metadata/9.metadata.json").unwrap();
        store::put_new(world.store(), place.normal(), &bytes).unwrap();
        let error = orphans::plan(&world.client(), &world.table("t"), 0).unwrap_err();
        assert!(error.to_string().contains("the metadata of another table"), "{error}");
    }
}

/// A4, A5: a manifest list that was cut between two blocks reads, with fewer manifests.
#[test]
fn a_cut_manifest_list_is_damage_to_everyone() {
    for world in worlds() {
        world.create("t", &[]);
        (0..4).for_each(|day| drop(appended(&world, "t", day * 2)));
        let table = world.table("t");
        let head = table.metadata.current_snapshot().unwrap();
        let mut manifests = ops::load::manifests(world.store(), head).unwrap();
        manifests.truncate(2);
        let parent = head.parent_snapshot_id;
        let cut = manifest_list::encode(head.snapshot_id, parent, 4, &manifests, [0; 16]);
        world.store().delete(head.manifest_list.normal()).unwrap();
        store::put_new(world.store(), head.manifest_list.normal(), &cut).unwrap();

        let client = world.client();
        let options =
            compact::Options { min_input_files: 2, ..compact::Options::of(&table.metadata) };
        let errors = [
            world.try_rows(&table, None).unwrap_err(),
            compact::plan(world.store(), &table, &options).unwrap_err(),
            overwrite::overwrite(&client, &table, &[batch(9, 1)]).unwrap_err(),
            append::append(&client, &table, &[batch(9, 1)]).unwrap_err(),
            orphans::plan(&client, &table, 0).unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("is the list cut off?"), "{error}");
        }
        assert!(!ops::check::check(world.store(), &table).is_empty(), "the checker sees it too");
    }
}

/// A6: `gc.enabled` is off unless it is true, however that is spelled, and for every verb that deletes.
#[test]
fn gc_enabled_counts_for_orphans_and_in_any_case() {
    for (text, allowed) in [("false", false), ("FALSE", false), ("no", false), ("True", true)] {
        let world = World::new(Kind::Memory);
        world.create("t", &[("gc.enabled", text)]);
        let table = appended(&world, "t", 1);
        world.stray("t", "data/nobody.parquet");
        let plan = orphans::plan(&world.client(), &table, 0);
        assert_eq!(plan.is_ok(), allowed, "{text}");
        let cleaned = expire::clean(&world.client(), &table);
        assert_eq!(cleaned.is_ok(), allowed, "{text}");
    }
}

/// A7: a second table was given one of our data files by its path. The first forgets it; the second
/// still needs it.
#[test]
fn a_file_that_another_table_needs_is_not_deleted() {
    for world in worlds() {
        world.create("t", &[]);
        world.create("other", &[]);
        let before = appended(&world, "t", 1);
        let head = before.metadata.current_snapshot().unwrap();
        let lent = ops::load::live_data_files(world.store(), head).unwrap().remove(0).data_file;
        let client = world.client();
        let change = Change {
            verb: "append",
            start: None,
            operation: Operation::Append,
            added: vec![lent],
            removed: BTreeSet::new(),
            data_sequence_number: None,
        };
        let mut producer = Producer::new(&client, change, client.stamp.uuid());
        let other = world.table("other");
        commit::commit(&client, "append", &other, |t| producer.attempt(&t.metadata)).unwrap();

        let table = overwrite::overwrite(&client, &before, &[batch(9, 1)]).unwrap();
        let all = table.metadata.snapshots.iter().map(|snapshot| snapshot.snapshot_id);
        let ids = all.filter(|id| Some(*id) != table.metadata.current_snapshot_id).collect();
        let plan = expire::plan(&table.metadata, &ids).unwrap();
        expire::run(&client, &table, &plan).unwrap();
        expire::clean(&client, &table).unwrap();
        let plan = orphans::plan(&client, &world.table("t"), 0).unwrap();
        orphans::run(&client, &world.table("t"), &plan).unwrap();
        assert_eq!(world.rows(&world.table("other"), None), model(1, 2));
        world.verify();
    }
}

/// B7: the highest number there is has no next one.
#[test]
fn the_highest_sequence_number_has_no_next() {
    let world = World::new(Kind::Memory);
    let table = world.create("t", &[]);
    let mut metadata = table.metadata.as_ref().clone();
    metadata.last_sequence_number = i64::MAX;
    assert!(metadata.next_sequence_number().is_err());
    metadata.last_sequence_number = i64::MAX - 1;
    assert_eq!(metadata.next_sequence_number(), Ok(i64::MAX));
}
