//! Roaring bitmaps of 64-bit positions, in the portable format (Puffin, "deletion-vector-v1").
//!
//! A position is cut in three. The high 32 bits choose a 32-bit bitmap, the next 16 a container in
//! it, the low 16 are a number of that container ([`crate::container`] knows its three forms):
//!
//! ```text
//!   position      high 32 bits         16 bits         low 16 bits
//!   0x1_0002_0007    00000001             0002             0007
//!                    which bitmap         which container  which number
//!
//!   64-bit bitmap   count   8 bytes     how many 32-bit bitmaps
//!                   key     4 bytes   \ once for each, keys rising
//!                   bitmap            /
//!
//!   32-bit bitmap   without runs                     with runs
//!     cookie        3a 30 00 00                      3b 30, then 2 bytes: containers - 1
//!     containers    4 bytes                          -
//!     run flags     -                                a bit for each container, 8 to a byte
//!     header        key 2 bytes, numbers - 1 2 bytes; once for each container, keys rising
//!     offsets       4 bytes for each container: where it begins, counted from the cookie;
//!                   always without runs, with runs from 4 containers on
//!     containers    one after the other
//! ```
//!
//! All of it is little-endian. The positions 1, 3, 5, 7 and 9:
//!
//! ```text
//!   01 00 00 00 00 00 00 00   one bitmap         00 00    container 0
//!   00 00 00 00               its key 0          04 00    of 4 + 1 numbers
//!   3a 30 00 00               no runs            10 00 00 00      begins at byte 16
//!   01 00 00 00               one container      01 00 03 00 05 00 07 00 09 00
//! ```
//!
//! In memory the two upper parts are one *prefix*, `position >> 16`, so that a set is a flat list of
//! prefixes and containers. The format allows a bitmap without containers (Java writes one for every
//! key below the highest); such a bitmap is read and leaves nothing behind.
//!
//! The decoder never panics, never allocates beyond a constant times its input (a bitmap of 8,192
//! bytes may stand in memory as 32,768 runs while it is taken apart), and checks all that the format
//! says twice: order, counts, offsets.

use crate::avro::hex;
use crate::container::{BITMAP_BYTES, Container, MAX_ARRAY, Run};
use crate::{Error, Result};

const WITHOUT_RUNS: u32 = 12_346;
const WITH_RUNS: u16 = 12_347;

/// From this many containers on a bitmap with runs has offsets, too.
const OFFSETS_FROM: usize = 4;

/// The least that a 32-bit bitmap takes: its key, a cookie, and a count of containers.
const MIN_BITMAP: usize = 12;

/// Prefixes, rising, and the low 16 bits of the positions under each. No container is empty.
pub(crate) type Containers = Vec<(u64, Container)>;

/// Reads the 64-bit bitmap that fills the rest of `reader`.
///
/// # Errors
/// [`Error::Corrupt`] naming the byte.
pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Containers> {
    let count = reader.u64("the number of 32-bit bitmaps")?;
    let most = reader.left() / MIN_BITMAP;
    if count > most as u64 {
        let want = format!("at most {most} bitmaps, since that many fit into what follows");
        return Err(reader.wrong(reader.at - 8, want, count));
    }
    let mut containers = Containers::new();
    let mut least_key = 0;
    for _ in 0..count {
        let key = reader.u32("the key of a 32-bit bitmap")?;
        if u64::from(key) < least_key || key > i32::MAX as u32 {
            let want = format!("a key from {least_key} to {}, since keys rise", i32::MAX);
            return Err(reader.wrong(reader.at - 4, want, key));
        }
        least_key = u64::from(key) + 1;
        decode_bitmap(&mut reader, key, &mut containers)?;
    }
    match reader.left() {
        0 => Ok(containers),
        left => Err(reader.wrong(reader.at, "the end of the vector", format!("{left} bytes more"))),
    }
}

