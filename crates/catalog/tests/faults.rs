//! Fail, lie, and die at every call to the store, during a create and during a commit. Whatever
//! happens, the table is as before or as after, never other; every logged file is there; what was
//! told is true; and the operation can be tried again.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]

mod common;

use common::{Double, Whim, World};
use kiosko_catalog::conformance::{append, append_until_won, schema};
use kiosko_catalog::{Catalog, NewTable, Outcome, TableIdent};
use std::sync::Arc;
use store::{Faulty, Store};

fn ident() -> TableIdent {
    TableIdent::parse("shop.products").unwrap()
}

type Mode = fn(Arc<dyn Store>, u64) -> Faulty;
const MODES: [(&str, Mode); 3] = [
    ("fail_at", Faulty::fail_at),
    ("fail_after", Faulty::fail_after),
    ("stop_at", Faulty::stop_at),
];

/// Runs `act` in fresh worlds, with a fault at call 0, 1, 2, ... until one runs without. Answers
/// how many calls were visited.
fn at_every_call(mode: Mode, act: impl Fn(&World, Arc<Faulty>, &str)) -> u64 {
    for n in 0.. {
        let world = World::new();
        let faulty = Arc::new(mode(world.store.clone(), n));
        act(&world, faulty.clone(), &format!("call {n}"));
        if !faulty.hit() {
            return n;
        }
    }
    0
}

#[test]
fn a_table_is_made_whole_or_not_at_all() {
    for (name, mode) in MODES {
        let calls = at_every_call(mode, |world, faulty, at| {
            let pointer = Double::new(&world.rows, Whim::Honest);
            let made =
                world.client(pointer, faulty).create_table(&ident(), NewTable::new(schema()));
            match made {
                Ok(table) => assert_eq!(world.current(&ident()), table, "{name} {at}"),
                Err(_) => {
                    assert!(world.honest().load_table(&ident()).is_err(), "{name} {at}");
                    let again = world.honest().create_table(&ident(), NewTable::new(schema()));
                    assert_eq!(again.unwrap(), world.current(&ident()), "{name} {at}");
                }
            }
        });
        assert!(calls >= 3, "{name}: write_new, write, finish; not {calls}");
    }
}

/// What else happens during the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// Nothing.
    Alone,
    /// A rival set a property after the base was loaded: the current metadata must be read.
    Stale,
    /// A rival commits between the look and the swap: the file of the loser must be deleted.
    Beaten,
    /// The swap is made and its answer is lost.
    Unheard,
    /// That, and a rival commits on top, so that his metadata must be read to know.
    UnheardBeneath,
}

#[test]
fn a_commit_is_there_or_not_there() {
    for scene in [Scene::Alone, Scene::Stale, Scene::Beaten, Scene::Unheard, Scene::UnheardBeneath]
    {
        for (name, mode) in MODES {
            let calls = at_every_call(mode, |world, faulty, at| {
                one_commit(scene, world, faulty, &format!("{scene:?} {name} {at}"));
            });
            let at_least = if scene == Scene::Alone { 3 } else { 4 };
            assert!(
                calls >= at_least || scene == Scene::Unheard,
                "{scene:?} {name}: {calls} calls"
            );
        }
    }
}

fn one_commit(scene: Scene, world: &World, faulty: Arc<Faulty>, at: &str) {
    let honest = world.honest();
    let base = honest.create_table(&ident(), NewTable::new(schema())).unwrap();
    let (id, mut requirements, updates) = append(&base, &world.stamp);
    let unheard = matches!(scene, Scene::Unheard | Scene::UnheardBeneath);
    let whim = if unheard { Whim::ErrorAfter } else { Whim::Honest };
    let mut pointer = Double::new(&world.rows, whim);
    let rival = world.clone();
    let rival = move || {
        append_until_won(&rival.honest(), &ident(), &rival.stamp);
    };
    match scene {
        Scene::Alone | Scene::Unheard => {}
        Scene::Stale => {
            requirements.clear();
            let updates = [meta::update::Update::SetProperties([("a".into(), "1".into())].into())];
            let outcome = honest.commit(&base, &[], &updates).unwrap();
            assert!(matches!(outcome, Outcome::Won(_)), "{at}");
        }
        Scene::Beaten => pointer.before = Box::new(rival),
        Scene::UnheardBeneath => pointer.after = Box::new(rival),
    }

    let outcome = world.client(pointer, faulty).commit(&base, &requirements, &updates);

    let current = world.current(&ident());
    let there = current.metadata.snapshot(id).is_some();
    match &outcome {
        Ok(Outcome::Won(table)) => {
            assert!(there && table.metadata.current_snapshot_id == Some(id), "{at}: {outcome:?}");
        }
        Ok(Outcome::Lost { .. }) => assert!(!there && scene == Scene::Beaten, "{at}: {outcome:?}"),
        Ok(Outcome::Unknown { .. }) => assert!(there && unheard, "{at}: {outcome:?}"),
        Err(_) => assert!(!there, "{at}: {outcome:?}"),
    }
    let again = append_until_won(&honest, &ident(), &world.stamp);
    assert!(world.current(&ident()).metadata.snapshot(again).is_some(), "{at}: tried again");
    assert_eq!(world.current(&ident()).metadata.snapshot(id).is_some(), there, "{at}: for good");
}
