//! Tests of gzip headers with every optional field of RFC 1952.

use super::visited_text::visited_text;
use super::*;

const TEXT_FLAG: u8 = 1;
const CHECKSUM_FLAG: u8 = 2;
const EXTRA_FLAG: u8 = 4;
const NAME_FLAG: u8 = 8;
const COMMENT_FLAG: u8 = 16;
/// The optional fields of a gzip header, in order.
const HEADER_FIELDS: [(u8, &[u8]); 3] = [
    (EXTRA_FLAG, b"\x07\0ab\x03\0\0xy"),
    (NAME_FLAG, b"reads.fa\0"),
    (COMMENT_FLAG, b"of the second lane\0"),
];

/// Returns a gzip header with these flags and the fields that they announce.
fn gzip_header(flags: u8) -> Vec<u8> {
    let mut header = vec![0x1F, 0x8B, 8, flags, 1, 2, 3, 4, 0, 255];
    for (flag, field) in HEADER_FIELDS {
        if flags & flag != 0 {
            header.extend_from_slice(field);
        }
    }
    if flags & CHECKSUM_FLAG != 0 {
        let sum = crc32fast::hash(&header).to_le_bytes();
        header.extend_from_slice(&sum[..2]);
    }
    header
}

/// Returns a gzip member whose header is replaced.
fn gzip_member(header: &[u8], text: &[u8]) -> Vec<u8> {
    [header, &gzip_bytes(text)[10..]].concat()
}

/// Returns the results of all readers: in one thread, with small reads, in several
/// threads, and for an index.
fn results_of_all_readers(file: &[u8]) -> [Result<Vec<u8>, ReadError>; 4] {
    let read = |piece, count| {
        let (text, outcome) = read_all_text(
            input_with_small_reads(file, piece),
            &options_with_threads(count),
        );
        outcome.map(|()| text)
    };
    [
        read(usize::MAX, 1),
        read(1, 1),
        read(usize::MAX, 3),
        visited_text(file),
    ]
}

#[test]
fn every_combination_of_gzip_header_fields_is_read() {
    for flags in 0..32 {
        let second = gzip_header(flags ^ TEXT_FLAG);
        let file = [
            gzip_member(&gzip_header(flags), &SAMPLE_FASTA[..13]),
            gzip_member(&second, &SAMPLE_FASTA[13..]),
        ]
        .concat();
        for read in results_of_all_readers(&file) {
            assert_eq!(read.unwrap(), SAMPLE_FASTA, "{flags}");
        }
    }
}

#[test]
fn several_threads_read_a_long_text_after_every_combination_of_fields() {
    let text = random_bases(700_000);
    for flags in 0..32 {
        let file = gzip_member(&gzip_header(flags), &text);
        let (found, outcome) = read_all_text(
            input_with_small_reads(&file, usize::MAX),
            &options_with_threads(3),
        );
        assert!(outcome.is_ok() && found == text, "{flags}");
    }
}

#[test]
fn a_header_whose_checksum_does_not_match_is_an_error() {
    for flags in (0..32).filter(|flags| flags & CHECKSUM_FLAG != 0) {
        let right = gzip_header(flags);
        for bit in 0..16 {
            let mut wrong = right.clone();
            wrong[right.len() - 2 + bit / 8] ^= 1 << (bit % 8);
            for file in [
                gzip_member(&wrong, SAMPLE_FASTA),
                [gzip_bytes(SAMPLE_FASTA), gzip_member(&wrong, SAMPLE_FASTA)].concat(),
            ] {
                assert!(
                    results_of_all_readers(&file).iter().all(Result::is_err),
                    "{flags} {bit}"
                );
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_a_header_with_a_checksum_is_an_error() {
    for flags in (0..32).filter(|flags| flags & CHECKSUM_FLAG != 0) {
        let right = gzip_header(flags);
        // If the flag for the checksum is not set, the two bytes of the checksum are
        // read as data.
        let flag_bit = 8 * 3 + 1;
        for bit in (8 * 2..8 * right.len()).filter(|bit| *bit != flag_bit) {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let file = gzip_member(&wrong, SAMPLE_FASTA);
            assert!(
                results_of_all_readers(&file).iter().all(Result::is_err),
                "{flags} {bit}"
            );
        }
    }
}

#[test]
fn a_header_truncated_at_any_byte_is_an_error() {
    for flags in 0..32 {
        let header = gzip_header(flags);
        for end in 2..header.len() {
            let read = results_of_all_readers(&header[..end]);
            assert!(read.iter().all(Result::is_err), "{flags} {end}");
        }
    }
}

#[test]
fn reserved_flags_of_a_gzip_header_are_an_error() {
    for flag in [32, 64, 128] {
        let file = gzip_member(&gzip_header(flag), SAMPLE_FASTA);
        assert!(
            results_of_all_readers(&file).iter().all(Result::is_err),
            "{flag}"
        );
    }
}
