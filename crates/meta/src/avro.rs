//! Avro object container files, as far as Iceberg's metadata uses them (Appendix A, "Avro").
//!
//! Manifests and manifest lists are Avro files. The file carries its own schema, so it is read with
//! *that* schema, and values are found by **field id**, whatever their names and order:
//!
//! ```text
//!   "Obj" 01                          magic
//!   metadata   map of bytes           avro.schema, avro.codec, and Iceberg's own keys
//!   sync       16 bytes               chance; ends every block
//!   block*     long  records          how many records follow
//!              long  length           how many bytes they take (after compression)
//!              bytes                  the records, one after the other
//!              sync  16 bytes
//!
//!   long, int  zig-zag, then 7 bits a byte, low bits first: 1 is 02, -1 is 01, 64 is 80 01
//!   string     long length, then UTF-8
//!   union      long branch, then the value: null is 00, a present value 02 ...
//!   array      blocks of (long count, items), ended by a count of 0
//! ```
//!
//! [`File::open`] compiles the schema into a tree of [`Node`]s; a decoder walks a record's
//! [`Field`]s, matches on `field.id`, and asks the [`Cursor`] for a value of the type it wants:
//!
//! ```text
//!   match field.id {
//!       Some(103) => record_count = cursor.long(&field.node)?,
//!       _ => cursor.skip(&field.node)?,
//!   }
//! ```
//!
//! Nothing here panics, recursion is bounded by [`MAX_DEPTH`], and no count or length is believed
//! before the bytes behind it were seen.

use crate::avro_schema::compile;
pub use crate::avro_schema::{Field, Logical, MAX_DEPTH, Node};
pub use crate::avro_write::{Writer, put_array, put_bytes, put_long, put_optional};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

pub(crate) const MAGIC: &[u8] = b"Obj\x01";
pub(crate) const SYNC: usize = 16;

/// How far a block may grow when decompressed: this many times its size, and a little more. Beyond
/// it the file is taken for a bomb.
const MAX_INFLATION: u64 = 512;

/// Where decoding stopped, and what was wanted there. Small, because it is made in hot loops; the
/// file and the record are added when it leaves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The byte inside the block.
    pub at: usize,
    /// What was expected there.
    pub want: &'static str,
}

/// The result of one step of decoding.
pub type Step<T> = std::result::Result<T, Fault>;

/// An Avro file with its header read.
pub struct File<'a> {
    name: &'a str,
    blocks: &'a [u8],
    sync: &'a [u8],
    codec: String,
    metadata: BTreeMap<String, Vec<u8>>,
    root: Arc<Node>,
}

impl<'a> File<'a> {
    /// Reads the header of the Avro file `bytes`; `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when it is not an Avro file of records; [`Error::Unsupported`] for a codec
    /// that is neither null nor deflate.
    pub fn open(name: &'a str, bytes: &'a [u8]) -> Result<File<'a>> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            let got = bytes.get(..4.min(bytes.len())).unwrap_or_default();
            return Err(Error::corrupt(name, "byte 0", "the Avro magic Obj 01", hex(got)));
        };
        let mut cursor = Cursor { bytes: rest, at: 0 };
        let header = |fault: Fault| {
            let at = format!("header, byte {}", fault.at + MAGIC.len());
            Error::corrupt(name, at, fault.want, "other bytes, or the end of the file")
        };
        let mut metadata = BTreeMap::new();
        cursor
            .blocks(|cursor| {
                let key = cursor.text()?.to_string();
                metadata.insert(key, cursor.raw()?.to_vec());
                Ok(())
            })
            .map_err(header)?;
        let sync = cursor.take(SYNC).map_err(header)?;
        let codec = match metadata.get("avro.codec") {
            None => "null".to_string(),
            Some(codec) => String::from_utf8_lossy(codec).into_owned(),
        };
        if codec != "null" && codec != "deflate" {
            return Err(Error::unsupported(
                format!("the Avro codec {codec:?} of {name}"),
                "blocks are read with the codecs null and deflate",
            ));
        }
        let schema = metadata.get("avro.schema").map(Vec::as_slice).unwrap_or_default();
        let root = compile(schema)
            .map_err(|got| Error::corrupt(name, "header, key avro.schema", "a record", got))?;
        let blocks = cursor.rest();
        Ok(File { name, blocks, sync, codec, metadata, root })
    }

    /// A text of the header, such as `partition-spec-id`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.metadata.get(key)?).ok()
    }

    /// Calls `read` once for each record, with the fields of the file's schema.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the block, the record and the byte where decoding stopped.
    pub fn each(&self, mut read: impl FnMut(&mut Cursor<'_>, &[Field]) -> Step<()>) -> Result<()> {
        let Node::Record(fields) = &*self.root else {
            return Ok(()); // open() saw to it
        };
        let mut cursor = Cursor { bytes: self.blocks, at: 0 };
        let mut block = 0;
        while !cursor.rest().is_empty() {
            let wrong = |fault: Fault| {
                let got = "other bytes, or the end of the file (is it truncated?)";
                Error::corrupt(self.name, format!("Avro block {block}"), fault.want, got)
            };
            let count = cursor.varint().map_err(wrong)?;
            let data = cursor.raw().map_err(wrong)?;
            if cursor.take(SYNC).map_err(wrong)? != self.sync {
                let want = "the file's sync marker after the block";
                return Err(wrong(Fault { at: 0, want }));
            }
            let inflated;
            let data = if self.codec == "deflate" {
                inflated = inflate(data).map_err(wrong)?;
                inflated.as_slice()
            } else {
                data
            };
            let mut records = Cursor { bytes: data, at: 0 };
            // Every record of Iceberg's takes a byte at least: a count above the bytes is a lie.
            let count = usize::try_from(count).ok().filter(|count| *count <= data.len());
            for record in 0..count.unwrap_or(0) {
                let start = records.at;
                read(&mut records, fields).map_err(|fault| {
                    let mut again = Cursor { bytes: data, at: start };
                    let field = field_at(&mut again, fields, fault.at);
                    let field = field.map(|field| format!(", field {field}")).unwrap_or_default();
                    let at = format!("Avro block {block}, record {record}{field}");
                    let got = format!("something else at byte {} of the block", fault.at);
                    Error::corrupt(self.name, at, fault.want, got)
                })?;
            }
            if count.is_none() || !records.rest().is_empty() {
                let want = "as many records as the block's count says";
                return Err(wrong(Fault { at: records.at, want }));
            }
            block += 1;
        }
        Ok(())
    }
}

