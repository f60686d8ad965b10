//! What is inflated from anywhere is what a decoder for all files gives.

use proptest::prelude::*;
use sirocco::deflate::Level;
use sirocco::{Format, compress};

use super::*;
use crate::walk::WINDOW;

/// Text with long and short repeats, among letters that chance gives.
fn text(letters: usize, kinds: u64, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut text: Vec<u8> = Vec::new();
    while text.len() < letters {
        let size = usize::try_from(next() % 300).unwrap();
        let back = usize::try_from(next() % 40_000).unwrap();
        if next() % 3 == 0 && back > 0 && back <= text.len() {
            let start = text.len() - back;
            for position in start..start + size {
                text.push(text[position]);
            }
        } else {
            text.extend((0..size).map(|_| b'A' + u8::try_from(next() % kinds).unwrap()));
        }
    }
    text
}

fn padded(packed: &[u8]) -> Vec<u8> {
    [packed, &[0xA5; PADDING]].concat()
}

/// Inflates a file from its beginning, by as many steps as borders need.
fn inflate_all(packed: &[u8]) -> Option<Vec<u8>> {
    let bytes = padded(packed);
    let mut bit = Inflater::first_block(&bytes)?;
    let mut inflater = Inflater::new();
    inflater.begin_behind(&[], 1000);
    loop {
        match inflater.inflate(&bytes, &mut bit, usize::MAX, true) {
            Ok(Stopped::AtEnd) => break,
            Err(Stop::Full) => inflater.grow(2 * inflater.room()),
            _ => return None,
        }
    }
    let mut out = Vec::new();
    resolve(inflater.text(), &[], &mut out).then_some(out)
}

/// All blocks that a search finds, one behind the other.
fn found(bytes: &[u8]) -> Vec<usize> {
    let mut at = 0;
    std::iter::from_fn(|| {
        let bit = find(bytes, at..bytes.len() * 8)?;
        at = bit + 1;
        Some(bit)
    })
    .collect()
}

#[test]
fn a_file_of_any_level_gives_its_text() {
    for level in 0..=9 {
        let text = text(700_000, 20, 5);
        let packed = compress(Format::Gzip, Level::new(level), &text);
        assert!(inflate_all(&packed).unwrap() == text, "level {level}");
    }
}

#[test]
fn text_of_few_bytes_and_of_none_is_inflated() {
    for text in [&b""[..], b"A", b"ACGT", &b"A".repeat(100_000)[..]] {
        for level in [0, 1, 6, 9] {
            let packed = compress(Format::Gzip, Level::new(level), text);
            assert_eq!(inflate_all(&packed).as_deref(), Some(text));
        }
    }
}

#[test]
fn text_behind_a_block_that_was_found_is_the_same_once_the_window_is_put_in() {
    let text = text(3_000_000, 4, 11);
    let packed = compress(Format::Gzip, Level::new(6), &text);
    let bytes = padded(&packed);
    let mut inflater = Inflater::new();
    let mut count = 0;
    for start in found(&bytes) {
        let mut bit = start;
        inflater.begin_anywhere(4_000_000);
        let Ok(Stopped::AtEnd) = inflater.inflate(&bytes, &mut bit, usize::MAX, true) else {
            continue;
        };
        let begin = text.len() - inflater.text().len();
        let window = &text[begin.saturating_sub(WINDOW)..begin];
        let mut out = Vec::new();
        assert!(resolve(inflater.text(), window, &mut out));
        assert!(out == text[begin..]);
        count += 1;
    }
    assert!(count > 5, "{count}");
}

#[test]
fn every_border_of_blocks_with_codes_of_their_own_is_found() {
    let text = text(3_000_000, 20, 3);
    let packed = compress(Format::Gzip, Level::new(6), &text);
    let bytes = padded(&packed);
    let mut bit = Inflater::first_block(&bytes).unwrap();
    let all = found(&bytes);
    let mut inflater = Inflater::new();
    inflater.begin_behind(&[], 4_000_000);
    let mut count = 0;
    loop {
        let stop = bit + 1;
        match inflater.inflate(&bytes, &mut bit, stop, true) {
            Ok(Stopped::Before(next)) => assert!(all.contains(&next)),
            _ => break,
        }
        count += 1;
    }
    assert!(count > 5, "{count}");
}

#[test]
fn what_refers_to_before_the_beginning_is_unusual() {
    let text = text(1_000_000, 4, 9);
    let packed = compress(Format::Gzip, Level::new(6), &text);
    let bytes = padded(&packed);
    let start = *found(&bytes).iter().find(|bit| **bit > 1000).unwrap();
    let mut bit = start;
    let mut inflater = Inflater::new();
    inflater.begin_behind(b"ACGT", 1_000_000);
    assert_eq!(
        inflater.inflate(&bytes, &mut bit, usize::MAX, true),
        Err(Stop::Unusual)
    );
}

#[test]
fn a_cut_file_is_cut() {
    let text = text(100_000, 20, 1);
    let packed = compress(Format::Gzip, Level::new(6), &text);
    for cut in [1, 8, 9, 100, packed.len() / 2] {
        let bytes = padded(&packed[..packed.len() - cut]);
        let mut bit = Inflater::first_block(&bytes).unwrap();
        let mut inflater = Inflater::new();
        inflater.begin_behind(&[], 1_000_000);
        let stopped = inflater.inflate(&bytes, &mut bit, usize::MAX, true);
        assert_eq!(stopped, Err(Stop::Cut), "{cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_text_of_any_level_is_inflated(
        letters in 0..200_000_usize,
        kinds in 1..26_u64,
        seed in any::<u64>(),
        level in 0..10_u8,
    ) {
        let text = text(letters, kinds, seed);
        let packed = compress(Format::Gzip, Level::new(level), &text);
        prop_assert!(inflate_all(&packed) == Some(text));
    }

    #[test]
    fn what_a_changed_bit_makes_is_inflated_as_by_others_or_not_at_all(
        seed in any::<u64>(),
        position in 10..4000_usize,
        bit in 0..8_u32,
    ) {
        let mut packed = compress(Format::Deflate, Level::new(6), &text(30_000, 10, seed));
        let position = position % packed.len();
        packed[position] ^= 1 << bit;
        let head = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0];
        let whole = [&head[..], &packed, &[0; 8]].concat();
        if let Some(found) = inflate_all(&whole) {
            let wanted = sirocco::decompress(Format::Deflate, &packed, 1 << 24);
            prop_assert!(wanted.is_ok_and(|wanted| wanted == found));
        }
    }

    #[test]
    fn any_bytes_end_somehow(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let bytes = padded(&bytes);
        let mut inflater = Inflater::new();
        for start in found(&bytes).into_iter().chain([0, 1, 2]) {
            let mut bit = start;
            inflater.begin_anywhere(1 << 20);
            prop_assert!(inflater.inflate(&bytes, &mut bit, usize::MAX, true) != Ok(Stopped::Before(bit)));
        }
    }
}
