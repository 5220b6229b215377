//! What a Puffin file may compress, and how (Puffin, "Compression codecs"): LZ4 and Zstandard frames.
//!
//! Both must carry the size of their content. It is a claim, and is checked before any memory is
//! asked for: beyond 512 times the frame's own size, and a little more, it is taken for a bomb.
//!
//! ```text
//!   LZ4 frame                                       "abcdefghi", uncompressed inside
//!     magic         4 bytes  04 22 4d 18            04 22 4d 18
//!     flags         1 byte   01 i b s c 0 d         68          i: blocks stand alone   s: a size
//!     block size    1 byte   at most ...            40          b: blocks have checksums
//!     content size  8 bytes  little-endian          09 00 .. 00 c: the content has one  d: never
//!     checksum      1 byte   of flags .. size       (byte 1 of XXH32)
//!     block*        4 bytes  length; high bit: raw  09 00 00 80
//!                   bytes    (checksum 4 bytes)     61 62 63 64 65 66 67 68 69
//!     end           4 bytes  0 (checksum 4 bytes)   00 00 00 00
//! ```
//!
//! The frame is taken apart here, its blocks by the crate `lz4_flex`: that crate's own reader of
//! frames sets aside up to 12 MB on the word of one byte. A Zstandard frame goes to the crate `zstd`,
//! in one call, so that nothing but the content is allocated for it.

use crate::{Error, Result};
use twox_hash::XxHash32;

/// How far a frame may grow when decompressed: this many times its size, and [`GROWTH_FREE`] more.
const MAX_GROWTH: usize = 512;
const GROWTH_FREE: usize = 1 << 16;

const LZ4_MAGIC: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const LZ4_VERSION: u8 = 0b0100_0000;
const LZ4_ALONE: u8 = 0b0010_0000;
const LZ4_BLOCK_CHECKSUM: u8 = 0b0001_0000;
const LZ4_SIZE: u8 = 0b0000_1000;
const LZ4_CHECKSUM: u8 = 0b0000_0100;

/// Decompresses the one Zstandard frame `frame`, found at `at` in `file`.
///
/// # Errors
/// [`Error::Corrupt`] when it is not a whole frame with its content size.
pub(crate) fn zstd(file: &str, at: &str, frame: &[u8]) -> Result<Vec<u8>> {
    let want = "a Zstandard frame with its content size";
    let size = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
    let size = size.ok_or_else(|| Error::corrupt(file, at, want, "no such header"))?;
    let size = believe(file, at, size, frame.len())?;
    let content = zstd::bulk::decompress(frame, size)
        .map_err(|error| Error::corrupt(file, at, "a whole Zstandard frame", error))?;
    if content.len() != size {
        return Err(Error::corrupt(file, at, format!("{size} bytes of content"), content.len()));
    }
    Ok(content)
}

/// Decompresses the one LZ4 frame `frame`, found at `at` in `file`.
///
/// # Errors
/// [`Error::Corrupt`] when it is not a whole frame with its content size and right checksums.
pub(crate) fn lz4(file: &str, at: &str, frame: &[u8]) -> Result<Vec<u8>> {
    let wrong = |want: &str, got: &str| Error::corrupt(file, at, want, got);
    let mut rest = frame;
    let mut take = |count: usize| {
        let (taken, after) = rest
            .split_at_checked(count)
            .ok_or_else(|| wrong("a whole LZ4 frame", "its end before that of the content"))?;
        rest = after;
        Ok(taken)
    };
    if take(4)? != LZ4_MAGIC {
        return Err(wrong("the magic 04 22 4d 18 of an LZ4 frame", "other bytes"));
    }
    let header = take(10)?;
    let flags = header.first().copied().unwrap_or(0);
    let known = LZ4_ALONE | LZ4_BLOCK_CHECKSUM | LZ4_CHECKSUM;
    if flags & !known != LZ4_VERSION | LZ4_SIZE {
        let got = format!("the flags {flags:08b}");
        return Err(wrong("an LZ4 frame of version 1 with its content size", &got));
    }
    let size = header.last_chunk::<8>().map_or(0, |size| u64::from_le_bytes(*size));
    let checksum = XxHash32::oneshot(0, header).to_le_bytes();
    if checksum.get(1) != take(1)?.first() {
        return Err(wrong("the checksum of the LZ4 header", "another"));
    }
    let mut content = vec![0; believe(file, at, size, frame.len())?];
    let mut filled = 0;
    loop {
        let word = little(take(4)?);
        if word == 0 {
            break;
        }
        let block = take((word & i32::MAX as u32) as usize)?;
        if flags & LZ4_BLOCK_CHECKSUM != 0 && little(take(4)?) != XxHash32::oneshot(0, block) {
            return Err(wrong("the checksum of the LZ4 block", "another"));
        }
        let (before, room) = content.split_at_mut(filled);
        filled += if word > i32::MAX as u32 {
            let room = room.get_mut(..block.len());
            room.ok_or_else(|| wrong("blocks as long as the content", "more"))?
                .copy_from_slice(block);
            block.len()
        } else {
            let before = if flags & LZ4_ALONE != 0 { &[] } else { &*before };
            lz4_flex::block::decompress_into_with_dict(block, room, before)
                .map_err(|error| wrong("a whole LZ4 block", &error.to_string()))?
        };
    }
    if flags & LZ4_CHECKSUM != 0 && little(take(4)?) != XxHash32::oneshot(0, &content) {
        return Err(wrong("the checksum of the LZ4 content", "another"));
    }
    if filled != content.len() || !rest.is_empty() {
        let want = format!("blocks of {} bytes, then the end", content.len());
        return Err(wrong(&want, &format!("{filled}, and {} bytes after", rest.len())));
    }
    Ok(content)
}

/// The claimed size of a frame's content, if it is one that memory may be asked for.
fn believe(file: &str, at: &str, size: u64, frame: usize) -> Result<usize> {
    let limit = frame.saturating_mul(MAX_GROWTH).saturating_add(GROWTH_FREE);
    usize::try_from(size).ok().filter(|size| *size <= limit).ok_or_else(|| {
        Error::corrupt(file, at, format!("at most {limit} bytes out of a frame of {frame}"), size)
    })
}

fn little(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