/// The field of a record in which a fault at byte `at` lies: `data_file.file_path (100)`. Made only
/// for a message, by passing over the record once more. Where that stops is the field. If it does not
/// stop, the bytes are sound, and the value before `at` was refused for what it says; or, when `at` is
/// the end, perhaps the record as a whole: `None`.
fn field_at(cursor: &mut Cursor<'_>, fields: &[Field], at: usize) -> Option<String> {
    let (mut found, mut broken) = (None, false);
    for field in fields {
        let start = cursor.at;
        broken = cursor.skip(&field.node).is_err();
        if broken || (found.is_none() && at <= cursor.at) {
            found = Some((field, start));
        }
        if broken {
            break;
        }
    }
    let (field, start) = found.filter(|_| broken || at < cursor.at)?;
    if let Node::Record(inner) = &*field.node
        && let Some(below) = field_at(&mut Cursor { bytes: cursor.bytes, at: start }, inner, at)
    {
        return Some(format!("{}.{below}", field.name));
    }
    let id = field.id.map_or("no id".to_string(), |id| id.to_string());
    Some(format!("{} ({id})", field.name))
}

/// Undoes raw deflate. Some writers leave a few bytes after the stream; they are ignored.
fn inflate(data: &[u8]) -> Step<Vec<u8>> {
    let limit = (data.len() as u64).saturating_mul(MAX_INFLATION).saturating_add(1 << 16);
    let mut out = Vec::new();
    let mut reader = flate2::read::DeflateDecoder::new(data).take(limit + 1);
    match reader.read_to_end(&mut out) {
        Ok(_) if out.len() as u64 > limit => {
            Err(Fault { at: 0, want: "a block that does not grow more than 512 times" })
        }
        Ok(_) => Ok(out),
        Err(_) => Err(Fault { at: 0, want: "a whole deflate stream" }),
    }
}

