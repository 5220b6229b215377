//! Puffin files and deletion vectors: the specification's bytes, the files of Java and DuckDB, and a
//! second opinion on the bitmaps by the crate roaring.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

use kiosko_meta::deletion_vector::{BLOB_TYPE, DeletionVector, Placed, write_puffin};
use kiosko_meta::puffin::{self, Blob, Footer, TAIL, Writer, property};
use kiosko_meta::{Error, Location};
use proptest::prelude::*;
use roaring::RoaringTreemap;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn fixtures(writer: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(writer).join("puffin")
}

fn vector(positions: impl IntoIterator<Item = u64>) -> DeletionVector {
    DeletionVector::from_positions(positions).unwrap()
}

fn positions(vector: &DeletionVector) -> Vec<u64> {
    vector.iter().collect()
}

/// The bytes of a blob in a file.
fn slice<'a>(bytes: &'a [u8], blob: &Blob) -> &'a [u8] {
    let range = puffin::blob_range("f", blob.offset, blob.length, bytes.len() as u64).unwrap();
    &bytes[range.start as usize..range.end as usize]
}

#[test]
fn the_specifications_layout() {
    let blob = vector([9, 1, 3, 3, 7, 5]).to_blob().unwrap();
    let want = "0000002a d1d33964 0100000000000000 00000000 3a300000 01000000 00000400 10000000 \
                0100 0300 0500 0700 0900 b3fb20be";
    let hex: String = blob.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, want.replace(' ', ""));
    let empty = vector([]).to_blob().unwrap();
    assert_eq!(
        empty,
        [0, 0, 0, 12, 0xd1, 0xd3, 0x39, 0x64, 0, 0, 0, 0, 0, 0, 0, 0, 191, 24, 72, 12]
    );
    assert!(DeletionVector::from_blob("f", &empty).unwrap().is_empty());
    // The smallest Puffin file.
    let smallest = b"PFA1PFA1{\"blobs\":[]}\x0c\0\0\0\0\0\0\0PFA1";
    assert_eq!(Writer::new(vec![]).finish().unwrap(), smallest);
    assert_eq!(puffin::read("f", smallest).unwrap(), Footer::default());
    assert_eq!(puffin::footer_length("f", &smallest[32 - TAIL..]).unwrap(), 28);
}

#[test]
fn the_vectors_of_spark_and_duckdb() {
    let mut vectors = 0;
    for writer in ["spark-3.5.9-iceberg-1.10.2", "duckdb-1.5.5"] {
        let folder = fixtures(writer);
        let expected = std::fs::read(folder.join("expected.json")).unwrap();
        let expected: Json = serde_json::from_slice(&expected).unwrap();
        for (name, entries) in expected.as_object().unwrap() {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            let footer = puffin::read(name, &bytes).unwrap();
            let entries = entries.as_array().unwrap();
            assert_eq!(footer.blobs.len(), entries.len());
            let mut again = Vec::new();
            for (blob, entry) in footer.blobs.iter().zip(entries) {
                // By the manifest entry alone, then compared with the footer.
                let long = |key: &str| entry[key].as_i64().unwrap();
                let (offset, length) = (long("content-offset"), long("content-size-in-bytes"));
                assert_eq!((blob.offset, blob.length), (offset, length));
                let stored = slice(&bytes, blob);
                let vector = DeletionVector::from_blob(name, stored).unwrap();
                assert_eq!(json!(positions(&vector)), entry["positions"]);
                assert_eq!(vector.len() as i64, long("record-count"));
                assert_eq!(vector.to_blob().unwrap(), stored, "not the same bytes");

                assert_eq!((blob.blob_type.as_str(), &blob.compression_codec), (BLOB_TYPE, &None));
                assert_eq!((blob.snapshot_id, blob.sequence_number), (-1, -1));
                let data_file = property(&blob.properties, "referenced-data-file").unwrap();
                assert_eq!(data_file, entry["referenced-data-file"]);
                let cardinality = property(&blob.properties, "cardinality").unwrap();
                assert_eq!(cardinality, entry["record-count"].to_string());
                again.push((Location::parse(data_file).unwrap(), vector));
                vectors += 1;
            }
            // What we write of the same vectors: to the byte, if the writer has Java's habits.
            let created_by = property(&footer.properties, "created-by");
            let again = again.iter().map(|(data_file, vector)| (data_file, vector));
            let (ours, placed) = write_puffin(created_by.unwrap_or("Kiosko"), again).unwrap();
            if created_by.is_some() {
                assert!(ours == bytes, "{name} differs from ours");
            }
            for (placed, entry) in placed.iter().zip(entries) {
                let Placed { data_file, offset, length, cardinality } = placed;
                assert_eq!(*data_file, entry["referenced-data-file"]);
                let want = ["content-offset", "content-size-in-bytes", "record-count"];
                assert_eq!(
                    [offset, length, cardinality].map(|n| json!(n)),
                    want.map(|k| entry[k].clone())
                );
            }
        }
    }
    assert_eq!(vectors, 7);
}

