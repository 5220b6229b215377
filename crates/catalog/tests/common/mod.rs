//! A pointer that does as it is told: before or after a write of its inner pointer it runs a hook,
//! and then it gives the answer, loses it, or gives another.

#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kiosko_catalog::{
    Catalog, Error, Local, Memory, Namespace, Pointer, Result, Table, TableIdent,
};
use meta::Location;
use store::{Stamp, Store};

/// What a [`Double`] does with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whim {
    /// Does it and says so.
    Honest,
    /// Does nothing and answers an error that proves nothing.
    ErrorInstead,
    /// Does it and then answers an error that proves nothing.
    ErrorAfter,
    /// Does nothing and answers that it was locked out, which is a proof.
    Busy,
    /// Does it, and from then on every call fails: the network is gone.
    DeadAfter,
}

/// Something that happens meanwhile.
type Hook = Box<dyn Fn() + Send + Sync>;

/// See the head of this file.
pub struct Double {
    inner: Arc<Memory>,
    whim: Whim,
    /// Runs before a write reaches the inner pointer.
    pub before: Hook,
    /// Runs after it did.
    pub after: Hook,
    dead: AtomicBool,
}

impl Double {
    pub fn new(rows: &Arc<Memory>, whim: Whim) -> Double {
        let nothing = || -> Hook { Box::new(|| ()) };
        Double {
            inner: rows.clone(),
            whim,
            before: nothing(),
            after: nothing(),
            dead: false.into(),
        }
    }

    fn alive<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.dead.load(Ordering::SeqCst) { lost() } else { act() }
    }

    fn write(&self, act: impl FnOnce() -> Result<bool>) -> Result<bool> {
        (self.before)();
        let answer = match self.whim {
            Whim::ErrorInstead => return lost(),
            Whim::Busy => return Err(Error::Busy { file: "the double".into(), waited_s: 0 }),
            _ => act(),
        };
        (self.after)();
        match self.whim {
            Whim::ErrorAfter => lost(),
            Whim::DeadAfter => {
                self.dead.store(true, Ordering::SeqCst);
                lost()
            }
            _ => answer,
        }
    }
}

fn lost<T>() -> Result<T> {
    Err(Error::Damaged { file: "the double".into(), why: "the answer was lost".into() })
}

impl Pointer for Double {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn create_namespace(&self, namespace: &Namespace) -> Result<bool> {
        self.alive(|| self.inner.create_namespace(namespace))
    }

    fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        self.alive(|| self.inner.namespace_exists(namespace))
    }

    fn list_namespaces(&self) -> Result<Vec<Namespace>> {
        self.alive(|| self.inner.list_namespaces())
    }

    fn list(&self, namespace: &Namespace) -> Result<Vec<TableIdent>> {
        self.alive(|| self.inner.list(namespace))
    }

    fn get(&self, ident: &TableIdent) -> Result<Option<String>> {
        self.alive(|| self.inner.get(ident))
    }

    fn put_new(&self, ident: &TableIdent, location: &str) -> Result<bool> {
        self.write(|| self.inner.put_new(ident, location))
    }

    fn swap(&self, ident: &TableIdent, base: &str, new: &str) -> Result<bool> {
        self.write(|| self.inner.swap(ident, base, new))
    }
}

/// One world, in memory: the rows and the files, which outlive whatever happens to a client.
#[derive(Clone)]
pub struct World {
    pub rows: Arc<Memory>,
    pub store: Arc<dyn Store>,
    pub stamp: Arc<Stamp>,
}

impl World {
    /// A world with the namespace `shop`.
    pub fn new() -> World {
        let stamp = Arc::new(Stamp::seeded(7, 1_785_542_400_000));
        let store = Arc::new(store::Memory::new(stamp.clone()));
        let rows = Arc::new(Memory::new("kiosko"));
        rows.create_namespace(&Namespace::parse("shop").unwrap()).unwrap();
        World { rows, store, stamp }
    }

    /// A client to whom nothing happens.
    pub fn honest(&self) -> Local<Double> {
        self.client(Double::new(&self.rows, Whim::Honest), self.store.clone())
    }

    /// A client with a pointer and a store of his own.
    pub fn client(&self, pointer: Double, store: Arc<dyn Store>) -> Local<Double> {
        let root = Location::parse("file:///warehouse").unwrap();
        Local::new(pointer, store, self.stamp.clone(), root)
    }

    /// The files of the table `shop.products`.
    pub fn files(&self) -> Vec<String> {
        let listed = self.store.list("/warehouse/shop/products").unwrap();
        listed.into_iter().map(|listed| listed.path).collect()
    }

    /// The table as it is; and every file that it logs can be read.
    pub fn current(&self, ident: &TableIdent) -> Table {
        let table = self.honest().load_table(ident).unwrap();
        for entry in &table.metadata.metadata_log {
            self.store.read(entry.metadata_file.normal()).unwrap();
        }
        table
    }
}