/// A position in the bytes of a block.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A fault here.
    pub fn fault<T>(&self, want: &'static str) -> Step<T> {
        Err(Fault { at: self.at, want })
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) -> Step<&'a [u8]> {
        match self.rest().get(..count) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => self.fault("as many bytes as the length before them says"),
        }
    }

    fn varint(&mut self) -> Step<i64> {
        let mut value = 0u64;
        for (index, byte) in self.rest().iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.at += index + 1;
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        self.fault("an integer of at most ten bytes")
    }

    /// A length and that many bytes.
    fn raw(&mut self) -> Step<&'a [u8]> {
        match usize::try_from(self.varint()?) {
            Ok(length) => self.take(length),
            Err(_) => self.fault("a length that is not negative"),
        }
    }

    fn text(&mut self) -> Step<&'a str> {
        match std::str::from_utf8(self.raw()?) {
            Ok(text) => Ok(text),
            Err(_) => self.fault("UTF-8 text"),
        }
    }

    /// The items of an array or map: blocks of a count and as many items, ended by a count of 0. A
    /// negative count is followed by the block's length in bytes.
    fn blocks(&mut self, mut item: impl FnMut(&mut Self) -> Step<()>) -> Step<()> {
        loop {
            let count = self.varint()?;
            if count < 0 {
                self.varint()?;
            }
            match usize::try_from(count.unsigned_abs()) {
                Ok(0) => return Ok(()),
                Ok(count) if count <= self.rest().len() => {
                    for _ in 0..count {
                        let start = self.at;
                        item(self)?;
                        if self.at == start {
                            return self.fault("items of a byte at least");
                        }
                    }
                }
                _ => return self.fault("a count of items that fit into the block"),
            }
        }
    }

    /// Steps into a union: `None` for its null branch, else what `read` makes of the other one. A
    /// node that is no union is read as it is.
    pub fn optional<T>(
        &mut self,
        node: &Node,
        read: impl FnOnce(&mut Self, &Node) -> Step<T>,
    ) -> Step<Option<T>> {
        match node {
            Node::Null => Ok(None),
            Node::Union(branches) => {
                let branch = usize::try_from(self.varint()?).ok().and_then(|i| branches.get(i));
                match branch.map(|node| &**node) {
                    Some(Node::Null) => Ok(None),
                    Some(node) => read(self, node).map(Some),
                    None => self.fault("the number of a branch of the union"),
                }
            }
            node => read(self, node).map(Some),
        }
    }

    /// Steps into a union that must not be null here.
    fn present<T>(
        &mut self,
        node: &Node,
        read: impl FnOnce(&mut Self, &Node) -> Step<T>,
    ) -> Step<T> {
        match self.optional(node, read)? {
            Some(value) => Ok(value),
            None => self.fault("a value, for the field is required"),
        }
    }

    /// A 64-bit integer.
    pub fn long(&mut self, node: &Node) -> Step<i64> {
        match node {
            Node::Long(_) => self.varint(),
            Node::Union(_) => self.present(node, Self::long),
            _ => self.fault("a field of type int or long"),
        }
    }

    /// A 32-bit integer.
    pub fn int(&mut self, node: &Node) -> Step<i32> {
        match i32::try_from(self.long(node)?) {
            Ok(value) => Ok(value),
            Err(_) => self.fault("a 32-bit integer"),
        }
    }

    /// A byte string.
    pub fn bytes(&mut self, node: &Node) -> Step<&'a [u8]> {
        match node {
            Node::Bytes(_) => self.raw(),
            Node::Fixed(size, _) => self.take(*size),
            Node::Union(_) => self.present(node, Self::bytes),
            _ => self.fault("a field of type bytes or string"),
        }
    }

    /// A text.
    pub fn string(&mut self, node: &Node) -> Step<&'a str> {
        match std::str::from_utf8(self.bytes(node)?) {
            Ok(text) => Ok(text),
            Err(_) => self.fault("UTF-8 text"),
        }
    }

    /// A boolean.
    pub fn boolean(&mut self, node: &Node) -> Step<bool> {
        match node {
            Node::Boolean => Ok(self.take(1)? != [0]),
            Node::Union(_) => self.present(node, Self::boolean),
            _ => self.fault("a field of type boolean"),
        }
    }

    /// Eight bytes as a double, four as a float, by the node.
    pub fn float(&mut self, node: &Node) -> Step<f64> {
        let wrong = "a float or double";
        match node {
            Node::Float => match self.take(4)?.try_into() {
                Ok(bytes) => Ok(f64::from(f32::from_le_bytes(bytes))),
                Err(_) => self.fault(wrong),
            },
            Node::Double => match self.take(8)?.try_into() {
                Ok(bytes) => Ok(f64::from_le_bytes(bytes)),
                Err(_) => self.fault(wrong),
            },
            _ => self.fault(wrong),
        }
    }

    /// The items of an array, each read by `item`.
    pub fn array<T>(
        &mut self,
        node: &Node,
        mut item: impl FnMut(&mut Self, &Node) -> Step<T>,
    ) -> Step<Vec<T>> {
        let Node::Array(inner) = node else {
            return self.fault("a field of type array");
        };
        let mut items = Vec::new();
        self.blocks(|cursor| {
            items.push(item(cursor, inner)?);
            Ok(())
        })?;
        Ok(items)
    }

    /// A map with integer keys: an array of records of a key and a value.
    pub fn int_map<T>(
        &mut self,
        node: &Node,
        mut value: impl FnMut(&mut Self, &Node) -> Step<T>,
    ) -> Step<BTreeMap<i32, T>> {
        let pairs = self.array(node, |cursor, pair| match pair {
            Node::Record(fields) => match fields.as_slice() {
                [key, val] => Ok((cursor.int(&key.node)?, value(cursor, &val.node)?)),
                _ => cursor.fault("a record of a key and a value"),
            },
            _ => cursor.fault("a record of a key and a value"),
        })?;
        Ok(pairs.into_iter().collect())
    }

    /// Passes over a value of this type.
    pub fn skip(&mut self, node: &Node) -> Step<()> {
        match node {
            Node::Null => Ok(()),
            Node::Boolean => self.take(1).map(drop),
            Node::Long(_) => self.varint().map(drop),
            Node::Float => self.take(4).map(drop),
            Node::Double => self.take(8).map(drop),
            Node::Bytes(_) => self.raw().map(drop),
            Node::Fixed(size, _) => self.take(*size).map(drop),
            Node::Record(fields) => fields.iter().try_for_each(|field| self.skip(&field.node)),
            Node::Array(item) => self.blocks(|cursor| cursor.skip(item)),
            Node::Map(value) => self.blocks(|cursor| {
                cursor.raw()?;
                cursor.skip(value)
            }),
            Node::Union(_) => self.optional(node, |cursor, node| cursor.skip(node)).map(drop),
        }
    }
}

/// Bytes for messages.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<_> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    if pairs.is_empty() { "nothing".into() } else { pairs.join(" ") }
}