/// Reads one 32-bit bitmap.
fn decode_bitmap(reader: &mut Reader<'_>, key: u32, containers: &mut Containers) -> Result<()> {
    let start = reader.at;
    let cookie = reader.u32("a cookie")?;
    let with_runs = cookie as u16 == WITH_RUNS;
    let count = if with_runs {
        (cookie >> 16) as usize + 1
    } else if cookie == WITHOUT_RUNS {
        reader.u32("the number of containers")? as usize
    } else {
        let want = "the cookie 3a 30 00 00 or 3b 30 .. .. of a Roaring bitmap";
        return Err(reader.wrong(start, want, hex(&cookie.to_le_bytes())));
    };
    let flags = if with_runs { reader.take(count.div_ceil(8), "the run flags")? } else { &[] };
    // Keys have 16 bits and rise, so a count beyond 65,536 ends in an error here, too.
    let header_at = reader.at;
    let header = reader.take(count.saturating_mul(4), "a key and a count for each container")?;
    let offsets_at = reader.at;
    let offsets: &[u8] = if !with_runs || count >= OFFSETS_FROM {
        reader.take(count * 4, "an offset for each container")?
    } else {
        &[]
    };
    let (entries, _) = header.as_chunks::<4>();
    let mut offsets = offsets.as_chunks::<4>().0.iter();
    let mut least = 0;
    for (index, [k0, k1, n0, n1]) in entries.iter().enumerate() {
        let low_key = u16::from_le_bytes([*k0, *k1]);
        if u32::from(low_key) < least {
            let want = format!("a container key of {least} or more, since keys rise");
            return Err(reader.wrong(header_at + 4 * index, want, low_key));
        }
        least = u32::from(low_key) + 1;
        if let Some(offset) = offsets.next() {
            let (want, got) = ((reader.at - start) as u64, u32::from_le_bytes(*offset));
            if want != u64::from(got) {
                return Err(reader.wrong(offsets_at + 4 * index, format!("offset {want}"), got));
            }
        }
        let is_runs = flags.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
        let numbers = usize::from(u16::from_le_bytes([*n0, *n1])) + 1;
        let container = decode_container(reader, is_runs, numbers)?;
        containers.push((u64::from(key) << 16 | u64::from(low_key), container));
    }
    Ok(())
}

/// Reads one container, which the header says to have so many `numbers`.
fn decode_container(reader: &mut Reader<'_>, is_runs: bool, numbers: usize) -> Result<Container> {
    let start = reader.at;
    let container = if is_runs {
        let count = usize::from(reader.u16("the number of runs")?);
        let runs = reader.take(count * 4, "the first and the length of each run")?;
        let mut least = 0;
        let mut checked: Vec<Run> = Vec::with_capacity(count);
        for (index, [f0, f1, l0, l1]) in runs.as_chunks::<4>().0.iter().enumerate() {
            let (first, more) = (u16::from_le_bytes([*f0, *f1]), u16::from_le_bytes([*l0, *l1]));
            let last = first.checked_add(more).filter(|_| u32::from(first) >= least);
            let last = last.ok_or_else(|| {
                let want = format!("a run between {least} and 65535, since runs rise");
                reader.wrong(start + 2 + 4 * index, want, format!("{first} and {more} more"))
            })?;
            least = u32::from(last) + 1;
            checked.push((first, last));
        }
        Container::from_runs(checked)
    } else if numbers <= MAX_ARRAY {
        let (array, _) = reader.take(numbers * 2, "the numbers of an array")?.as_chunks::<2>();
        let array: Vec<u16> = array.iter().map(|number| u16::from_le_bytes(*number)).collect();
        if let Some(index) = array.windows(2).position(|pair| pair.first() >= pair.last()) {
            let (at, pair) = (start + 2 * index, array.get(index..index + 2));
            let got = pair.unwrap_or_default().iter().map(u16::to_string).collect::<Vec<_>>();
            return Err(reader.wrong(at, "numbers of an array, rising", got.join(", then ")));
        }
        Container::from_sorted(array)
    } else {
        let (words, _) = reader.take(BITMAP_BYTES, "the 8192 bytes of a bitmap")?.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        // Its runs, so that the form is right even if other writers do not shorten theirs.
        Container::from_runs(Container::Bitmap(words).runs())
    };
    if container.len() != numbers {
        let want = format!("{numbers} numbers in the container, as the header says");
        return Err(reader.wrong(start, want, container.len()));
    }
    Ok(container)
}

