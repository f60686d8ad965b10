//! Tests of the slow gzip reader that builds an index.

use super::*;
use crate::gzip_blocks::{BlockStart, Visitor, visit_blocks};

/// The text that the slow gzip reader returns.
#[derive(Default)]
struct VisitedText(Vec<u8>);

impl Visitor for VisitedText {
    fn is_useful_start(&self, _: u64) -> bool {
        false
    }

    fn visit_block_start(&mut self, _: &BlockStart<'_>) -> Result<(), ReadError> {
        Ok(())
    }

    fn visit_text(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.0.extend_from_slice(text);
        Ok(())
    }
}

pub(super) fn visited_text(file: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut found = VisitedText::default();
    visit_blocks(input_with_small_reads(file, usize::MAX), &mut found).map(|()| found.0)
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
            assert_eq!(visited_text(&file).unwrap(), text, "{size} characters");
        }
    }
}
