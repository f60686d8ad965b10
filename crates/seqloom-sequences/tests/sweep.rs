//! Tests with small files that are truncated at every byte, or in which one bit is
//! flipped.

mod support;

use std::ffi::OsStr;
use std::path::Path;

use sirocco::{Format, compress, deflate::Level};
use support::{RecordBytes, files, read};

/// FASTQ records in many forms: with four or more lines, empty, long, and with a
/// quality line that looks like a header.
const READS: &[u8] = b"@J1 JJ\nACGTACGTAC\n+\nJJ@J**+IJ\x7e\n@b\nAC\nGT\n+b\n@@\n@J\n@c\n\n+\n\n\
    @J1:2:3 4*J\nNNACGTNNACGTNNACGTNNACGTNNACGTNNACGTNNACGT\n+J1:2:3 4*J\n\
    @JJJJJJJJJIIIIIIIIIIIIIIIIIIIIIIIIIIIII*J*\n@d\nJJ\n+\n@@\n";
const CRLF: &[u8] = b"@a\r\nACGT\r\n+\r\nJJJ@\r\n@b\r\nAC\r\n+b\r\n@J\r\n";
const SEQUENCES: &[u8] = b">J1 JJ\nACGTACGTAC\nACG\n>b\n>c *J\nMKV*\n>d\nACGTACGTACGTACGT\n";

/// Returns small uncompressed FASTQ files: a file written for this test and, if
/// available, real files.
fn small_reads() -> Vec<(String, Vec<u8>)> {
    let real = files("fastx/quality").into_iter().filter(|(name, file)| {
        Path::new(name).extension() == Some(OsStr::new("fastq"))
            && file.len() < 1000
            && !file.contains(&b'\r')
            && read(file).is_ok()
    });
    let fixed = [("reads".to_owned(), READS.to_vec())];
    fixed.into_iter().chain(real.take(12)).collect()
}

fn flip_each_bit(file: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..8 * file.len()).map(|bit| {
        let mut second = file.to_vec();
        second[bit / 8] ^= 1 << (bit % 8);
        (bit, second)
    })
}

/// Returns the number of characters that differ between two lists of records, or `None`
/// if any lengths differ.
fn differences(first: &[RecordBytes], second: &[RecordBytes]) -> Option<usize> {
    let count = |first: &[u8], second: &[u8]| {
        let pairs = first.iter().zip(second);
        (first.len() == second.len()).then(|| pairs.filter(|(a, b)| a != b).count())
    };
    if first.len() != second.len() {
        return None;
    }
    first.iter().zip(second).try_fold(0, |sum, (a, b)| {
        Some(sum + count(&a.0, &b.0)? + count(&a.1, &b.1)? + count(&a.2, &b.2)?)
    })
}

#[test]
fn a_flipped_bit_of_plain_fastq_is_an_error_or_changes_one_character() {
    for (name, file) in small_reads() {
        let expected = read(&file).unwrap();
        for (bit, second) in flip_each_bit(&file) {
            if let Ok(found) = read(&second) {
                let count = differences(&expected, &found);
                assert!(count.is_some_and(|count| count <= 1), "{name}, bit {bit}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_fastq_with_carriage_returns_changes_or_adds_one_character() {
    let expected = read(CRLF).unwrap();
    for (bit, second) in flip_each_bit(CRLF) {
        if let Ok(mut found) = read(&second) {
            // If the flipped byte is the carriage return at the end of a header, the
            // byte becomes part of the header.
            let is_return = CRLF[bit / 8] == b'\r';
            for (record, expected) in found.iter_mut().zip(&expected).filter(|_| is_return) {
                record.0.truncate(expected.0.len());
            }
            let count = differences(&expected, &found);
            assert!(count.is_some_and(|count| count <= 1), "bit {bit}");
        }
    }
}

#[test]
fn truncated_fastq_is_an_error_or_contains_whole_records() {
    let reads = small_reads()
        .into_iter()
        .chain([("crlf".into(), CRLF.to_vec())]);
    for (name, file) in reads {
        let expected = read(&file).unwrap();
        for end in 0..file.len() {
            if let Ok(found) = read(&file[..end]) {
                assert_eq!(found, expected[..found.len()], "{name}, truncated at {end}");
            }
        }
    }
}

/// Returns compressed files: files written for this test and, if available, real files.
fn compressed_files() -> Vec<(String, Vec<u8>)> {
    let fixed = [READS, CRLF, SEQUENCES].into_iter().flat_map(|text| {
        [Level::NONE, Level::DEFAULT].map(|level| compress(Format::Gzip, level, text))
    });
    let real = files("fastx/quality")
        .into_iter()
        .filter(|(name, file)| (name.ends_with("gz")) && file.len() < 1500);
    fixed
        .map(|file| ("own".to_owned(), file))
        .chain(real)
        .collect()
}

#[test]
fn a_flipped_bit_of_a_compressed_file_is_an_error_or_harmless() {
    for (name, file) in compressed_files() {
        let expected = read(&file).unwrap();
        for (bit, second) in flip_each_bit(&file) {
            if let Ok(found) = read(&second) {
                assert_eq!(found, expected, "{name}, bit {bit}");
            }
        }
    }
}

#[test]
fn a_truncated_compressed_file_is_an_error() {
    for (name, file) in compressed_files() {
        for end in 0..file.len() {
            assert!(read(&file[..end]).is_err(), "{name}, truncated at {end}");
        }
    }
}
