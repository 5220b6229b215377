//! Puffin files: a container for what does not fit into manifests (the Puffin specification).
//!
//! Statistics and deletion vectors are *blobs*. A Puffin file lays them end to end, and its footer
//! says what each one is:
//!
//! ```text
//!   magic     50 46 41 31            "PFA1"
//!   blob*     bytes                  as the footer says: offset, length
//!   footer    50 46 41 31            "PFA1" again
//!             payload                JSON, UTF-8; or an LZ4 frame of it
//!             payload's length       4 bytes, little-endian
//!             flags                  4 bytes; bit 0 of the first: the payload is LZ4
//!             50 46 41 31            "PFA1", the end of the file
//!
//!   payload   {"blobs": [{"type": "deletion-vector-v1", "fields": [2147483645],
//!                         "snapshot-id": -1, "sequence-number": -1, "offset": 4, "length": 44,
//!                         "compression-codec": "zstd" or "lz4" or absent,
//!                         "properties": {"cardinality": "2", ...}}, ...],
//!              "properties": {"created-by": "Kiosko 0.1.0"}}
//! ```
//!
//! The smallest of all, without a blob:
//!
//! ```text
//!   50 46 41 31   50 46 41 31   {"blobs":[]}   0c 00 00 00   00 00 00 00   50 46 41 31
//! ```
//!
//! A file is read from its end. The last [`TAIL`] bytes give the length of the footer
//! ([`footer_length`]), the footer the places of the blobs ([`read_footer`]). A deletion vector is
//! read without it: the manifest repeats its offset and length, and [`blob_range`] checks that they
//! can be true. No blob begins before byte 4, so a bare blob in a file of its own is no Puffin file.
//!
//! Types of blobs, properties and keys that are unknown here are kept as they came, in their order.
//! The decoders never panic and never allocate beyond a constant times their input.

use crate::avro::hex;
use crate::json::At;
use crate::{Error, Result, compression};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::ops::Range;

/// The four bytes that begin the file and the footer, and end both.
pub const MAGIC: [u8; 4] = *b"PFA1";

/// The bytes at the end that tell the length of the footer: payload's length, flags, magic.
pub const TAIL: usize = 12;

/// The bytes of a footer that are not its payload.
const AROUND_PAYLOAD: u64 = TAIL as u64 + MAGIC.len() as u64;

/// Texts by name, in the order of the file.
pub type Properties = Vec<(String, String)>;

/// What a Puffin file holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Footer {
    /// The blobs, in the order of the footer.
    pub blobs: Vec<Blob>,
    /// Properties of the file, such as `created-by`.
    pub properties: Properties,
    /// Keys that this version does not know.
    pub extra: Map<String, Json>,
}

/// What the footer says of one blob.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blob {
    /// What the bytes mean: `deletion-vector-v1`, `apache-datasketches-theta-v1`, or unknown.
    pub blob_type: String,
    /// The field ids that it was computed for.
    pub fields: Vec<i32>,
    /// The snapshot it was computed from; -1 of a deletion vector.
    pub snapshot_id: i64,
    /// That snapshot's sequence number; -1 of a deletion vector.
    pub sequence_number: i64,
    /// Where in the file it begins.
    pub offset: i64,
    /// Its bytes in the file.
    pub length: i64,
    /// How those are compressed, if they are: `lz4` or `zstd`.
    pub compression_codec: Option<String>,
    /// Properties, such as a sketch's `ndv`.
    pub properties: Properties,
    /// Keys that this version does not know.
    pub extra: Map<String, Json>,
}

