//! Whether two headers name the two ends of one fragment.
//!
//! What is compared is the id: the header's first word. Illumina wrote
//! the end into it (`/1` and `/2`), later into the comment behind the blank
//! (`1:N:0:ATCACG`), which is ignored. `fastq-dump -I` writes `.1` and
//! `.2`, and other programs `_1` and `_2`.

use seqloom_core::Ragged;

/// The first row whose two headers name different fragments.
pub fn mismatch(first: &Ragged<'_>, second: &Ragged<'_>) -> Option<usize> {
    let mut pairs = first.iter().zip(second.iter());
    pairs.position(|(one, other)| !are_mates(one, other))
}

/// Whether two headers have the same id, but for `/1` in the first and a later
/// number (`/2`, or `/3` where an index was read between) in the second; or for
/// `.1` and `.2`, or `_1` and `_2`.
pub fn are_mates(first: &[u8], second: &[u8]) -> bool {
    match (id(first), id(second)) {
        ([one @ .., b'/', end], [other @ .., b'/', mate]) if is_end(*end) && is_end(*mate) => {
            one == other && end < mate
        }
        // Records may be numbered in this way too, so no other numbers are ends: of
        // files that are one record apart, the second pair is none.
        ([one @ .., mark @ (b'.' | b'_'), b'1'], [other @ .., same, b'2']) => {
            mark == same && one == other
        }
        (one, other) => one == other,
    }
}

/// The first word of a header; blanks in front are left out.
pub fn id(header: &[u8]) -> &[u8] {
    let start = header.iter().position(|byte| !is_blank(*byte));
    let (_, header) = header.split_at(start.unwrap_or(header.len()));
    let end = header.iter().position(|byte| is_blank(*byte));
    let (id, _) = header.split_at(end.unwrap_or(header.len()));
    id
}

/// What Python's `bytes.split` splits at.
pub(crate) const fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

fn is_end(letter: u8) -> bool {
    matches!(letter, b'1'..=b'3')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mates_have_one_id_whatever_their_comments_say() {
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
    fn other_ids_or_the_same_end_twice_are_no_mates() {
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
        let one = Ragged::new(b"a/1b/1c/1", &[0, 3, 6, 9]).unwrap();
        let other = Ragged::new(b"a/2b/2d/2", &[0, 3, 6, 9]).unwrap();
        assert_eq!(mismatch(&one, &other), Some(2));
        assert_eq!(
            mismatch(&one, &Ragged::new(b"a/2b/2", &[0, 3, 6]).unwrap()),
            None
        );
    }
}
