//! Reading JSON with a sense of place.
//!
//! [`At`] is a value together with the way to it. Its getters say in the error where they stood:
//!
//! ```text
//!   $.snapshots[3].manifest-list: expected a string, found 7
//! ```
//!
//! The way is a chain of borrowed steps, spelled out only when an error needs it.

use crate::{Error, Result};
use serde_json::{Map, Value};

/// A JSON value, and how it was reached.
#[derive(Clone, Copy)]
pub struct At<'a> {
    value: &'a Value,
    file: &'a str,
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    /// The whole document, read from `file`.
    pub fn root(file: &'a str, value: &'a Value) -> At<'a> {
        At { value, file, parent: None, step: Step::Root }
    }

    /// The value itself.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The JSON path of this value: `$.snapshots[3].summary`.
    pub fn path(&self) -> String {
        let parent = self.parent.map(At::path).unwrap_or_default();
        match self.step {
            Step::Root => "$".to_string(),
            Step::Key(key) => format!("{parent}.{key}"),
            Step::Index(index) => format!("{parent}[{index}]"),
        }
    }

    /// An [`Error::Corrupt`] for this place.
    pub fn wrong(&self, want: impl ToString) -> Error {
        let mut got = self.value.to_string();
        if let Some((cut, _)) = got.char_indices().nth(60) {
            got.truncate(cut);
            got.push_str("...");
        }
        Error::corrupt(self.file, self.path(), want, got)
    }

    /// The value of `key`; a JSON null counts as absent.
    pub fn get<'b>(&'b self, key: &'b str) -> Option<At<'b>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(At { value, file: self.file, parent: Some(self), step: Step::Key(key) })
    }

    /// The value of `key`, which the format requires.
    pub fn need<'b>(&'b self, key: &'b str) -> Result<At<'b>> {
        self.object()?;
        self.get(key).ok_or_else(|| {
            let at = format!("{}.{key}", self.path());
            Error::corrupt(self.file, at, "a value (the key is required)", "nothing")
        })
    }

    /// This value as an object.
    pub fn object(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    /// The items of this list, each with its place.
    pub fn items<'b>(&'b self) -> Result<impl Iterator<Item = At<'b>>> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        Ok(items.iter().enumerate().map(|(index, value)| At {
            value,
            file: self.file,
            parent: Some(self),
            step: Step::Index(index),
        }))
    }

    /// This value as a string.
    pub fn string(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a string"))
    }

    /// This value as a 64-bit integer.
    pub fn long(&self) -> Result<i64> {
        self.value.as_i64().ok_or_else(|| self.wrong("a 64-bit integer"))
    }

    /// This value as a 32-bit integer.
    pub fn int(&self) -> Result<i32> {
        i32::try_from(self.long()?).map_err(|_| self.wrong("a 32-bit integer"))
    }

    /// This value as a boolean.
    pub fn boolean(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// This value as a map of strings, in the order of the keys.
    pub fn strings(&self) -> Result<std::collections::BTreeMap<String, String>> {
        let mut strings = std::collections::BTreeMap::new();
        for key in self.object()?.keys() {
            strings.insert(key.clone(), self.need(key)?.string()?.to_string());
        }
        Ok(strings)
    }

    /// This value as a location.
    pub fn location(&self) -> Result<crate::Location> {
        crate::Location::parse(self.string()?).map_err(|e| self.wrong(format!("a location ({e})")))
    }
}