#[test]
fn java_writes_every_shape_with_the_same_bytes() {
    let each = |first: u64, step: u64, count: u64| (0..count).map(move |i| first + step * i);
    let vectors = [
        ("empty", vector([])),
        ("three in a row", vector(each(10, 1, 3))),
        ("four in a row", vector(each(10, 1, 4))),
        ("4096 even", vector(each(0, 2, 4096))),
        ("4097 even", vector(each(0, 2, 4097))),
        ("a whole container", vector(each(65_536, 1, 65_536))),
        ("five containers, one of runs", vector(each(7, 1000, 300).chain(each(131_072, 1, 900)))),
        ("two keys", vector([5].into_iter().chain(each((1 << 32) + 5, 3, 4)))),
        ("a key left out", vector(each((2 << 32) + 65_535, 1, 2))),
    ];
    let bytes =
        std::fs::read(fixtures("spark-3.5.9-iceberg-1.10.2").join("vectors.puffin")).unwrap();
    let footer = puffin::read("vectors.puffin", &bytes).unwrap();
    for (blob, (name, vector)) in footer.blobs.iter().zip(&vectors) {
        assert_eq!(property(&blob.properties, "referenced-data-file"), Some(*name));
        let stored = slice(&bytes, blob);
        assert_eq!(&DeletionVector::from_blob("f", stored).unwrap(), vector, "{name}");
        let same = vector.to_blob().unwrap() == stored;
        // For keys that are not there Java writes empty bitmaps, which the format does not ask for.
        assert_eq!(same, *name != "a key left out", "{name}");
    }
    // Two more blobs hold one text, as it is and in Zstandard. Written again, the file is the same.
    let texts = &footer.blobs[vectors.len()..];
    assert_eq!(texts.len(), 2);
    for blob in texts {
        let content = puffin::content("f", blob, slice(&bytes, blob)).unwrap();
        assert_eq!(String::from_utf8(content.to_vec()).unwrap(), "kiosko ".repeat(20));
    }
    assert_eq!(texts[1].compression_codec.as_deref(), Some("zstd"));
    let mut writer = Writer::new(footer.properties.clone());
    for blob in &footer.blobs {
        assert_eq!(&writer.add(blob.clone(), slice(&bytes, blob)), blob);
    }
    assert!(writer.finish().unwrap() == bytes);
}

#[test]
fn the_tail_is_enough() {
    let at = |path: &str| Location::parse(path).unwrap();
    let (a, b) = (at("/w/t/a.parquet"), at("file:/w/t/b.parquet"));
    let (one, two) = (vector([1]), vector([0, 70_000]));
    let (bytes, placed) = write_puffin("Kiosko", [(&a, &one), (&b, &two)]).unwrap();
    let size = bytes.len();
    let needed = puffin::footer_length("f", &bytes[size - TAIL..]).unwrap() as usize;
    let footer = puffin::read_footer("f", &bytes[size - needed..], size as u64).unwrap();
    assert_eq!(footer, puffin::read("f", &bytes).unwrap());
    assert!(puffin::read_footer("f", &bytes[size - needed + 1..], size as u64).is_err());
    assert_eq!(placed[1].data_file, "file:/w/t/b.parquet");
    assert_eq!(DeletionVector::from_blob("f", slice(&bytes, &footer.blobs[1])).unwrap(), two);
    // One vector for a data file, however it is spelled.
    let error = write_puffin("Kiosko", [(&a, &one), (&at("file:///w/t/a.parquet"), &two)]);
    assert!(matches!(error, Err(Error::Invalid { .. })), "{error:?}");
}

#[test]
fn what_is_unknown_is_kept() {
    let payload = r#"{"blobs":[{"type":"later-v9","fields":[],"snapshot-id":1,"sequence-number":2,"offset":4,"length":3,"compression-codec":"snappy","properties":{"z":"1","a":"2"},"new":[null]}],"properties":{"x":"y"},"more":{"k":1.50}}"#;
    let length = (payload.len() as i32).to_le_bytes();
    let bytes = [b"PFA1abcPFA1", payload.as_bytes(), &length, &[0; 4], b"PFA1"].concat();
    let footer = puffin::read("f", &bytes).unwrap();
    assert_eq!(footer.extra["more"], json!({"k": 1.5}));
    let blob = &footer.blobs[0];
    assert_eq!(blob.extra["new"], json!([null]));
    assert_eq!(property(&blob.properties, "a"), Some("2"));
    let content = puffin::content("f", blob, b"abc");
    assert!(matches!(content, Err(Error::Unsupported { .. })), "{content:?}");
    let mut writer = Writer::new(footer.properties.clone());
    assert_eq!(&writer.add(blob.clone(), b"abc"), blob);
    let again = puffin::read("f", &writer.finish().unwrap()).unwrap();
    assert_eq!((again.blobs, again.properties), (footer.blobs, footer.properties));
}

