//! A pointer that does as it is told: before each call it runs a hook, and its writes are honest,
//! or lose their answer, or never arrive, or arrive late.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use catalog::{Error, Namespace, Pointer, Result, TableIdent};

use crate::Hook;

/// What a [`Double`] does with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whim {
    /// Does it and says so.
    Honest,
    /// Does nothing and answers an error that proves nothing.
    ErrorInstead,
    /// Does it and then answers an error that proves nothing.
    ErrorAfter,
    /// Does nothing, and from then on every call fails: the network is gone.
    DeadInstead,
    /// Does it, and from then on every call fails.
    DeadAfter,
    /// Answers an error, and does it when [`Double::arrive`] is called.
    Late,
}

/// A write under way: its table, the base (`None`: a new row), and the new location.
type Letter = (TableIdent, Option<String>, String);

/// See the head of this file.
pub struct Double {
    inner: Arc<dyn Pointer>,
    whim: Whim,
    hook: Hook,
    dead: AtomicBool,
    under_way: Mutex<Option<Letter>>,
}

impl Double {
    /// A double of `inner`.
    pub fn new(inner: Arc<dyn Pointer>, whim: Whim) -> Double {
        Double::hooked(inner, whim, Arc::new(|_| ()))
    }

    /// A double that calls `hook` before each call, as `get`, `swap` and so on.
    pub fn hooked(inner: Arc<dyn Pointer>, whim: Whim, hook: Hook) -> Double {
        Double { inner, whim, hook, dead: AtomicBool::new(false), under_way: Mutex::default() }
    }

    /// Delivers the write that was under way; whether it changed anything.
    pub fn arrive(&self) -> Result<bool> {
        match self.under_way.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some((ident, Some(base), new)) => self.inner.swap(&ident, &base, &new),
            Some((ident, None, new)) => self.inner.put_new(&ident, &new),
            None => Ok(false),
        }
    }

    fn alive(&self, call: &str) -> Result<&dyn Pointer> {
        (self.hook)(call);
        if self.dead.load(Ordering::SeqCst) { lost() } else { Ok(self.inner.as_ref()) }
    }

    fn write(&self, call: &str, letter: Letter) -> Result<bool> {
        let inner = self.alive(call)?;
        let act = |(ident, base, new): &Letter| match base {
            Some(base) => inner.swap(ident, base, new),
            None => inner.put_new(ident, new),
        };
        match self.whim {
            Whim::Honest => return act(&letter),
            Whim::ErrorInstead => {}
            Whim::ErrorAfter => drop(act(&letter)?),
            Whim::DeadInstead => self.dead.store(true, Ordering::SeqCst),
            Whim::DeadAfter => {
                act(&letter)?;
                self.dead.store(true, Ordering::SeqCst);
            }
            Whim::Late => {
                *self.under_way.lock().unwrap_or_else(PoisonError::into_inner) = Some(letter);
            }
        }
        lost()
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
        self.alive("create_namespace")?.create_namespace(namespace)
    }

    fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        self.alive("namespace_exists")?.namespace_exists(namespace)
    }

    fn list_namespaces(&self) -> Result<Vec<Namespace>> {
        self.alive("list_namespaces")?.list_namespaces()
    }

    fn list(&self, namespace: &Namespace) -> Result<Vec<TableIdent>> {
        self.alive("list_tables")?.list(namespace)
    }

    fn get(&self, ident: &TableIdent) -> Result<Option<String>> {
        self.alive(&format!("get {ident}"))?.get(ident)
    }

    fn put_new(&self, ident: &TableIdent, location: &str) -> Result<bool> {
        let letter = (ident.clone(), None, location.to_string());
        self.write(&format!("put_new {ident} -> {location}"), letter)
    }

    fn swap(&self, ident: &TableIdent, base: &str, new: &str) -> Result<bool> {
        let letter = (ident.clone(), Some(base.to_string()), new.to_string());
        self.write(&format!("swap {ident} {base} -> {new}"), letter)
    }
}