/// Appends the 64-bit bitmap to `out`.
pub(crate) fn encode(containers: &[(u64, Container)], out: &mut Vec<u8>) {
    let bitmaps = || containers.chunk_by(|(a, _), (b, _)| a >> 16 == b >> 16);
    out.extend((bitmaps().count() as u64).to_le_bytes());
    for bitmap in bitmaps() {
        let key = bitmap.first().map_or(0, |(prefix, _)| prefix >> 16);
        out.extend((key as u32).to_le_bytes());
        encode_bitmap(bitmap, out);
    }
}

/// Appends one 32-bit bitmap: containers whose prefixes differ in the low 16 bits only.
fn encode_bitmap(containers: &[(u64, Container)], out: &mut Vec<u8>) {
    let start = out.len();
    let is_runs = |container: &Container| matches!(container, Container::Runs(_));
    let with_runs = containers.iter().any(|(_, container)| is_runs(container));
    if with_runs {
        out.extend(WITH_RUNS.to_le_bytes());
        out.extend((containers.len() as u16).wrapping_sub(1).to_le_bytes()); // 1 to 65,536
        out.extend(containers.chunks(8).map(|eight| {
            let flags = eight.iter().enumerate();
            flags
                .fold(0u8, |byte, (bit, (_, container))| byte | u8::from(is_runs(container)) << bit)
        }));
    } else {
        out.extend(WITHOUT_RUNS.to_le_bytes());
        out.extend((containers.len() as u32).to_le_bytes());
    }
    for (prefix, container) in containers {
        out.extend((*prefix as u16).to_le_bytes());
        out.extend((container.len() as u16).wrapping_sub(1).to_le_bytes()); // 1 to 65,536
    }
    if !with_runs || containers.len() >= OFFSETS_FROM {
        let mut offset = out.len() - start + 4 * containers.len();
        for (_, container) in containers {
            out.extend((offset as u32).to_le_bytes());
            offset += encoded_len(container);
        }
    }
    for (_, container) in containers {
        match container {
            Container::Array(numbers) => out.extend(numbers.iter().flat_map(|n| n.to_le_bytes())),
            Container::Bitmap(words) => out.extend(words.iter().flat_map(|w| w.to_le_bytes())),
            Container::Runs(runs) => {
                out.extend((runs.len() as u16).to_le_bytes()); // never more than 2,047
                for (first, last) in runs {
                    out.extend(first.to_le_bytes());
                    out.extend((last - first).to_le_bytes());
                }
            }
        }
    }
}

/// The bytes that a container takes.
fn encoded_len(container: &Container) -> usize {
    match container {
        Container::Array(numbers) => 2 * numbers.len(),
        Container::Bitmap(_) => BITMAP_BYTES,
        Container::Runs(runs) => 2 + 4 * runs.len(),
    }
}

/// Reads little-endian numbers, and knows where it is.
pub(crate) struct Reader<'a> {
    /// The file, for messages.
    pub(crate) file: &'a str,
    /// The blob up to the end of the vector. Places are counted from its first byte.
    pub(crate) blob: &'a [u8],
    /// The next byte.
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, at: usize, want: impl ToString, got: impl ToString) -> Error {
        Error::corrupt(self.file, format!("deletion vector, byte {at}"), want, got)
    }

    fn left(&self) -> usize {
        self.blob.len().saturating_sub(self.at)
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count);
        let Some(bytes) = end.and_then(|end| self.blob.get(self.at..end)) else {
            let want = format!("{what}, {count} bytes");
            return Err(self.wrong(self.at, want, format!("the end after {}", self.left())));
        };
        self.at += count;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.take(N, what)?;
        Ok(bytes.first_chunk().copied().unwrap_or([0; N])) // take() gave N
    }

    fn u16(&mut self, what: &str) -> Result<u16> {
        self.array(what).map(u16::from_le_bytes)
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }
}
