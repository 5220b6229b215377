//! Writing Avro: the same bytes that [`crate::avro`] draws, the other way.
//!
//! The caller brings the schema as text and appends each record's values in the schema's order with
//! the `put_` functions.

use crate::avro::{MAGIC, SYNC};
use std::io::Read;

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
