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

use crate::{Error, Result};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

const MAGIC: &[u8] = b"Obj\x01";
const SYNC: usize = 16;

/// How deep a schema may nest. Iceberg's own schemas stay under ten.
pub const MAX_DEPTH: usize = 64;

/// How far a block may grow when decompressed: this many times its size, and a little more. Beyond
/// it the file is taken for a bomb.
const MAX_INFLATION: u64 = 512;

/// A type of the file's schema.
#[derive(Debug)]
pub enum Node {
    /// No bytes.
    Null,
    /// One byte.
    Boolean,
    /// A variable-length integer: Avro's int and long.
    Long(Logical),
    /// Four bytes.
    Float,
    /// Eight bytes.
    Double,
    /// Length and bytes: Avro's bytes and string.
    Bytes(Logical),
    /// A fixed number of bytes.
    Fixed(usize, Logical),
    /// Fields, one after the other.
    Record(Vec<Field>),
    /// Blocks of items. A map with keys that are not strings is an array of two-field records.
    Array(Arc<Node>),
    /// Blocks of string keys and values.
    Map(Arc<Node>),
    /// A branch number, and a value of that branch.
    Union(Vec<Arc<Node>>),
}

/// What the value of a [`Node`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// Itself: a 32-bit integer.
    Int,
    /// Itself: a 64-bit integer.
    Long,
    /// Itself: bytes.
    Bytes,
    /// Itself: UTF-8.
    String,
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Microseconds since 1970 and whether in UTC.
    Timestamp(bool),
    /// Nanoseconds since 1970 and whether in UTC.
    TimestampNs(bool),
    /// An unscaled big-endian integer with this scale.
    Decimal(u8),
    /// A UUID.
    Uuid,
}

/// A field of a record.
#[derive(Debug)]
pub struct Field {
    /// Iceberg's field id, by which the value is known.
    pub id: Option<i32>,
    /// The name, for messages only.
    pub name: String,
    /// The type.
    pub node: Arc<Node>,
}

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
            for record in 0..count {
                read(&mut records, fields).map_err(|fault| {
                    let at = format!("Avro block {block}, record {record}, byte {}", fault.at);
                    let got = "other bytes, or the end of the block";
                    Error::corrupt(self.name, at, fault.want, got)
                })?;
            }
            if count < 0 || !records.rest().is_empty() {
                let want = "as many records as the block's count says";
                return Err(wrong(Fault { at: records.at, want }));
            }
            block += 1;
        }
        Ok(())
    }
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

/// A node of a schema, and how large it is with everything below it. A type may be named and used
/// again, so a short text can describe a huge tree; both measures are bounded.
#[derive(Clone)]
struct Sized {
    node: Arc<Node>,
    depth: usize,
    weight: usize,
}

/// How many nodes a schema may have, named types counted wherever they are used.
const MAX_NODES: usize = 20_000;

/// Compiles the text of a schema.
fn compile(text: &[u8]) -> std::result::Result<Arc<Node>, String> {
    let json: Json = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    let mut compiler = Compiler { names: BTreeMap::new() };
    match compiler.node(&json) {
        Some(Sized { node, .. }) if matches!(*node, Node::Record(_)) => Ok(node),
        Some(_) => Err("another type".into()),
        None => Err("a schema that is none, or is too deep or too large".into()),
    }
}

struct Compiler {
    names: BTreeMap<String, Sized>,
}

impl Compiler {
    /// The node of `json`. Its nesting is bounded by the JSON parser's own limit of 128 levels.
    fn node(&mut self, json: &Json) -> Option<Sized> {
        let (mut depth, mut weight) = (0, 1);
        let mut below = |child: Sized| {
            depth = depth.max(child.depth + 1);
            weight += child.weight;
            child.node
        };
        let node = match json {
            Json::Array(branches) => {
                let branches = branches.iter().map(|branch| self.node(branch).map(&mut below));
                Node::Union(branches.collect::<Option<_>>()?)
            }
            Json::String(name) => return self.named(name, json),
            Json::Object(object) => match object.get("type")? {
                Json::String(name) => match name.as_str() {
                    "record" => {
                        let mut fields = Vec::new();
                        for field in object.get("fields")?.as_array()? {
                            let id = field.get("field-id").and_then(Json::as_i64);
                            let name = field.get("name").and_then(Json::as_str);
                            fields.push(Field {
                                id: id.and_then(|id| i32::try_from(id).ok()),
                                name: name.unwrap_or_default().to_string(),
                                node: below(self.node(field.get("type")?)?),
                            });
                        }
                        Node::Record(fields)
                    }
                    "array" => Node::Array(below(self.node(object.get("items")?)?)),
                    "map" => Node::Map(below(self.node(object.get("values")?)?)),
                    "fixed" => {
                        let size = usize::try_from(object.get("size")?.as_u64()?).ok()?;
                        Node::Fixed(size, logical(json).unwrap_or(Logical::Bytes))
                    }
                    "enum" => Node::Long(Logical::Int),
                    _ => return self.named(name, json),
                },
                nested => return self.node(nested),
            },
            _ => return None,
        };
        if depth > MAX_DEPTH || weight > MAX_NODES {
            return None;
        }
        let sized = Sized { node: Arc::new(node), depth, weight };
        if let Some(name) = json.get("name").and_then(Json::as_str) {
            self.names.insert(name.to_string(), sized.clone());
        }
        Some(sized)
    }

