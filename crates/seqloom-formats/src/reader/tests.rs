use std::io::Cursor;
use std::path::Path;

use seqloom_core::{Error, Result};
use sirocco::{Format, compress, deflate::Level};

use super::Reader;
use crate::batch::Batch;
use crate::input::Input;

const TEXT: &[u8] = b">a one\nACGT\nAC\n>b\nGG\n>c\n\n>d\nTTTTT\n";

fn open(file: &[u8]) -> Result<Reader> {
    let input = Input::new(Box::new(Cursor::new(file.to_vec())));
    Reader::new(Path::new("x.fa"), input)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    compress(Format::Gzip, Level::DEFAULT, text)
}

/// All batches up to the end, or the error.
fn read(file: &[u8], max_records: usize, max_bytes: usize) -> Result<Vec<Batch>> {
    let mut reader = open(file)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.read(max_records, max_bytes)? {
        batches.push(batch);
    }
    Ok(batches)
}

fn all(file: &[u8]) -> Result<Batch> {
    Ok(read(file, usize::MAX, usize::MAX)?.remove(0))
}

fn message(file: &[u8]) -> String {
    all(file).unwrap_err().to_string()
}

#[test]
fn a_batch_is_columns() {
    let batch = all(TEXT).unwrap();
    assert_eq!(batch.data, b"ACGTACGGTTTTT");
    assert_eq!(batch.offsets, [0, 6, 8, 8, 13]);
    assert_eq!(batch.headers, b"a onebcd");
    assert_eq!(batch.header_offsets, [0, 5, 6, 7, 8]);
}

#[test]
fn batches_are_whole_records_up_to_the_limits() {
    let lengths = |batches: Vec<Batch>| batches.iter().map(Batch::len).collect::<Vec<_>>();
    assert_eq!(lengths(read(TEXT, 3, usize::MAX).unwrap()), [3, 1]);
    assert_eq!(lengths(read(TEXT, 9, 7).unwrap()), [2, 2]);
    assert_eq!(lengths(read(TEXT, 9, 1).unwrap()), [1, 1, 2]);
}

#[test]
fn the_limits_must_be_at_least_one() {
    assert!(matches!(
        open(TEXT).unwrap().read(0, 1),
        Err(Error::Argument { .. })
    ));
}

#[test]
fn after_the_end_there_is_nothing_however_often_one_asks() {
    let mut reader = open(TEXT).unwrap();
    assert!(reader.read(9, 99).unwrap().is_some());
    assert!(reader.read(9, 99).unwrap().is_none());
    assert!(reader.read(9, 99).unwrap().is_none());
}

#[test]
fn records_before_a_fault_come_first_and_the_fault_stays() {
    let mut reader = open(b">a\nAC\n>b\nA C\n").unwrap();
    let batch = reader.read(9, 99).unwrap().unwrap();
    assert_eq!((batch.data, batch.headers), (b"AC".to_vec(), b"a".to_vec()));
    for _ in 0..2 {
        let error = reader.read(9, 99).unwrap_err().to_string();
        assert_eq!(
            error,
            "x.fa: record 1 (b), line 4, byte 10: expected a letter, found a space"
        );
    }
}

#[test]
fn a_fault_in_a_header_leaves_the_records_before_it_whole() {
    let mut reader = open(b">a\nAC\n>\nAC\n").unwrap();
    assert_eq!(reader.read(9, 99).unwrap().unwrap().len(), 1);
    assert!(reader.read(9, 99).is_err());
}

#[test]
fn an_empty_file_is_an_error_packed_or_not() {
    assert_eq!(message(b""), "x.fa: the file is empty, expected FASTA");
    assert_eq!(
        message(&gzip(b"")),
        "x.fa: the file is empty, expected FASTA"
    );
}

#[test]
fn a_gzip_cut_at_any_byte_is_an_error() {
    let file = gzip(TEXT);
    for end in 0..file.len() {
        assert!(
            all(&file[..end]).is_err() || read(&file[..end], 1, 1).is_err(),
            "{end}"
        );
    }
}

#[test]
fn damage_that_shows_as_bad_text_is_called_damage() {
    // Stored, not deflated, so that a byte of the file is a byte of the text.
    let mut file = compress(Format::Gzip, Level::NONE, TEXT);
    let at = file.windows(4).position(|four| four == b"ACGT").unwrap();
    file[at] = b' ';
    let error = message(&file);
    assert!(error.contains("the gzip data is damaged"), "{error}");
}

#[test]
fn the_same_text_gives_the_same_batch_from_every_container() {
    assert_eq!(all(TEXT).unwrap(), all(&gzip(TEXT)).unwrap());
}
