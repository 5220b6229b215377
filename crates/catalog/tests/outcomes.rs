//! The three outcomes of a commit: what each proves, and what each leaves on the storage. The
//! stories behind these tests: an error of the swap was taken for a failure, the new metadata was
//! deleted, and it was the live table; or the new file was looked for, not found *yet*, and deleted.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]

mod common;

use common::{Double, Whim, World};
use kiosko_catalog::conformance::{append, append_until_won, schema};
use kiosko_catalog::{Catalog, Error, NewTable, Outcome, Pointer, Table, TableIdent};
use meta::update::Requirement;
use std::sync::{Arc, Mutex};
use store::Recording;

fn ident() -> TableIdent {
    TableIdent::parse("shop.products").unwrap()
}

fn world() -> (World, Table) {
    let world = World::new();
    let table = world.honest().create_table(&ident(), NewTable::new(schema())).unwrap();
    (world, table)
}

/// Appends once through `pointer`. Answers the snapshot's id too.
fn commit(world: &World, base: &Table, pointer: Double) -> (i64, Result<Outcome, Error>) {
    let (id, requirements, updates) = append(base, &world.stamp);
    let client = world.client(pointer, world.store.clone());
    (id, client.commit(base, &requirements, &updates))
}

/// Something that a hook can do: a rival appends.
fn rival(world: &World) -> Box<dyn Fn() + Send + Sync> {
    let world = world.clone();
    Box::new(move || {
        append_until_won(&world.honest(), &ident(), &world.stamp);
    })
}

#[test]
fn the_answer_was_lost_but_the_swap_was_made() {
    let (world, base) = world();
    let (id, outcome) = commit(&world, &base, Double::new(&world.rows, Whim::ErrorAfter));
    let current = world.current(&ident());
    assert_eq!(current.metadata.current_snapshot_id, Some(id));
    assert_eq!(outcome.unwrap(), Outcome::Won(current), "a second look finds it");
}

#[test]
fn the_answer_was_lost_and_a_rival_committed_on_top() {
    let (world, base) = world();
    let mut pointer = Double::new(&world.rows, Whim::ErrorAfter);
    pointer.after = rival(&world);
    let (id, outcome) = commit(&world, &base, pointer);
    let Outcome::Won(table) = outcome.unwrap() else {
        panic!("the log of the rival's file has it")
    };
    assert_eq!(table.metadata.current_snapshot_id, Some(id), "the winner gets what he made");
    let current = world.current(&ident());
    assert_ne!(current, table, "though the table has gone on");
    assert_eq!(current.metadata.metadata_log[1].metadata_file, table.metadata_location);
}

#[test]
fn the_answer_was_lost_and_so_was_the_question() {
    let (world, base) = world();
    let (_, outcome) = commit(&world, &base, Double::new(&world.rows, Whim::ErrorInstead));
    assert!(matches!(outcome, Ok(Outcome::Unknown { .. })), "absence is no proof: {outcome:?}");
    assert_eq!(world.current(&ident()), base);
    assert_eq!(world.files().len(), 2, "and so the new file stays");
}

#[test]
fn the_question_arrives_after_the_second_look() {
    let (world, base) = world();
    let (_, outcome) = commit(&world, &base, Double::new(&world.rows, Whim::ErrorInstead));
    let Ok(Outcome::Unknown { why }) = outcome else { panic!("{outcome:?}") };
    // Whoever deletes something on `Unknown` destroys the table here.
    let new = world.files().into_iter().find(|file| file.contains("/00001-")).unwrap();
    assert!(why.contains(&new), "the message names the file: {why}");
    let late = world.rows.swap(&ident(), base.metadata_location.as_str(), &format!("file://{new}"));
    assert!(late.unwrap(), "it was under way all the time");
    assert_eq!(world.current(&ident()).metadata.snapshots.len(), 1);
}

#[test]
fn nobody_can_be_asked_any_more() {
    let (world, base) = world();
    let (id, outcome) = commit(&world, &base, Double::new(&world.rows, Whim::DeadAfter));
    assert!(matches!(outcome, Ok(Outcome::Unknown { .. })), "{outcome:?}");
    assert_eq!(world.current(&ident()).metadata.current_snapshot_id, Some(id), "in fact it won");
}

#[test]
fn locked_out_is_a_proof() {
    let (world, base) = world();
    let (_, outcome) = commit(&world, &base, Double::new(&world.rows, Whim::Busy));
    assert!(matches!(outcome, Err(Error::Busy { .. })), "{outcome:?}");
    assert_eq!(world.current(&ident()), base);
    assert_eq!(world.files().len(), 1, "the attempt left nothing");
}

