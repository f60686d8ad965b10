//! Tests of the slow gzip reader that builds an index.

use super::*;
use crate::walk::{BlockStart, Visitor, walk};

/// The text that the slow gzip reader returns.
#[derive(Default)]
struct Walked(Vec<u8>);

impl Visitor for Walked {
    fn is_useful_start(&self, _: u64) -> bool {
        false
    }

    fn block_start(&mut self, _: &BlockStart<'_>) -> Result<(), Trouble> {
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Trouble> {
        self.0.extend_from_slice(text);
        Ok(())
    }
}

pub(super) fn walked(file: &[u8]) -> Result<Vec<u8>, Trouble> {
    let mut found = Walked::default();
    walk(source(file, usize::MAX), &mut found).map(|()| found.0)
}

/// Returns random characters of an alphabet with `size` characters. The Huffman codes
/// of the characters have many different lengths.
fn random_text(count: usize, size: u32) -> Vec<u8> {
    let mut state = size;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Half of the characters are chosen from a small range of the alphabet.
        let most = if state >> 31 == 0 { size } else { size.isqrt() };
        ((state >> 8) % most).to_le_bytes()[0]
    };
    (0..count).map(|_| letter()).collect()
}

#[test]
fn texts_with_any_huffman_codes_are_decompressed() {
    for size in 1..=256 {
        let text = random_text(3000, size);
        for level in [Level::NONE, Level::FASTEST, Level::DEFAULT, Level::BEST] {
            let file = compress(Format::Gzip, level, &text);
            assert_eq!(walked(&file).unwrap(), text, "{size} characters");
        }
    }
}
