//! Tests of gzip headers with every optional field of RFC 1952.

use super::walked::walked;
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
fn header(flags: u8) -> Vec<u8> {
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
fn member(header: &[u8], text: &[u8]) -> Vec<u8> {
    [header, &gzip(text)[10..]].concat()
}

/// Returns the results of all readers: in one thread, with small reads, in several
/// threads, and for an index.
fn outcomes(file: &[u8]) -> [Result<Vec<u8>, Trouble>; 4] {
    let read = |piece, count| {
        let (text, outcome) = drain(source(file, piece), &threads(count));
        outcome.map(|()| text)
    };
    [
        read(usize::MAX, 1),
        read(1, 1),
        read(usize::MAX, 3),
        walked(file),
    ]
}

#[test]
fn every_combination_of_fields_is_read() {
    for flags in 0..32 {
        let second = header(flags ^ TEXT_FLAG);
        let file = [
            member(&header(flags), &SAMPLE[..13]),
            member(&second, &SAMPLE[13..]),
        ]
        .concat();
        for read in outcomes(&file) {
            assert_eq!(read.unwrap(), SAMPLE, "{flags}");
        }
    }
}

#[test]
fn several_threads_read_a_long_text_after_every_combination_of_fields() {
    let text = random_bases(700_000);
    for flags in 0..32 {
        let file = member(&header(flags), &text);
        let (found, outcome) = drain(source(&file, usize::MAX), &threads(3));
        assert!(outcome.is_ok() && found == text, "{flags}");
    }
}

#[test]
fn a_header_whose_checksum_does_not_match_is_an_error() {
    for flags in (0..32).filter(|flags| flags & CHECKSUM_FLAG != 0) {
        let right = header(flags);
        for bit in 0..16 {
            let mut wrong = right.clone();
            wrong[right.len() - 2 + bit / 8] ^= 1 << (bit % 8);
            for file in [
                member(&wrong, SAMPLE),
                [gzip(SAMPLE), member(&wrong, SAMPLE)].concat(),
            ] {
                assert!(outcomes(&file).iter().all(Result::is_err), "{flags} {bit}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_a_header_with_a_checksum_is_an_error() {
    for flags in (0..32).filter(|flags| flags & CHECKSUM_FLAG != 0) {
        let right = header(flags);
        // If the flag for the checksum is not set, the two bytes of the checksum are
        // read as data.
        let flag_bit = 8 * 3 + 1;
        for bit in (8 * 2..8 * right.len()).filter(|bit| *bit != flag_bit) {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let file = member(&wrong, SAMPLE);
            assert!(outcomes(&file).iter().all(Result::is_err), "{flags} {bit}");
        }
    }
}

#[test]
fn a_header_truncated_at_any_byte_is_an_error() {
    for flags in 0..32 {
        let header = header(flags);
        for end in 2..header.len() {
            let read = outcomes(&header[..end]);
            assert!(read.iter().all(Result::is_err), "{flags} {end}");
        }
    }
}

#[test]
fn reserved_flags_are_an_error() {
    for flag in [32, 64, 128] {
        let file = member(&header(flag), SAMPLE);
        assert!(outcomes(&file).iter().all(Result::is_err), "{flag}");
    }
}
