//! Hostile and broken Puffin files and deletion vectors: typed errors that name the file and the
//! place, no panic, bounded memory.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where it fails"
)]

mod common;

use common::hostile::{NAME, decode};
use kiosko_meta::deletion_vector::{DeletionVector, write_puffin};
use kiosko_meta::puffin::{self, Blob, Footer};
use kiosko_meta::{Error, Location, Result};
use std::io::Write;

/// How much a byte may take: a container in memory has a header of 32 bytes for the 6 that it takes
/// at least; JSON is wider; compressed, 512 times that.
const VECTOR: usize = 64;
const PLAIN: usize = 600;
const PACKED: usize = 512 * 150;

fn read_vector(case: &str, bytes: &[u8]) -> Result<DeletionVector> {
    decode(case, bytes, VECTOR, |bytes| DeletionVector::from_blob(NAME, bytes))
}

fn read_file(case: &str, bytes: &[u8], factor: usize) -> Result<Footer> {
    decode(case, bytes, factor, |bytes| puffin::read(NAME, bytes))
}

/// Where an error says that it is.
fn place(error: Error) -> String {
    match error {
        Error::Corrupt { at, .. } => at,
        other => panic!("{other}"),
    }
}

/// A blob around this vector, with the right length and checksum.
fn framed(vector: &[u8]) -> Vec<u8> {
    let body = [&[0xd1, 0xd3, 0x39, 0x64], vector].concat();
    let mut crc = flate2::Crc::new();
    crc.update(&body);
    [&(body.len() as u32).to_be_bytes(), &body[..], &crc.sum().to_be_bytes()].concat()
}

/// A vector of two bitmaps with an array, a bitmap and runs; and the file around it.
fn sample() -> (Vec<u8>, Vec<u8>) {
    let positions = [1, 3, 5].into_iter().chain(70_000..70_100);
    let positions = positions.chain((0..5000).map(|i| (1 << 32) + 3 * i));
    let vector = DeletionVector::from_positions(positions).unwrap();
    let data_file = Location::parse("/w/t/data/a.parquet").unwrap();
    let (file, _) = write_puffin("Kiosko", [(&data_file, &vector)]).unwrap();
    (vector.to_blob().unwrap(), file)
}

#[test]
fn cut_off_anywhere() {
    let (blob, file) = sample();
    for end in (0..600).chain(blob.len() - 300..blob.len()) {
        assert!(read_vector(&format!("cut at {end}"), &blob[..end]).is_err());
        // Cut, and the length and the checksum made to fit.
        let vector = &blob[8..blob.len() - 4];
        if end < vector.len() {
            let error = read_vector(&format!("vector cut at {end}"), &framed(&vector[..end]));
            assert!(place(error.unwrap_err()).starts_with("deletion vector, byte "));
        }
    }
    for end in (0..200).chain(file.len() - 400..file.len()) {
        assert!(read_file(&format!("file cut at {end}"), &file[..end], PLAIN).is_err());
    }
}

#[test]
fn every_bit_of_a_blob_is_guarded() {
    let (blob, _) = sample();
    for at in (0..400).chain(blob.len() - 100..blob.len()) {
        let mut blob = blob.clone();
        blob[at] ^= 1 << (at % 8);
        let at_error = place(read_vector(&format!("bit flipped at {at}"), &blob).unwrap_err());
        let want = match at {
            0..4 => "deletion vector, byte 0".to_string(),
            4..8 => "deletion vector, byte 4".to_string(),
            _ => format!("deletion vector, byte {}", blob.len() - 4), // the checksum
        };
        assert_eq!(at_error, want);
    }
}

