//! Every cut and every flipped bit of small files.

mod support;

use std::ffi::OsStr;
use std::path::Path;

use sirocco::{Format, compress, deflate::Level};
use support::{RecordBytes, files, read};

/// Four lines, several lines, empty, long; a quality that looks like a header.
const READS: &[u8] = b"@J1 JJ\nACGTACGTAC\n+\nJJ@J**+IJ\x7e\n@b\nAC\nGT\n+b\n@@\n@J\n@c\n\n+\n\n\
    @J1:2:3 4*J\nNNACGTNNACGTNNACGTNNACGTNNACGTNNACGTNNACGT\n+J1:2:3 4*J\n\
    @JJJJJJJJJIIIIIIIIIIIIIIIIIIIIIIIIIIIII*J*\n@d\nJJ\n+\n@@\n";
const CRLF: &[u8] = b"@a\r\nACGT\r\n+\r\nJJJ@\r\n@b\r\nAC\r\n+b\r\n@J\r\n";
const SEQUENCES: &[u8] = b">J1 JJ\nACGTACGTAC\nACG\n>b\n>c *J\nMKV*\n>d\nACGTACGTACGTACGT\n";

/// Small files of plain FASTQ: our own, and real ones where they are.
fn small_reads() -> Vec<(String, Vec<u8>)> {
    let real = files("fastx/quality").into_iter().filter(|(name, file)| {
        Path::new(name).extension() == Some(OsStr::new("fastq"))
            && file.len() < 1000
            && !file.contains(&b'\r')
            && read(file).is_ok()
    });
    let own = [("reads".to_owned(), READS.to_vec())];
    own.into_iter().chain(real.take(12)).collect()
}

fn flipped(file: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..8 * file.len()).map(|bit| {
        let mut other = file.to_vec();
        other[bit / 8] ^= 1 << (bit % 8);
        (bit, other)
    })
}

/// How many characters differ between records that have the same shape.
fn differences(some: &[RecordBytes], other: &[RecordBytes]) -> Option<usize> {
    let count = |some: &[u8], other: &[u8]| {
        let pairs = some.iter().zip(other);
        (some.len() == other.len()).then(|| pairs.filter(|(a, b)| a != b).count())
    };
    if some.len() != other.len() {
        return None;
    }
    some.iter().zip(other).try_fold(0, |sum, (a, b)| {
        Some(sum + count(&a.0, &b.0)? + count(&a.1, &b.1)? + count(&a.2, &b.2)?)
    })
}

#[test]
fn a_flipped_bit_of_plain_fastq_is_an_error_or_changes_one_character() {
    for (name, file) in small_reads() {
        let right = read(&file).unwrap();
        for (bit, other) in flipped(&file) {
            if let Ok(found) = read(&other) {
                let count = differences(&right, &found);
                assert!(count.is_some_and(|count| count <= 1), "{name}, bit {bit}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_lines_with_carriage_returns_changes_one_character_or_adds_it() {
    let right = read(CRLF).unwrap();
    for (bit, other) in flipped(CRLF) {
        if let Ok(mut found) = read(&other) {
            // A carriage return behind a header may become a character of it.
            let is_return = CRLF[bit / 8] == b'\r';
            for (record, right) in found.iter_mut().zip(&right).filter(|_| is_return) {
                record.0.truncate(right.0.len());
            }
            let count = differences(&right, &found);
            assert!(count.is_some_and(|count| count <= 1), "bit {bit}");
        }
    }
}

#[test]
fn a_cut_of_plain_fastq_is_an_error_or_leaves_whole_records() {
    let reads = small_reads()
        .into_iter()
        .chain([("crlf".into(), CRLF.to_vec())]);
    for (name, file) in reads {
        let right = read(&file).unwrap();
        for end in 0..file.len() {
            if let Ok(found) = read(&file[..end]) {
                assert_eq!(found, right[..found.len()], "{name}, cut at {end}");
            }
        }
    }
}

/// Compressed files: our own, and real ones where they are.
fn packed() -> Vec<(String, Vec<u8>)> {
    let own = [READS, CRLF, SEQUENCES].into_iter().flat_map(|text| {
        [Level::NONE, Level::DEFAULT].map(|level| compress(Format::Gzip, level, text))
    });
    let real = files("fastx/quality")
        .into_iter()
        .filter(|(name, file)| (name.ends_with("gz")) && file.len() < 1500);
    own.map(|file| ("own".to_owned(), file))
        .chain(real)
        .collect()
}

#[test]
fn a_flipped_bit_of_a_compressed_file_is_an_error_or_harmless() {
    for (name, file) in packed() {
        let right = read(&file).unwrap();
        for (bit, other) in flipped(&file) {
            if let Ok(found) = read(&other) {
                assert_eq!(found, right, "{name}, bit {bit}");
            }
        }
    }
}

#[test]
fn a_cut_of_a_compressed_file_is_an_error() {
    for (name, file) in packed() {
        for end in 0..file.len() {
            assert!(read(&file[..end]).is_err(), "{name}, cut at {end}");
        }
    }
}