/// The value of the property `name`.
pub fn property<'a>(properties: &'a Properties, name: &str) -> Option<&'a str> {
    properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The length of the footer, both magics included, told from the last [`TAIL`] bytes of the file (or
/// more of them). It is the `file-footer-size-in-bytes` of a statistics file.
///
/// # Errors
/// [`Error::Corrupt`] when it is not the end of a Puffin file, [`Error::Unsupported`] when a flag is
/// set that this version does not know.
pub fn footer_length(file: &str, tail: &[u8]) -> Result<u64> {
    Ok(read_tail(file, tail)?.0 + AROUND_PAYLOAD)
}

/// The length of the payload, and whether it is compressed.
fn read_tail(file: &str, tail: &[u8]) -> Result<(u64, bool)> {
    let Some(end) = tail.last_chunk::<TAIL>() else {
        let want = "the last 12 bytes of a Puffin file: length, flags, magic";
        return Err(Error::corrupt(file, "its end", want, format!("{} bytes", tail.len())));
    };
    let [l0, l1, l2, l3, f0, f1, f2, f3, magic @ ..] = *end;
    if magic != MAGIC {
        return Err(Error::corrupt(file, "its last 4 bytes", "50 46 41 31 (PFA1)", hex(&magic)));
    }
    let flags = u32::from_le_bytes([f0, f1, f2, f3]);
    if flags > 1 {
        return Err(Error::unsupported(
            format!("the Puffin file {file} with the flags {}", hex(&[f0, f1, f2, f3])),
            "only the lowest bit has a meaning in version 1, a newer writer may have another",
        ));
    }
    match u64::try_from(i32::from_le_bytes([l0, l1, l2, l3])) {
        Ok(length) => Ok((length, flags == 1)),
        Err(_) => {
            let at = "the payload's length, 12 bytes before the end";
            Err(Error::corrupt(file, at, "a length that is not negative", hex(&[l0, l1, l2, l3])))
        }
    }
}

/// Reads the footer of a file of `file_size` bytes from its end: `tail` holds the last
/// [`footer_length`] bytes, or more of them.
///
/// # Errors
/// [`Error::Corrupt`] naming the place in the footer, or the JSON path in its payload; as
/// [`footer_length`].
pub fn read_footer(file: &str, tail: &[u8], file_size: u64) -> Result<Footer> {
    let (length, is_lz4) = read_tail(file, tail)?;
    let whole = length + AROUND_PAYLOAD;
    let start = usize::try_from(whole).ok().and_then(|whole| tail.len().checked_sub(whole));
    let footer = start.and_then(|start| tail.get(start..));
    // The magic before the first blob is not part of the footer, and must have room before it.
    let (Some(footer), Some(blobs_end)) = (footer, file_size.checked_sub(whole)) else {
        let want = format!("a footer of {whole} bytes, as its end says");
        return Err(Error::corrupt(file, "its end", want, format!("{} bytes", tail.len())));
    };
    let Some(payload) = footer.strip_prefix(&MAGIC) else {
        let got = hex(footer.get(..MAGIC.len()).unwrap_or_default());
        let at = format!("the footer's first 4 bytes, {whole} before the end");
        return Err(Error::corrupt(file, at, "50 46 41 31 (PFA1)", got));
    };
    let payload = payload.get(..payload.len().saturating_sub(TAIL)).unwrap_or_default();
    let payload = match is_lz4 {
        true => Cow::Owned(compression::lz4(file, "the footer's payload", payload)?),
        false => Cow::Borrowed(payload),
    };
    let json: Json = serde_json::from_slice(&payload)
        .map_err(|e| Error::corrupt(file, "the footer's payload", "a JSON document in UTF-8", e))?;
    Footer::from_json(&At::root(file, &json), blobs_end)
}

/// Reads the footer of the whole file `bytes`.
///
/// # Errors
/// [`Error::Corrupt`] when the file does not begin with the magic; as [`read_footer`].
pub fn read(file: &str, bytes: &[u8]) -> Result<Footer> {
    if !bytes.starts_with(&MAGIC) {
        let got = hex(bytes.get(..4.min(bytes.len())).unwrap_or_default());
        return Err(Error::corrupt(file, "byte 0", "50 46 41 31 (PFA1)", got));
    }
    read_footer(file, bytes, bytes.len() as u64)
}

/// The bytes to read for a blob that a manifest places at `offset`, `length` long, in a file of
/// `file_size` bytes. It lies behind the first magic and leaves room for a footer.
///
/// # Errors
/// [`Error::Corrupt`] when no blob can lie there.
pub fn blob_range(file: &str, offset: i64, length: i64, file_size: u64) -> Result<Range<u64>> {
    range(offset, length, file_size.saturating_sub(AROUND_PAYLOAD)).ok_or_else(|| {
        let want = format!("a blob between byte 4 and the footer of {file_size} bytes in all");
        Error::corrupt(file, "the blob's place", want, format!("{offset}, {length} bytes long"))
    })
}

/// The bytes from `offset` on, if they lie between the first magic and `end`.
fn range(offset: i64, length: i64, end: u64) -> Option<Range<u64>> {
    let start = u64::try_from(offset).ok().filter(|start| *start >= MAGIC.len() as u64)?;
    let stop = start.checked_add(u64::try_from(length).ok()?)?;
    (stop <= end).then_some(start..stop)
}

/// The content of a blob, from its bytes in the file.
///
/// # Errors
/// [`Error::Corrupt`] when `stored` is not as long as the footer says or does not decompress,
/// [`Error::Unsupported`] for a codec other than `lz4` and `zstd`.
pub fn content<'a>(file: &str, blob: &Blob, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    let at = format!("the blob at byte {}", blob.offset);
    if i64::try_from(stored.len()) != Ok(blob.length) {
        let want = format!("{} bytes, as the footer says", blob.length);
        return Err(Error::corrupt(file, at, want, stored.len()));
    }
    match blob.compression_codec.as_deref() {
        None => Ok(Cow::Borrowed(stored)),
        Some("lz4") => compression::lz4(file, &at, stored).map(Cow::Owned),
        Some("zstd") => compression::zstd(file, &at, stored).map(Cow::Owned),
        Some(codec) => Err(Error::unsupported(
            format!("the codec {codec:?} of {at} of {file}"),
            "the Puffin specification knows lz4 and zstd",
        )),
    }
}