#[test]
fn flipped_bits_under_a_right_checksum() {
    let (blob, file) = sample();
    let vector = &blob[8..blob.len() - 4];
    let sound = DeletionVector::from_blob(NAME, &blob).unwrap();
    for at in 0..120 {
        for bit in 0..8 {
            let mut vector = vector.to_vec();
            vector[at] ^= 1 << bit;
            // An error, or another set: the form says everything once, or it is checked. Only the
            // bits that fill up the byte of run flags mean nothing.
            match read_vector(&format!("vector, bit {bit} of {at}"), &framed(&vector)) {
                Err(error) => assert!(place(error).starts_with("deletion vector, byte ")),
                Ok(read) => assert_eq!(read == sound, at == 16 && bit >= 2, "{bit} of {at}"),
            }
        }
    }
    for at in (0..4).chain(file.len() - 300..file.len()) {
        let mut file = file.clone();
        file[at] ^= 1 << (at % 8);
        let _ = read_file(&format!("file, byte {at}"), &file, PACKED);
    }
}

/// Bytes of a 64-bit bitmap, written by hand: count, then key and bitmap.
fn by_hand(count: u64, bitmaps: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = count.to_le_bytes().to_vec();
    for (key, bitmap) in bitmaps {
        bytes.extend(key.to_le_bytes());
        bytes.extend(bitmap);
    }
    framed(&bytes)
}

/// A bitmap without runs: keys with numbers less one, offsets from the first on, contents.
fn plain(containers: &[(u16, u16, &[u8])]) -> Vec<u8> {
    let count = containers.len() as u32;
    let mut bytes = [12_346u32.to_le_bytes(), count.to_le_bytes()].concat();
    for (key, numbers, _) in containers {
        bytes.extend(key.to_le_bytes());
        bytes.extend(numbers.to_le_bytes());
    }
    let mut offset = 8 + 8 * count;
    for (_, _, content) in containers {
        bytes.extend(offset.to_le_bytes());
        offset += content.len() as u32;
    }
    bytes.extend(containers.iter().flat_map(|(_, _, content)| *content));
    bytes
}

/// One container of runs.
fn runs(numbers: u16, runs: &[(u16, u16)]) -> Vec<u8> {
    let mut bytes = vec![0x3b, 0x30, 0, 0, 1, 0, 0];
    bytes.extend(numbers.to_le_bytes());
    bytes.extend((runs.len() as u16).to_le_bytes());
    bytes.extend(runs.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat()));
    bytes
}

#[test]
fn lies_of_a_bitmap() {
    let one = plain(&[(0, 0, &[7, 0])]);
    let full = plain(&[(0, 4096, &[0xff; 8192])]);
    let mut wrong_offset = one.clone();
    wrong_offset[12] = 17;
    let cases: [(&str, Vec<u8>, usize); 18] = [
        ("more bitmaps than bytes", by_hand(u64::MAX, &[(0, one.clone())]), 8),
        ("one bitmap too many", by_hand(2, &[(0, one.clone())]), 8),
        ("one bitmap too few", by_hand(1, &[(0, one.clone()), (1, one.clone())]), 38),
        ("keys fall", by_hand(2, &[(1, one.clone()), (0, one.clone())]), 38),
        ("a key twice", by_hand(2, &[(1, one.clone()), (1, one.clone())]), 38),
        ("a position of 2^63", by_hand(1, &[(1 << 31, one.clone())]), 16),
        ("no cookie", by_hand(1, &[(0, vec![0; 18])]), 20),
        ("four billion containers", by_hand(1, &[(0, [&one[..4], &[0xff; 14]].concat())]), 28),
        (
            "65,536 containers with runs",
            by_hand(1, &[(0, vec![0x3b, 0x30, 0xff, 0xff, 1, 0, 0, 0])]),
            24,
        ),
        ("container keys fall", by_hand(1, &[(0, plain(&[(1, 0, &[7, 0]), (0, 0, &[7, 0])]))]), 32),
        ("a wrong offset", by_hand(1, &[(0, wrong_offset)]), 32),
        ("an array that falls", by_hand(1, &[(0, plain(&[(0, 1, &[7, 0, 6, 0])]))]), 36),
        ("a number twice", by_hand(1, &[(0, plain(&[(0, 1, &[7, 0, 7, 0])]))]), 36),
        ("a count that lies", by_hand(1, &[(0, full)]), 36),
        ("runs that overlap", by_hand(1, &[(0, runs(5, &[(0, 3), (3, 2)]))]), 35),
        ("runs that fall", by_hand(1, &[(0, runs(1, &[(9, 0), (3, 0)]))]), 35),
        ("a run beyond the container", by_hand(1, &[(0, runs(1, &[(65_535, 1)]))]), 31),
        ("runs that count otherwise", by_hand(1, &[(0, runs(9, &[(0, 3)]))]), 29),
    ];
    for (case, bytes, at) in cases {
        let error = read_vector(case, &bytes).unwrap_err();
        assert_eq!(place(error.clone()), format!("deletion vector, byte {at}"), "{case}: {error}");
    }
}