#[test]
fn a_rival_between_the_look_and_the_swap() {
    let (world, base) = world();
    let mut pointer = Double::new(&world.rows, Whim::Honest);
    pointer.before = rival(&world);
    let (id, outcome) = commit(&world, &base, pointer);
    let Ok(Outcome::Lost { why }) = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("shop.products"), "{why}");
    let current = world.current(&ident());
    assert!(current.metadata.snapshot(id).is_none() && current.metadata.snapshots.len() == 1);
    assert_eq!(world.files().len(), 2, "the loser's file is gone, the rival's is there");
}

#[test]
fn a_rival_whose_pointer_was_written_by_someone_else_and_is_nonsense() {
    let (world, base) = world();
    for text in ["", "metadata.json", "file:///warehouse/../etc/passwd", "/warehouse/absent.json"] {
        let now = world.rows.get(&ident()).unwrap().unwrap();
        assert!(world.rows.swap(&ident(), &now, text).unwrap());
        let loaded = world.honest().load_table(&ident());
        assert!(matches!(loaded, Err(Error::Meta(_) | Error::Store(_))), "{text:?}: {loaded:?}");
        let outcome = commit(&world, &base, Double::new(&world.rows, Whim::Honest)).1;
        assert!(outcome.is_err(), "{text:?}: {outcome:?}");
    }
}

#[test]
fn metadata_that_was_cut_short_is_named() {
    let (world, table) = world();
    let path = table.metadata_location.normal();
    let whole = world.store.read(path).unwrap();
    for bytes in [&whole[..0], &whole[..whole.len() / 2], b"not JSON", b"{}", &[0x1f, 0x8b, 8]] {
        world.store.delete(path).unwrap();
        store::put_new(&*world.store, path, bytes).unwrap();
        let error = world.honest().load_table(&ident()).unwrap_err();
        assert!(matches!(error, Error::Meta(_)) && error.to_string().contains(path), "{error}");
    }
    world.store.delete(path).unwrap();
    let error = world.honest().load_table(&ident()).unwrap_err();
    assert!(matches!(error, Error::Store(_)) && error.to_string().contains(path), "{error}");
}

#[test]
fn a_new_table_has_the_same_three_outcomes() {
    let new = || NewTable::new(schema());
    for whim in [Whim::Honest, Whim::ErrorInstead, Whim::ErrorAfter, Whim::DeadAfter, Whim::Busy] {
        let world = World::new();
        let client = world.client(Double::new(&world.rows, whim), world.store.clone());
        let made = client.create_table(&ident(), new());
        let there = world.rows.get(&ident()).unwrap();
        match whim {
            Whim::Honest | Whim::ErrorAfter => assert_eq!(made.unwrap(), world.current(&ident())),
            Whim::DeadAfter => assert!(made.is_err() && world.files().len() == 1, "kept"),
            Whim::ErrorInstead => assert!(made.is_err() && there.is_none(), "not made"),
            Whim::Busy => assert!(made.is_err() && world.files().is_empty(), "nothing left"),
        }
        assert_eq!(world.files().len(), usize::from(whim != Whim::Busy), "{whim:?}");
    }
}

#[test]
fn the_usual_refusals_write_nothing() {
    let (world, table) = world();
    let recording = Arc::new(Recording::new(world.store.clone()));
    let pointer = Double::new(&world.rows, Whim::Honest);
    let client = world.client(pointer, recording.clone());
    for name in ["shop.products", "nowhere.t"] {
        let name = TableIdent::parse(name).unwrap();
        assert!(client.create_table(&name, NewTable::new(schema())).is_err());
    }
    let unmet = Requirement::AssertRefSnapshotId("main".into(), Some(7));
    let outcome = client.commit(&table, &[unmet], &[]);
    assert!(matches!(outcome, Ok(Outcome::Lost { .. })), "{outcome:?}");
    assert_eq!(recording.take(), Vec::<String>::new(), "not even a read");
}

#[test]
fn a_name_taken_between_the_look_and_the_writing_leaves_the_winner_alone() {
    let world = World::new();
    let mut pointer = Double::new(&world.rows, Whim::Honest);
    let (made, winner) = (Arc::new(Mutex::new(None)), world.clone());
    let slot = made.clone();
    pointer.before = Box::new(move || {
        let table = winner.honest().create_table(&ident(), NewTable::new(schema())).unwrap();
        *slot.lock().unwrap() = Some(table);
    });
    let client = world.client(pointer, world.store.clone());
    let answer = client.create_table(&ident(), NewTable::new(schema()));
    assert!(matches!(answer, Err(Error::AlreadyExists { .. })), "{answer:?}");
    assert_eq!(Some(world.current(&ident())), made.lock().unwrap().take());
    assert_eq!(world.files().len(), 1, "the loser deleted his own file and no other");
}