impl Footer {
    fn from_json(at: &At<'_>, blobs_end: u64) -> Result<Footer> {
        let blobs = at.need("blobs")?;
        let blobs = blobs.items()?.map(|blob| Blob::from_json(&blob, blobs_end));
        Ok(Footer {
            blobs: blobs.collect::<Result<_>>()?,
            properties: properties(at)?,
            extra: unknown(at, &["blobs", "properties"])?,
        })
    }

    fn to_json(&self) -> Json {
        let blobs: Vec<Json> = self.blobs.iter().map(Blob::to_json).collect();
        let mut json = json!({ "blobs": blobs });
        put_rest(&mut json, &self.properties, &self.extra);
        json
    }
}

impl Blob {
    fn from_json(at: &At<'_>, blobs_end: u64) -> Result<Blob> {
        let long = |key: &str| at.need(key)?.long();
        let blob = Blob {
            blob_type: at.need("type")?.string()?.to_string(),
            fields: at.need("fields")?.items()?.map(|id| id.int()).collect::<Result<_>>()?,
            snapshot_id: long("snapshot-id")?,
            sequence_number: long("sequence-number")?,
            offset: long("offset")?,
            length: long("length")?,
            compression_codec: match at.get("compression-codec") {
                Some(codec) => Some(codec.string()?.to_string()),
                None => None,
            },
            properties: properties(at)?,
            extra: unknown(at, &KNOWN)?,
        };
        match range(blob.offset, blob.length, blobs_end) {
            Some(_) => Ok(blob),
            None => Err(at.wrong(format!("a blob between byte 4 and the footer at {blobs_end}"))),
        }
    }

    fn to_json(&self) -> Json {
        let mut json = json!({
            "type": self.blob_type,
            "fields": self.fields,
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "offset": self.offset,
            "length": self.length,
        });
        if let (Some(codec), Some(json)) = (&self.compression_codec, json.as_object_mut()) {
            json.insert("compression-codec".into(), codec.as_str().into());
        }
        put_rest(&mut json, &self.properties, &self.extra);
        json
    }
}

const KNOWN: [&str; 8] = [
    "type",
    "fields",
    "snapshot-id",
    "sequence-number",
    "offset",
    "length",
    "compression-codec",
    "properties",
];

fn properties(at: &At<'_>) -> Result<Properties> {
    let Some(at) = at.get("properties") else { return Ok(Properties::new()) };
    let text = |key: &String| Ok((key.clone(), at.need(key)?.string()?.to_string()));
    at.object()?.keys().map(text).collect()
}

fn unknown(at: &At<'_>, known: &[&str]) -> Result<Map<String, Json>> {
    let others = at.object()?.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    Ok(others.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn put_rest(json: &mut Json, properties: &Properties, extra: &Map<String, Json>) {
    let Some(json) = json.as_object_mut() else { return };
    if !properties.is_empty() {
        let texts = properties.iter().map(|(key, text)| (key.clone(), text.as_str().into()));
        json.insert("properties".into(), Json::Object(texts.collect()));
    }
    json.extend(extra.clone());
}

/// Writes a Puffin file: blobs as they are given, the footer uncompressed.
pub struct Writer {
    bytes: Vec<u8>,
    footer: Footer,
}

impl Writer {
    /// A file without blobs. The specification recommends the property `created-by`.
    pub fn new(properties: Properties) -> Writer {
        let footer = Footer { properties, ..Footer::default() };
        Writer { bytes: MAGIC.to_vec(), footer }
    }

    /// Adds a blob, and says where it lies: `blob` with its offset and length. The bytes are written
    /// as they come; if `blob` names a codec, they are taken to be compressed by it already.
    pub fn add(&mut self, blob: Blob, stored: &[u8]) -> Blob {
        let (offset, length) = (self.bytes.len() as i64, stored.len() as i64);
        let blob = Blob { offset, length, ..blob };
        self.bytes.extend_from_slice(stored);
        self.footer.blobs.push(blob.clone());
        blob
    }

    /// The whole file.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the footer is longer than its four bytes of length can say.
    pub fn finish(self) -> Result<Vec<u8>> {
        let payload = self.footer.to_json().to_string();
        let Ok(length) = i32::try_from(payload.len()) else {
            let what = format!("a Puffin footer of {} bytes", payload.len());
            return Err(Error::invalid(what, "it ends at 2 GiB; spread the blobs over more files"));
        };
        let mut bytes = self.bytes;
        bytes.extend(MAGIC);
        bytes.extend(payload.as_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(MAGIC);
        Ok(bytes)
    }
}