#[test]
fn legal_but_unusual() {
    let read = |bitmaps: &[(u32, Vec<u8>)]| {
        let bytes = by_hand(bitmaps.len() as u64, bitmaps);
        read_vector("legal", &bytes).unwrap().iter().collect::<Vec<_>>()
    };
    assert_eq!(read(&[(0, plain(&[])), (3, plain(&[(0, 0, &[7, 0])]))]), [(3 << 32) + 7]);
    assert_eq!(read(&[(0, runs(2, &[(4, 0), (5, 1)]))]), [4, 5, 6], "runs that touch");
    // A whole container costs its reader runs of bits, not a number for each.
    let bits = plain(&[(0, 32_767, &[0x55; 8192])]);
    assert_eq!(read(&[(0, bits)]).len(), 32_768);
    let many: Vec<_> = (0..20_000).map(|key| (key, plain(&[(0, 0, &[7, 0])]))).collect();
    assert_eq!(read(&many).len(), 20_000);
}

/// A file with this payload and these flags.
fn file(payload: &[u8], flags: u32) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [b"PFA1abcdPFA1", payload, &length, &flags.to_le_bytes(), b"PFA1"].concat()
}

#[test]
fn lies_of_a_file() {
    let (blob, sound) = sample();
    let end = sound.len();
    let with = |at: usize, bytes: &[u8]| {
        let mut file = sound.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let one = |fields: &str| {
        let known = r#""type":"t","fields":[],"snapshot-id":1,"sequence-number":1"#;
        file(format!("{{\"blobs\":[{{{known},{fields}}}]}}").as_bytes(), 0)
    };
    let deep = "[".repeat(100_000);
    let cases = [
        ("a bare blob", blob, "byte 0"),
        ("nothing", vec![], "byte 0"),
        ("no end", b"PFA1".to_vec(), "its end"),
        ("another first magic", with(0, b"PAR1"), "byte 0"),
        ("another last magic", with(end - 4, b"PAR1"), "its last 4 bytes"),
        ("a longer footer", with(end - 12, &0x7fff_ffffu32.to_le_bytes()), "its end"),
        ("a negative length", with(end - 12, &[0xff; 4]), "the payload's length, 12 bytes before"),
        ("a shorter footer", with(end - 12, &9u32.to_le_bytes()), "the footer's first 4 bytes"),
        ("no JSON", file(b"PFA1", 0), "the footer's payload"),
        ("no UTF-8", file(b"\"\xff\"", 0), "the footer's payload"),
        ("a deep JSON", file(deep.as_bytes(), 0), "the footer's payload"),
        ("no blobs", file(b"{}", 0), "$.blobs"),
        ("a blob that is none", file(b"{\"blobs\":[7]}", 0), "$.blobs[0]"),
        ("no offset", one(r#""length":1"#), "$.blobs[0].offset"),
        ("a text for an offset", one(r#""offset":"4","length":1"#), "$.blobs[0].offset"),
        ("over the magic", one(r#""offset":0,"length":8"#), "$.blobs[0]"),
        ("into the footer", one(r#""offset":4,"length":5"#), "$.blobs[0]"),
        ("a negative length", one(r#""offset":4,"length":-1"#), "$.blobs[0]"),
        ("huge", one(r#""offset":9223372036854775807,"length":9223372036854775807"#), "$.blobs[0]"),
        (
            "a property",
            one(r#""offset":4,"length":4,"properties":{"a":1}"#),
            "$.blobs[0].properties.a",
        ),
        ("said to be LZ4", file(b"{\"blobs\":[]}", 1), "the footer's payload"),
    ];
    for (case, bytes, at) in cases {
        let error = read_file(case, &bytes, PLAIN).unwrap_err();
        assert!(place(error.clone()).starts_with(at), "{case}: {error}");
    }
    let flagged = read_file("flags", &file(b"{\"blobs\":[]}", 2), PLAIN);
    assert!(matches!(flagged, Err(Error::Unsupported { .. })), "{flagged:?}");
    for (offset, length) in [(0, 4), (3, 1), (-1, 4), (4, -1), (4, 85), (i64::MAX, i64::MAX)] {
        let error = puffin::blob_range(NAME, offset, length, 104).unwrap_err();
        assert_eq!(place(error), "the blob's place");
    }
    assert_eq!(puffin::blob_range(NAME, 4, 84, 104).unwrap(), 4..88);
}

/// LZ4 frames of `text` by the crate's own writer: blocks alone and linked, checksums or none.
fn lz4_frames(text: &[u8]) -> Vec<Vec<u8>> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let mut frames = Vec::new();
    for mode in [BlockMode::Independent, BlockMode::Linked] {
        for checksums in [false, true] {
            let info = FrameInfo::new()
                .content_size(Some(text.len() as u64))
                .block_mode(mode)
                .block_size(BlockSize::Max64KB)
                .block_checksums(checksums)
                .content_checksum(checksums);
            let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(text).unwrap();
            frames.push(encoder.finish().unwrap());
        }
    }
    frames
}

/// A text of some blocks that grows like an honest one.
fn numbers() -> String {
    (0..20_000).map(|number| format!("kiosko {number} ")).collect()
}

#[test]
fn compressed_footers_and_blobs() {
    let payload = format!("{{\"blobs\":[],\"properties\":{{\"long\":\"{}\"}}}}", numbers());
    for frame in lz4_frames(payload.as_bytes()) {
        let footer = read_file("an LZ4 footer", &file(&frame, 1), PACKED).unwrap();
        assert_eq!(puffin::property(&footer.properties, "long").unwrap().len(), numbers().len());
    }
    let texts = [String::new(), "x".into(), numbers(), payload];
    for text in texts.iter().map(String::as_bytes) {
        let zstd = [("zstd", zstd::bulk::compress(text, 0).unwrap())];
        let all = lz4_frames(text).into_iter().map(|frame| ("lz4", frame)).chain(zstd);
        for (codec, frame) in all {
            let length = frame.len() as i64;
            let blob = Blob {
                offset: 4,
                length,
                compression_codec: Some(codec.into()),
                ..Blob::default()
            };
            let read = |case: &str, stored: &[u8]| {
                let blob = Blob { length: stored.len() as i64, ..blob.clone() };
                decode(case, stored, 520, |stored| {
                    Ok(puffin::content(NAME, &blob, stored)?.into_owned())
                })
            };
            assert!(read(codec, &frame).unwrap() == text);
            for end in (0..frame.len()).take(60) {
                assert!(read(&format!("{codec} cut at {end}"), &frame[..end]).is_err());
            }
            for at in (0..frame.len()).take(60) {
                let mut frame = frame.clone();
                frame[at] ^= 1 << (at % 8);
                let _ = read(&format!("{codec}, bit flipped in byte {at}"), &frame);
            }
            assert!(read("more after the frame", &[&frame[..], b"more"].concat()).is_err());
            let error = puffin::content(NAME, &blob, &frame[1..]).unwrap_err();
            assert_eq!(place(error), "the blob at byte 4");
        }
    }
    // Bombs: sizes that no honest frame has.
    let zeros = vec![0; 64 << 20];
    for (codec, frame) in [
        ("zstd", zstd::bulk::compress(&zeros, 0).unwrap()),
        ("lz4", [&[4, 34, 77, 24, 0x68, 0x40][..], &[0xff; 8], &[0; 9]].concat()),
    ] {
        let codec = Some(codec.to_string());
        let blob = Blob { length: frame.len() as i64, compression_codec: codec, ..Blob::default() };
        let bomb =
            decode("bomb", &frame, 520, |stored| Ok(puffin::content(NAME, &blob, stored)?.len()));
        assert!(bomb.is_err());
    }
}
