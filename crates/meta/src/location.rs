//! One location type: parse, normalise, compare, join, and name the files of a table.
//!
//! Metadata stores absolute locations, and each engine spells them its own way. These four lines
//! name one file:
//!
//! ```text
//!   /w/t/data/a.parquet          a plain path
//!   file:/w/t/data/a.parquet     Java, through Hadoop
//!   file:///w/t/data/a.parquet   PyIceberg
//!   file:///w/t//data/a.parquet  a table location that ended in a slash
//! ```
//!
//! A [`Location`] keeps both: the *text*, exactly as found, which goes back into metadata, and the
//! *normal form*, which is compared and handed to a store. An orphan hunt that compared texts would
//! take every live file of the second line for garbage; that really happened, in more than one
//! implementation. So nothing else in Kiosko compares location strings.
//!
//! The normal form of a local file is its absolute path, with doubled slashes collapsed and `.`
//! segments removed, because that is what the operating system does with it. `..` is refused: a
//! path that climbs cannot be proven to stay inside its table. The normal form of an object
//! (`s3://bucket/key`) is its text: object keys are opaque, nothing in them is decoded or collapsed.

use crate::{Error, Result};

/// Where a file or folder lies. Equal, ordered and hashed by its normal form.
#[derive(Debug, Clone)]
pub struct Location {
    text: String,
    normal: String,
}

impl Location {
    /// Reads a location as metadata spells it: an absolute path, a `file:` URI, or an object URI.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty or relative path, a NUL, a `..` segment in a local path, or
    /// a `file:` URI that names another host.
    pub fn parse(text: &str) -> Result<Location> {
        let invalid = |why: &str| Err(Error::invalid(format!("the location {text:?}"), why));
        if text.contains('\0') {
            return invalid("it contains a NUL byte");
        }
        let path = match text.split_once(':') {
            Some(("file", rest)) => match rest.strip_prefix("//") {
                None => rest,
                Some(after) if after.starts_with('/') => after,
                Some(after) => match after.strip_prefix("localhost/") {
                    Some(_) => after.trim_start_matches("localhost"),
                    None => return invalid("a file: URI must be local: write file:///path"),
                },
            },
            Some((scheme, rest)) if is_scheme(scheme) => {
                let Some(authority) = rest.strip_prefix("//") else {
                    return invalid("an object URI is written scheme://bucket/key");
                };
                if authority.is_empty() || authority.starts_with('/') {
                    return invalid("it names no bucket");
                }
                return Ok(Location { text: text.into(), normal: text.into() });
            }
            _ => text,
        };
        if !path.starts_with('/') {
            return invalid("it is neither an absolute path nor a URI");
        }
        let mut normal = String::with_capacity(path.len());
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => return invalid("a location may not climb out of its folder with '..'"),
                name => {
                    normal.push('/');
                    normal.push_str(name);
                }
            }
        }
        if normal.is_empty() {
            normal.push('/');
        }
        Ok(Location { text: text.into(), normal })
    }

    /// The location as it was written: this goes into metadata.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The form to compare, and to ask a store for.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// The place `rest` below this one, spelled as this one is. Slashes at the end of this location
    /// are dropped, so that a table at `s3://b/t/` writes `s3://b/t/data`, not `s3://b/t//data`.
    ///
    /// # Errors
    /// As [`Location::parse`].
    pub fn join(&self, rest: &str) -> Result<Location> {
        Location::parse(&format!("{}/{rest}", self.text.trim_end_matches('/')))
    }

    /// Whether `other` is this place or lies below it. Decided at a segment boundary: `/w/t` holds
    /// `/w/t/data` and not `/w/t2`.
    pub fn holds(&self, other: &Location) -> bool {
        let root = self.normal.trim_end_matches('/');
        match other.normal.strip_prefix(root) {
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }

    /// The last segment: the file's name.
    pub fn name(&self) -> &str {
        self.normal.rsplit('/').next().unwrap_or_default()
    }
}

/// `scheme` as RFC 3986 allows it, so that `C:` or `a b:` is not taken for one.
fn is_scheme(scheme: &str) -> bool {
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Location {
    fn eq(&self, other: &Location) -> bool {
        self.normal == other.normal
    }
}

impl Eq for Location {}

impl PartialOrd for Location {
    fn partial_cmp(&self, other: &Location) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Location {
    fn cmp(&self, other: &Location) -> std::cmp::Ordering {
        self.normal.cmp(&other.normal)
    }
}

impl std::hash::Hash for Location {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.normal.hash(state);
    }
}

/// The name of the metadata file of version `version`: `00002-<uuid>.metadata.json`.
pub fn metadata_file(version: u64, uuid: uuid::Uuid) -> String {
    format!("metadata/{version:05}-{uuid}.metadata.json")
}

/// The version in a metadata file's name, if it has one: `00002-<uuid>.metadata.json` and
/// `v2.metadata.json` are both 2.
pub fn metadata_version(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('v').unwrap_or(name);
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}

/// The name of the `number`th manifest written by the commit `commit`: `<uuid>-m0.avro`.
pub fn manifest_file(commit: uuid::Uuid, number: usize) -> String {
    format!("metadata/{commit}-m{number}.avro")
}

/// The name of a snapshot's manifest list, one for each attempt to commit it.
pub fn manifest_list_file(snapshot_id: i64, attempt: u32, commit: uuid::Uuid) -> String {
    format!("metadata/snap-{snapshot_id}-{attempt}-{commit}.avro")
}

/// The name of the `number`th data file of a write: `00000-0-<uuid>.parquet`.
pub fn data_file(number: usize, write: uuid::Uuid) -> String {
    format!("data/{number:05}-0-{write}.parquet")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Location {
        Location::parse(text).unwrap()
    }

    #[test]
    fn four_spellings_are_one_place_and_keep_their_text() {
        for text in ["/w/t/a", "file:/w/t/a", "file:///w/t/a", "file:///w//t/./a", "/w/t/a/"] {
            assert_eq!(at(text), at("/w/t/a"));
            assert_eq!(at(text).as_str(), text);
        }
        assert_eq!(at("file://localhost/w/t/a"), at("/w/t/a"));
    }

    #[test]
    fn object_keys_are_opaque() {
        assert_ne!(at("s3://b//t/a"), at("s3://b/t/a"));
        assert_ne!(at("s3://b/t/%61"), at("s3://b/t/a"));
        assert_eq!(at("s3://b/t/../a").normal(), "s3://b/t/../a");
    }

    #[test]
    fn names_that_could_escape_are_refused() {
        for text in
            ["", "w/t", "/w/../t", "file://host/w", "/w\0t", "s3:///k", "s3:k", "file:w", "C:/x"]
        {
            assert!(Location::parse(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn holds_ends_at_a_segment() {
        let table = at("file:///w/t");
        assert!(table.holds(&at("/w/t/data/a")) && table.holds(&at("/w/t")));
        assert!(!table.holds(&at("/w/t2/data/a")) && !table.holds(&at("/w")));
        assert!(at("/").holds(&at("/w")));
    }

    #[test]
    fn a_trailing_slash_is_not_doubled() {
        assert_eq!(at("s3://b/t/").join("data/a").unwrap().as_str(), "s3://b/t/data/a");
        assert_eq!(metadata_version("00012-a.metadata.json"), Some(12));
        assert_eq!(metadata_version("v3.metadata.json"), Some(3));
        assert_eq!(metadata_version("metadata.json"), None);
    }
}
