//! Compares the headers of paired-end reads.
//!
//! Only the ids of two headers are compared. The id is the first word of a header. Old
//! Illumina software marks the mates in the id (`/1` and `/2`); newer software marks
//! them in the description (`1:N:0:ATCACG`), which is ignored. `fastq-dump -I` writes
//! `.1` and `.2`, and other programs write `_1` and `_2`.

use seqloom_core::Ragged;

/// Returns the index of the first pair of headers that belong to different fragments.
pub fn find_mismatch(first: &Ragged<'_>, second: &Ragged<'_>) -> Option<usize> {
    let mut pairs = first.iter().zip(second.iter());
    pairs.position(|(first, second)| !are_mates(first, second))
}

/// Returns true if two headers belong to mates: their ids may differ only in the mate
/// number.
///
/// The mate numbers are `.1` and `.2`, `_1` and `_2`, or `/1` and a higher number. (The
/// second read is `/3` if `/2` is the index read.)
pub fn are_mates(first: &[u8], second: &[u8]) -> bool {
    match (header_id(first), header_id(second)) {
        ([first_id @ .., b'/', end], [second_id @ .., b'/', mate])
            if is_mate_number(*end) && is_mate_number(*mate) =>
        {
            first_id == second_id && end < mate
        }
        // After a dot or an underscore, only the numbers 1 and 2 are mate numbers,
        // because `.2` and `.3` may be the numbers of two different records.
        ([first_id @ .., mark @ (b'.' | b'_'), b'1'], [second_id @ .., same, b'2']) => {
            mark == same && first_id == second_id
        }
        (first_id, second_id) => first_id == second_id,
    }
}

/// Returns the first word of a header, after any blanks.
pub fn header_id(header: &[u8]) -> &[u8] {
    let start = header.iter().position(|byte| !is_blank(*byte));
    let (_, header) = header.split_at(start.unwrap_or(header.len()));
    let end = header.iter().position(|byte| is_blank(*byte));
    let (id, _) = header.split_at(end.unwrap_or(header.len()));
    id
}

/// Returns true if Python's `bytes.split` splits at this byte.
pub(crate) const fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

fn is_mate_number(letter: u8) -> bool {
    matches!(letter, b'1'..=b'3')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_have_the_same_id_and_any_description() {
        for (first, second) in [
            ("r1", "r1"),
            ("r1/1", "r1/2"),
            ("r1/1", "r1/3"),
            ("r1/1 length=4", "r1/2\tx"),
            ("M1:7:1 1:N:0:AC", "M1:7:1 2:N:0:AC"),
            ("a/9", "a/9"),
            ("r1/5", "r1/5"),
            ("SRR1.7.1", "SRR1.7.2"),
            ("SRR1.7.1 length=4", "SRR1.7.2 length=5"),
            ("r_1", "r_2"),
            ("r.1", "r.1"),
            ("r_3", "r_3"),
        ] {
            assert!(are_mates(first.as_bytes(), second.as_bytes()), "{first}");
        }
    }

    #[test]
    fn different_ids_and_equal_mate_numbers_are_not_mates() {
        for (first, second) in [
            ("r1", "r2"),
            ("r1/1", "r2/2"),
            ("r1/2", "r1/1"),
            ("r1/1", "r1/1"),
            ("r1/1", "r1"),
            ("r1", "r10"),
            ("r1/4", "r1/5"),
            ("r.2", "r.1"),
            ("r.2", "r.3"),
            ("r.1", "r.3"),
            ("r_2", "r_1"),
            ("r.1", "r_2"),
            ("r.1", "s.2"),
            ("r.11", "r.12"),
            ("r.1", "r"),
            ("r1", "r2"),
            ("", "a"),
        ] {
            assert!(!are_mates(first.as_bytes(), second.as_bytes()), "{first}");
        }
    }

    #[test]
    fn the_first_mismatch_is_found() {
        let first = Ragged::new(b"a/1b/1c/1", &[0, 3, 6, 9]).unwrap();
        let second = Ragged::new(b"a/2b/2d/2", &[0, 3, 6, 9]).unwrap();
        assert_eq!(find_mismatch(&first, &second), Some(2));
        assert_eq!(
            find_mismatch(&first, &Ragged::new(b"a/2b/2", &[0, 3, 6]).unwrap()),
            None
        );
    }
}
