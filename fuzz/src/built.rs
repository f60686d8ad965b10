//! Indexes and reads arbitrary text in any compression, and checks that index and reader
//! return the same records or both fail.

use std::collections::HashSet;
use std::path::Path;

use seqloom_compression::Compression;
use seqloom_index::{BuildOptions, Index, build_in_memory};
use seqloom_sequences::{Reader, ReaderOptions};
use sirocco::deflate::Level;
use sirocco::{Format, compress};

use crate::blocks::valid_bgzip;
use crate::choices::Choices;
use crate::records::{Record, of_batch};
use crate::scratch;

/// Reads and indexes a file, and opens it with `.fai` and `.gzi` files.
pub fn run(mut choices: Choices<'_>) {
    let (form, size) = (choices.byte(), 1 + choices.below(300));
    let table = choices.until(0);
    let text = choices.rest();
    let file = match form % 8 {
        0..=3 => text.to_vec(),
        4 | 5 => valid_bgzip(text, size),
        6 => [b"\x1F\x8B\x08", text].concat(),
        _ => {
            let pack = |text: &[u8]| compress(Format::Gzip, Level::DEFAULT, text);
            text.chunks(size).flat_map(pack).collect()
        }
    };
    let path = scratch::write("built", &file);
    let records = all_records(&path);
    let built = build_in_memory(&path, &BuildOptions::default());
    assert_eq!(built.is_ok(), records.is_some(), "{:?}", built.err());
    if let Some((bytes, records)) = built.ok().zip(records) {
        compare_records(&path, bytes, &records);
    }
    open_by_table(&path, table);
}

/// Returns all records of a file; `None` if it has a fault or cannot be read at an
/// offset.
fn all_records(path: &Path) -> Option<Vec<Record>> {
    let mut reader = Reader::open(path, &ReaderOptions::default()).ok()?;
    if !matches!(
        reader.compression(),
        Compression::None | Compression::Gzip | Compression::Bgzip
    ) {
        return None;
    }
    let mut found = Vec::new();
    while let Some(batch) = reader.read_batch(7, 1 << 12).ok()? {
        found.extend(of_batch(&batch));
    }
    Some(found)
}

/// Checks that an index, and its `.fai` and `.gzi`, return the records of a reader.
fn compare_records(path: &Path, bytes: Vec<u8>, records: &[Record]) {
    let (index, _) = Index::from_bytes(path, bytes, 1).expect("the index was built from this file");
    let numbers: Vec<i64> = (0..).take(records.len()).collect();
    let fetch = |index: &Index| {
        index
            .fetch_records(&numbers, 1)
            .map(|batch| of_batch(&batch))
    };
    assert!(fetch(&index).is_ok_and(|found| found == records));
    let letters: usize = records.iter().map(|record| record.1.len()).sum();
    assert_eq!(index.residue_count(), letters as u64);
    let Ok(fai) = index.fai_lines(0..index.len(), &mut HashSet::new()) else {
        return;
    };
    let gzi = index.gzi_bytes();
    let gzi = gzi.as_deref().map(|bytes| (Path::new("gzi"), bytes));
    if let Ok(index) = Index::open_with_fai(path, (Path::new("fai"), &fai), gzi) {
        assert!(fetch(&index).is_ok_and(|found| found == records), "by .fai");
    }
}

/// Opens a file with an arbitrary `.fai`.
fn open_by_table(path: &Path, table: &[u8]) {
    let Ok(index) = Index::open_with_fai(path, (Path::new("fai"), table), None) else {
        return;
    };
    let (first, last) = ([0, -1], [1, 2]);
    let _ = (
        index.fetch_records(&first, 1),
        index.fetch_headers(&first),
        index.find_by_id(b"a"),
    );
    let _ = index.fetch_intervals(&first, (&[0, 1], &last), 1);
    let _ = index.fai_lines(0..3, &mut HashSet::new());
}
