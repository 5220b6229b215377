//! Deletion vectors: which rows of one data file are gone (specification, "Deletion Vectors").
//!
//! A delete that does not rewrite its data file (v3) writes down the *positions* of the deleted rows,
//! counted from 0. They are one blob of type `deletion-vector-v1` in a Puffin file:
//!
//! ```text
//!   length     4 bytes, BIG-endian       magic and vector together
//!   magic      d1 d3 39 64
//!   vector     a 64-bit Roaring bitmap, little-endian: see roaring.rs
//!   checksum   4 bytes, BIG-endian       CRC-32 of magic and vector
//! ```
//!
//! What Spark wrote when rows 3 and 4 of a file were deleted, at byte 4 of the Puffin file:
//!
//! ```text
//!   00 00 00 24               36 bytes of magic and vector
//!   d1 d3 39 64               magic
//!   01 00 00 00 00 00 00 00   one 32-bit bitmap
//!   00 00 00 00               its key 0
//!   3a 30 00 00 01 00 00 00   no runs; one container
//!   00 00 01 00 10 00 00 00   container 0 has 1 + 1 numbers, and begins 16 bytes after the 3a
//!   03 00 04 00               3, 4
//!   8d 7c c9 e5               CRC-32
//! ```
//!
//! # Who names what
//!
//! ```text
//!   manifest entry (deletes)                 Puffin footer
//!     file_path             the Puffin file
//!     referenced_data_file  the data file      properties.referenced-data-file
//!     content_offset        4                  offset
//!     content_size_in_bytes 44                 length        all of the blob, length to checksum
//!     record_count          2                  properties.cardinality
//! ```
//!
//! Several vectors may share one Puffin file, told apart by their offset. A data file has one live
//! vector at most: a second delete writes the [`DeletionVector::union`] of old and new, and the old
//! entry goes in the same commit. The manifest entry is enough to read a vector; its `record_count`
//! must then equal [`DeletionVector::len`].
//!
//! The decoder never panics and never allocates beyond a constant times its input.

use crate::avro::hex;
use crate::container::Container;
use crate::puffin::{Blob, Properties, Writer};
use crate::roaring::{self, Containers, Reader};
use crate::{Error, Location, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The type of the blob.
pub const BLOB_TYPE: &str = "deletion-vector-v1";

const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];

/// Length and magic: what stands before the vector.
const HEAD: usize = 8;

/// What stands around the magic and the vector: length and checksum.
const AROUND: usize = 8;

/// The reserved field `_pos`, the position of a row in its file: what the vector is computed for.
const POSITION_FIELD: i32 = 2_147_483_645;

/// A set of row positions, each below 2^63.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeletionVector {
    containers: Containers,
}

impl DeletionVector {
    /// The set of these positions, in any order, repeated or not.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a position of 2^63 or more.
    pub fn from_positions(positions: impl IntoIterator<Item = u64>) -> Result<DeletionVector> {
        let mut positions: Vec<u64> = positions.into_iter().collect();
        positions.sort_unstable();
        if let Some(last) = positions.last().filter(|last| **last > i64::MAX as u64) {
            let why = "positions end before 2^63: the highest bit must be 0";
            return Err(Error::invalid(format!("deleting the row {last}"), why));
        }
        let slices = positions.chunk_by(|a, b| a >> 16 == b >> 16);
        let containers = slices.map(|slice| {
            let prefix = slice.first().map_or(0, |position| position >> 16);
            (prefix, Container::from_sorted(slice.iter().map(|position| *position as u16)))
        });
        Ok(DeletionVector { containers: containers.collect() })
    }

    /// Whether the row at `position` is deleted.
    pub fn contains(&self, position: u64) -> bool {
        let found = self.containers.binary_search_by_key(&(position >> 16), |(prefix, _)| *prefix);
        let container = found.ok().and_then(|index| self.containers.get(index));
        container.is_some_and(|(_, container)| container.contains(position as u16))
    }

    /// How many rows are deleted: the cardinality.
    pub fn len(&self) -> u64 {
        self.containers.iter().map(|(_, container)| container.len() as u64).sum()
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    /// The positions, rising.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.ranges(0..u64::MAX).flatten()
    }

    /// The deleted rows among those at `within`, as rising ranges: what a scan takes out of a batch
    /// that begins at `within.start`. A range ends at each multiple of 65,536, and may go on there.
    pub fn ranges(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut at = within.start;
        let mut index = self.containers.partition_point(|(prefix, _)| *prefix < at >> 16);
        std::iter::from_fn(move || {
            loop {
                let (prefix, container) = self.containers.get(index)?;
                let base = prefix << 16;
                let low = u16::try_from(at.saturating_sub(base)).ok();
                match low.and_then(|low| container.run_from(low)) {
                    Some((first, last)) => {
                        let (start, end) = (base + u64::from(first), base + u64::from(last) + 1);
                        at = end;
                        return (start < within.end).then(|| start..end.min(within.end));
                    }
                    None if base < within.end => index += 1,
                    None => return None,
                }
            }
        })
    }

