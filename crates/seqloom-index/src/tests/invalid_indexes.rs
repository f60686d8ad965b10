//! Tests of index files with valid checksums but invalid numbers.

use std::io::Cursor;

use seqloom_compression::Compression;
use seqloom_compression::checksum::hash_64;
use seqloom_compression::disk::DiskFile;
use seqloom_compression::seekable::Span;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::*;
use crate::file_changes::{hash_chunks, source_stamp};
use crate::header::{HEADER_BYTES, IndexHeader};
use crate::id_column::ID_ENTRY_BYTES;
use crate::write::{FileSummary, IndexWriter};

const FASTA_TEXT: &[u8] = b">a\nACGT\n>b\nAC\n";

/// Returns an index of a file with the given rows and text length.
fn index_with_rows(file: &Path, rows: &[IndexRow], text: u64, container: AccessPoints) -> Vec<u8> {
    let disk = DiskFile::open(file).unwrap();
    let chunks = hash_chunks(&disk, &BuildOptions::default()).unwrap();
    let mut writer = IndexWriter::new(Cursor::new(Vec::new()), true).unwrap();
    for row in rows {
        writer.write_row(*row, hash_64(b"a")).unwrap();
    }
    let compression = match &container {
        AccessPoints::Gzip(_) => Compression::Gzip,
        _ => Compression::None,
    };
    let whole = FileSummary {
        format: seqloom_sequences::options::Format::Fasta,
        compression,
        source: source_stamp(&disk, &chunks),
        text,
        container,
        windows: vec![Vec::new()],
        chunks,
    };
    writer.write_tables(whole).unwrap().into_inner()
}

fn record_row(begin: u64, size: u64) -> IndexRow {
    IndexRow {
        begin,
        size,
        length: 1,
        header: 3,
        ..IndexRow::default()
    }
}

fn error_message(file: &Path, bytes: Vec<u8>) -> String {
    let opened = Index::from_bytes(file, bytes, 1);
    let found = opened.and_then(|(index, _)| {
        index.find_by_id(b"a")?;
        index.fetch_records(&[0, 1], 1)
    });
    found.unwrap_err().to_string()
}

#[test]
fn a_text_larger_than_its_file_is_an_error_before_allocation() {
    let (text, large) = (TemporaryFile::new(FASTA_TEXT), 1 << 45);
    let rows = [record_row(0, large - 9), record_row(large - 9, 9)];
    let plain = index_with_rows(&text.0, &rows, large, AccessPoints::Plain);
    assert!(error_message(&text.0, plain).contains("it is shorter"));
    let packed = TemporaryFile::new(&gzip_bytes(FASTA_TEXT));
    let span = Span {
        bit: 80,
        ..Span::default()
    };
    let gzip = index_with_rows(&packed.0, &rows, large, AccessPoints::Gzip(vec![span]));
    assert!(error_message(&packed.0, gzip).contains("it is shorter"));
}

#[test]
fn a_text_length_above_the_maximum_is_an_error() {
    let file = TemporaryFile::new(FASTA_TEXT);
    let bytes = index_with_rows(&file.0, &[record_row(0, 8)], u64::MAX, AccessPoints::Plain);
    assert!(error_message(&file.0, bytes).contains("truncated or corrupt"));
}

#[test]
fn positions_that_do_not_begin_at_the_start_of_the_text_are_errors() {
    let file = TemporaryFile::new(&gzip_bytes(FASTA_TEXT));
    let late = Span {
        bit: 80,
        text: 5,
        ..Span::default()
    };
    for spans in [vec![late], vec![]] {
        let bytes = index_with_rows(&file.0, &[record_row(0, 8)], 14, AccessPoints::Gzip(spans));
        assert!(error_message(&file.0, bytes).contains("position"));
    }
}

#[test]
fn rows_out_of_order_are_an_error() {
    let file = TemporaryFile::new(FASTA_TEXT);
    let bytes = index_with_rows(
        &file.0,
        &[record_row(8, 6), record_row(0, 4)],
        14,
        AccessPoints::Plain,
    );
    error_message(&file.0, bytes);
}

#[test]
fn an_id_entry_with_a_record_out_of_range_is_an_error() {
    let file = TemporaryFile::new(FASTA_TEXT);
    for number in [2, 1 << 58, u64::MAX] {
        let mut bytes = index_with_rows(
            &file.0,
            &[record_row(0, 8), record_row(8, 6)],
            14,
            AccessPoints::Plain,
        );
        let size = bytes.len() as u64;
        let names = IndexHeader::from_bytes(&bytes[..HEADER_BYTES], size)
            .unwrap()
            .names_at as usize;
        let (page, end) = (
            names..names + 2 * ID_ENTRY_BYTES,
            names + 2 * ID_ENTRY_BYTES,
        );
        bytes[names + 8..names + 16].copy_from_slice(&number.to_le_bytes());
        let own = xxh3_64_with_seed(&bytes[page], 0);
        bytes[end..end + 8].copy_from_slice(&own.to_le_bytes());
        assert!(error_message(&file.0, bytes).contains("a number in it"));
    }
}

#[test]
fn a_block_with_a_wrong_length_of_0_is_an_error() {
    let text = random_fasta(800);
    let mut packed = bgzip_bytes(&text);
    let second = 1 + usize::from(u16::from_le_bytes([packed[16], packed[17]]));
    packed[second - 4..second].fill(0);
    let file = TemporaryFile::new(&packed);
    let error = build_in_memory(&file.0, &BuildOptions::default()).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}