#[test]
fn positions_end_before_two_to_the_63() {
    let last = i64::MAX as u64;
    let highest = vector([last, 0]);
    assert_eq!(positions(&highest), [0, last]);
    let blob = highest.to_blob().unwrap();
    assert_eq!(DeletionVector::from_blob("f", &blob).unwrap(), highest);
    assert!(highest.contains(last) && !highest.contains(last - 1) && !highest.contains(u64::MAX));
    let beyond = DeletionVector::from_positions([1, last + 1]);
    assert!(matches!(beyond, Err(Error::Invalid { .. })), "{beyond:?}");
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "one range is meant")]
fn ranges_are_cut_to_the_batch() {
    let vector = vector((10..20).chain([25]).chain(65_530..65_540));
    let ranges = |within| vector.ranges(within).collect::<Vec<_>>();
    assert_eq!(ranges(0..15), [10..15]);
    assert_eq!(ranges(15..30), [15..20, 25..26]);
    assert_eq!(ranges(20..25), []);
    assert_eq!(ranges(65_535..65_538), [65_535..65_536, 65_536..65_538]);
    assert_eq!(ranges(65_540..u64::MAX), []);
    assert_eq!(ranges(u64::MAX..u64::MAX), []);
    assert_eq!(ranges(15..15), []);
}

/// Positions that fall into few containers: single ones, runs, dense stretches.
fn any_positions() -> impl Strategy<Value = BTreeSet<u64>> {
    let key = prop_oneof![4 => Just(0u64), 1 => 0..4u64, 1 => Just(0x7fff_ffff)];
    let stretch = (key, 0..3u64, 0..65_536u64, 1..4u64, prop_oneof![1..8u64, 1..9000u64]);
    prop::collection::vec(stretch, 0..6).prop_map(|stretches| {
        let all = stretches.into_iter().flat_map(|(key, container, first, step, count)| {
            let start = key << 32 | container << 16 | first;
            (0..count).map(move |i| start + step * i)
        });
        all.filter(|position| *position <= i64::MAX as u64).collect()
    })
}

/// The blob around a bitmap that another wrote.
fn framed(theirs: &RoaringTreemap) -> Vec<u8> {
    let mut body = vec![0xd1, 0xd3, 0x39, 0x64];
    theirs.serialize_into(&mut body).unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(&body);
    [&(body.len() as u32).to_be_bytes(), &body[..], &crc.sum().to_be_bytes()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_crate_roaring_agrees(set in any_positions(), optimize in any::<bool>()) {
        let ours = vector(set.iter().copied());
        prop_assert_eq!(ours.len(), set.len() as u64);
        prop_assert_eq!(positions(&ours), set.iter().copied().collect::<Vec<_>>());
        let blob = ours.to_blob().unwrap();
        prop_assert_eq!(&DeletionVector::from_blob("f", &blob).unwrap(), &ours);
        // They read what we write; we read what they write, with runs and without.
        let mut theirs: RoaringTreemap = set.iter().copied().collect();
        let read = RoaringTreemap::deserialize_from(&blob[8..blob.len() - 4]).unwrap();
        prop_assert_eq!(&read, &theirs);
        if optimize {
            theirs.optimize();
        }
        let their_blob = framed(&theirs);
        prop_assert_eq!(&DeletionVector::from_blob("f", &their_blob).unwrap(), &ours);
        if optimize {
            prop_assert!(blob == their_blob, "not the same bytes");
        }
    }

    #[test]
    fn sets_behave_as_sets(a in any_positions(), b in any_positions(), start in 0..200_000u64, length in 0..70_000u64) {
        let (ours, other) = (vector(a.iter().copied()), vector(b.iter().copied()));
        let both = vector(a.union(&b).copied());
        prop_assert_eq!(&ours.union(&other), &both);
        prop_assert_eq!(&other.union(&ours), &both);
        prop_assert!(b.iter().take(500).all(|position| ours.contains(*position) == a.contains(position)));
        let within = start..start + length;
        let in_ranges: Vec<u64> = both.ranges(within.clone()).flatten().collect();
        prop_assert_eq!(in_ranges, a.union(&b).copied().filter(|p| within.contains(p)).collect::<Vec<_>>());
    }
}