    /// A primitive by its name, or a named type seen before.
    fn named(&self, name: &str, json: &Json) -> Option<Sized> {
        let logical = |plain| logical(json).unwrap_or(plain);
        let node = match name {
            "null" => Node::Null,
            "boolean" => Node::Boolean,
            "int" => Node::Long(logical(Logical::Int)),
            "long" => Node::Long(logical(Logical::Long)),
            "float" => Node::Float,
            "double" => Node::Double,
            "bytes" => Node::Bytes(logical(Logical::Bytes)),
            "string" => Node::Bytes(logical(Logical::String)),
            _ => return self.names.get(name).cloned(),
        };
        Some(Sized { node: Arc::new(node), depth: 0, weight: 1 })
    }
}

fn logical(json: &Json) -> Option<Logical> {
    let utc = || json.get("adjust-to-utc").and_then(Json::as_bool).unwrap_or(false);
    Some(match json.get("logicalType")?.as_str()? {
        "date" => Logical::Date,
        "time-micros" => Logical::Time,
        "timestamp-micros" => Logical::Timestamp(utc()),
        "timestamp-nanos" => Logical::TimestampNs(utc()),
        "decimal" => Logical::Decimal(json.get("scale")?.as_u64()?.try_into().ok()?),
        "uuid" => Logical::Uuid,
        _ => return None,
    })
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
            // Every item of Iceberg's arrays takes a byte at least.
            match usize::try_from(count.unsigned_abs()) {
                Ok(0) => return Ok(()),
                Ok(count) if count <= self.rest().len() => {
                    for _ in 0..count {
                        item(self)?;
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
    fn present<T>(&mut self, node: &Node, read: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        match self.optional(node, |cursor, _| read(cursor))? {
            Some(value) => Ok(value),
            None => self.fault("a value, for the field is required"),
        }
    }

    /// A 64-bit integer.
    pub fn long(&mut self, node: &Node) -> Step<i64> {
        match node {
            Node::Long(_) => self.varint(),
            Node::Union(branches) if branches.iter().any(|b| matches!(**b, Node::Long(_))) => {
                self.present(node, Self::varint)
            }
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
            Node::Union(branches) if branches.iter().any(|b| matches!(**b, Node::Bytes(_))) => {
                self.present(node, Self::raw)
            }
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
        match (node, self.optional(node, |cursor, _| cursor.take(1))?) {
            (Node::Boolean | Node::Union(_), Some(byte)) => Ok(byte != [0]),
            _ => self.fault("a boolean"),
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

/// Builds an Avro file of records, compressed with deflate.
pub struct Writer {
    out: Vec<u8>,
    sync: [u8; SYNC],
    block: Vec<u8>,
    count: i64,
}

/// How many bytes of records make a block.
const BLOCK: usize = 64 * 1024;

impl Writer {
    /// Begins a file with this schema and these header texts. `sync` is 16 bytes of chance.
    pub fn new(schema: &str, metadata: &[(&str, &str)], sync: [u8; SYNC]) -> Writer {
        let mut out = MAGIC.to_vec();
        put_long(&mut out, metadata.len() as i64 + 2);
        for (key, value) in
            metadata.iter().chain(&[("avro.codec", "deflate"), ("avro.schema", schema)])
        {
            put_bytes(&mut out, key.as_bytes());
            put_bytes(&mut out, value.as_bytes());
        }
        put_long(&mut out, 0);
        out.extend(sync);
        Writer { out, sync, block: Vec::new(), count: 0 }
    }

    /// Adds the record that `write` appends to the block.
    pub fn record(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.block);
        self.count += 1;
        if self.block.len() >= BLOCK {
            self.end_block();
        }
    }

    /// Ends the file.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_block();
        self.out
    }

    fn end_block(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut packed = Vec::new();
        let mut deflate =
            flate2::read::DeflateEncoder::new(self.block.as_slice(), flate2::Compression::new(6));
        // Reading from memory into memory has no way to fail.
        let _ = deflate.read_to_end(&mut packed);
        put_long(&mut self.out, self.count);
        put_bytes(&mut self.out, &packed);
        self.out.extend(self.sync);
        self.block.clear();
        self.count = 0;
    }
}

/// Appends a zig-zag variable-length integer: Avro's int and long.
pub fn put_long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a length and bytes: Avro's bytes and string.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as i64);
    out.extend(bytes);
}

/// Appends a value of the union `["null", T]`.
pub fn put_optional<T>(out: &mut Vec<u8>, value: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    put_long(out, i64::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Appends an array.
pub fn put_array<T>(
    out: &mut Vec<u8>,
    items: impl ExactSizeIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) {
    if items.len() > 0 {
        put_long(out, items.len() as i64);
        items.for_each(|item| put(out, item));
    }
    put_long(out, 0);
}

fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<_> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    if pairs.is_empty() { "nothing".into() } else { pairs.join(" ") }
}