    /// The rows that are deleted in either: what a second delete writes.
    pub fn union(&self, other: &DeletionVector) -> DeletionVector {
        let mut both: BTreeMap<u64, Container> = self.containers.iter().cloned().collect();
        for (prefix, container) in &other.containers {
            both.entry(*prefix)
                .and_modify(|mine| *mine = mine.union(container))
                .or_insert_with(|| container.clone());
        }
        DeletionVector { containers: both.into_iter().collect() }
    }

    /// The whole blob, length to checksum.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is longer than its four bytes of length can say.
    pub fn to_blob(&self) -> Result<Vec<u8>> {
        let mut blob = vec![0; 4];
        blob.extend(MAGIC);
        roaring::encode(&self.containers, &mut blob);
        let Ok(length) = i32::try_from(blob.len() - 4) else {
            let what = format!("a deletion vector of {} bytes", blob.len());
            return Err(Error::invalid(what, "it ends at 2 GiB; rewrite the data file instead"));
        };
        let checksum = crc32(blob.get(4..).unwrap_or_default());
        blob.extend(checksum.to_be_bytes());
        if let Some(head) = blob.first_chunk_mut() {
            *head = length.to_be_bytes();
        }
        debug_assert_eq!(DeletionVector::from_blob("its own encoding", &blob).as_ref(), Ok(self));
        Ok(blob)
    }

    /// Reads a blob: the `content_size_in_bytes` bytes at `content_offset` of the Puffin file `file`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the byte of the blob.
    pub fn from_blob(file: &str, blob: &[u8]) -> Result<DeletionVector> {
        let wrong = |at: usize, want: String, got: String| {
            Error::corrupt(file, format!("deletion vector, byte {at}"), want, got)
        };
        let (head, tail) = (blob.first_chunk::<HEAD>(), blob.last_chunk::<4>());
        let (Some(head), Some(tail), true) = (head, tail, blob.len() >= HEAD + 8 + 4) else {
            let want = "20 bytes at least: length, magic, number of bitmaps, checksum";
            return Err(wrong(0, want.into(), format!("{} bytes", blob.len())));
        };
        let [l0, l1, l2, l3, magic @ ..] = *head;
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        if length as usize != blob.len() - AROUND {
            let want =
                format!("the length {} of magic and vector, big-endian", blob.len() - AROUND);
            return Err(wrong(0, want, format!("{length} ({})", hex(&[l0, l1, l2, l3]))));
        }
        if magic != MAGIC {
            return Err(wrong(4, format!("the magic {}", hex(&MAGIC)), hex(&magic)));
        }
        let end = blob.len() - 4;
        let (want, got) = (crc32(blob.get(4..end).unwrap_or_default()), u32::from_be_bytes(*tail));
        if want != got {
            let want = format!("the CRC-32 {want:08x} of magic and vector, big-endian");
            return Err(wrong(end, want, format!("{got:08x}")));
        }
        let blob = blob.get(..end).unwrap_or_default();
        Ok(DeletionVector { containers: roaring::decode(Reader { file, blob, at: HEAD })? })
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Where a vector lies in its Puffin file: what its manifest entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// `referenced_data_file`: the data file, spelled as its own entry spells it.
    pub data_file: String,
    /// `content_offset`.
    pub offset: i64,
    /// `content_size_in_bytes`.
    pub length: i64,
    /// `record_count`: how many rows are deleted.
    pub cardinality: i64,
}

/// Writes a Puffin file of vectors, each with the data file that it belongs to, and says where each
/// lies. `created_by` names the program that writes, with its version.
///
/// # Errors
/// [`Error::Invalid`] when a data file occurs twice; as [`DeletionVector::to_blob`].
pub fn write_puffin<'a>(
    created_by: &str,
    vectors: impl IntoIterator<Item = (&'a Location, &'a DeletionVector)>,
) -> Result<(Vec<u8>, Vec<Placed>)> {
    let mut writer = Writer::new(vec![("created-by".into(), created_by.into())]);
    let (mut placed, mut seen) = (Vec::new(), BTreeSet::new());
    for (data_file, vector) in vectors {
        if !seen.insert(data_file) {
            let why = "a data file has one vector at most: write their union";
            return Err(Error::invalid(format!("a second deletion vector of {data_file}"), why));
        }
        let properties: Properties = vec![
            ("referenced-data-file".into(), data_file.as_str().into()),
            ("cardinality".into(), vector.len().to_string()),
        ];
        let blob = Blob {
            blob_type: BLOB_TYPE.into(),
            fields: vec![POSITION_FIELD],
            snapshot_id: -1, // neither is known yet
            sequence_number: -1,
            properties,
            ..Blob::default()
        };
        let blob = writer.add(blob, &vector.to_blob()?);
        placed.push(Placed {
            data_file: data_file.as_str().into(),
            offset: blob.offset,
            length: blob.length,
            cardinality: vector.len() as i64, // below 2^63
        });
    }
    Ok((writer.finish()?, placed))
}
