//! Names: what a namespace or a table may be called.
//!
//! A namespace is a path of *levels*, as folders are; a table is a namespace and a name in it. In
//! text, a dot parts them, and the last part is the table:
//!
//! ```text
//!   kiosko.dim_product      namespace [kiosko]             table dim_product
//!   shop.lima.orders        namespace [shop, lima]         table orders
//!   orders                  no table: which namespace?
//! ```
//!
//! # Why some names are refused
//!
//! A name ends up in three places, and each has something that it cannot bear:
//!
//! ```text
//!   in text        a dot inside a part    `a.b` as one level looks like two: two namespaces merge
//!   in a path      `/`  `\`  `.`  `..`    the table would lie outside its warehouse
//!   in messages    control characters     a log line is forged, a terminal obeys; NUL ends a string
//! ```
//!
//! Escaping could carry such names, but every engine escapes in its own way, and the tables of two
//! engines would drift apart. So they are refused here, with a sentence that says why. All else may
//! be a name: spaces, accents, `%2e%2e`, since nobody in this house decodes a path.
//!
//! [`parse`](TableIdent::parse) checks; a name put together from its public parts, or found in a
//! catalog that somebody else filled, is checked when it is used.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// Where tables live: one level or more, the outermost first. Printed with dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(pub Vec<String>);

impl Namespace {
    /// Reads `shop.lima` as `[shop, lima]`.
    ///
    /// # Errors
    /// As [`Namespace::check`].
    pub fn parse(text: &str) -> Result<Namespace> {
        let namespace = Namespace::as_stored(text);
        namespace.check()?;
        Ok(namespace)
    }

    /// Splits a name found in a catalog, whatever it is: a list shows what is there, and printing
    /// it gives the same text again.
    pub(crate) fn as_stored(text: &str) -> Namespace {
        Namespace(text.split('.').map(str::to_string).collect())
    }

    /// Whether this can be the name of a namespace.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no level at all, and for a level that the module's head rules out.
    pub fn check(&self) -> Result<()> {
        let what = || format!("the namespace {:?}", self.to_string());
        if self.0.is_empty() {
            return Err(Error::invalid(what(), "it has no level; give it a name"));
        }
        self.0
            .iter()
            .try_for_each(|level| check_part(level).map_err(|why| Error::invalid(what(), why)))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl FromStr for Namespace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Namespace> {
        Namespace::parse(text)
    }
}

/// What a table is called: its namespace, and its name there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableIdent {
    /// Where it lives.
    pub namespace: Namespace,
    /// Its name there.
    pub name: String,
}

impl TableIdent {
    /// Reads `shop.lima.orders` as the table `orders` of `[shop, lima]`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no dot, and as [`TableIdent::check`].
    pub fn parse(text: &str) -> Result<TableIdent> {
        let Some((namespace, name)) = text.rsplit_once('.') else {
            let what = format!("the table name {text:?}");
            return Err(Error::invalid(what, "it lacks a namespace; write namespace.table"));
        };
        let ident =
            TableIdent { namespace: Namespace::as_stored(namespace), name: name.to_string() };
        ident.check()?;
        Ok(ident)
    }

    /// Whether this can be the name of a table.
    ///
    /// # Errors
    /// [`Error::Invalid`] as for a namespace, and for a name that the module's head rules out.
    pub fn check(&self) -> Result<()> {
        self.namespace.check()?;
        check_part(&self.name)
            .map_err(|why| Error::invalid(format!("the table name {:?}", self.to_string()), why))
    }
}

impl fmt::Display for TableIdent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.namespace, self.name)
    }
}

impl FromStr for TableIdent {
    type Err = Error;

    fn from_str(text: &str) -> Result<TableIdent> {
        TableIdent::parse(text)
    }
}

/// Whether `part` can be a level or a table's name. The error is the rule it breaks.
fn check_part(part: &str) -> std::result::Result<(), &'static str> {
    if part.is_empty() {
        Err("a part of it is empty; every level and every table has a name")
    } else if part.contains(['/', '\\']) {
        Err("a part of it contains a slash, which would move its files to another folder")
    } else if part.contains('.') {
        // This rules out `.` and `..` as well.
        Err("a part of it contains a dot, which in text could not be told from two parts")
    } else if part.contains(char::is_control) {
        Err("a part of it contains a control character")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_is_the_table() {
        let ident = TableIdent::parse("shop.lima.orders").unwrap();
        assert_eq!(ident.namespace, Namespace(vec!["shop".into(), "lima".into()]));
        assert_eq!(ident.name, "orders");
        assert_eq!(ident.to_string(), "shop.lima.orders");
        assert_eq!("shop.lima.orders".parse::<TableIdent>().unwrap(), ident);
        assert_eq!("shop.lima".parse::<Namespace>().unwrap(), ident.namespace);
        for name in ["a b.ñandú", "日本.t", "%2e%2e.%2f", "a-b.c_d", "A.a"] {
            assert_eq!(TableIdent::parse(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn hostile_names_are_refused() {
        let names = ["", "t", ".", "..", "...", ".t", "a.", "a..t", "../t.x", "a./etc", "a.b/c"];
        for name in names.into_iter().chain(["a\\b.t", "a.t\0", "a\0.t", "a.t\n", "a\u{1b}[2J.t"]) {
            let error = TableIdent::parse(name).unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{name:?}: {error}");
            assert!(!error.to_string().contains(char::is_control), "{name:?}: {error}");
        }
        for level in ["a.b", "..", ".", "", "a/b", "a\0b"] {
            let namespace = Namespace(vec!["ok".into(), level.into()]);
            assert!(namespace.check().is_err(), "{level:?}");
            let table = TableIdent { namespace: Namespace(vec!["ok".into()]), name: level.into() };
            assert!(table.check().is_err(), "{level:?}");
        }
        assert!(Namespace(vec![]).check().is_err());
    }
}
