//! The text of a file of which nothing is known is the text from the beginning.

use std::path::Path;

use proptest::prelude::*;
use sirocco::deflate::Level;

use super::super::guessed::Guessed;
use super::super::guessing_pays;
use super::super::reader::Parallel;
use super::samples::{Packed, drain, fasta, from_the_beginning, members, threads_of};
use crate::input::Input;

/// All text, unpacked by pieces of this size; how many were given that way is said too.
fn by_guess(path: &Path, threads: usize, piece: u64) -> Option<(Vec<u8>, Option<String>)> {
    let guessed = Guessed::open(path, piece)?;
    let input = Input::open(path).unwrap();
    let mut text = Parallel::new(guessed, 2 * threads, Some(input), threads_of(threads));
    Some(drain(&mut text))
}

/// All text; none if it was begun again from the beginning.
fn by_guess_alone(path: &Path, threads: usize, piece: u64) -> Option<Vec<u8>> {
    let guessed = Guessed::open(path, piece)?;
    let mut text = Parallel::new(guessed, 2 * threads, None, threads_of(threads));
    let (text, fault) = drain(&mut text);
    fault.is_none().then_some(text)
}

fn pack(text: &[u8], level: u8) -> Vec<u8> {
    sirocco::compress(sirocco::Format::Gzip, Level::new(level), text)
}

#[test]
fn a_file_of_any_level_gives_its_text_by_guess() {
    let text = fasta(4_000_000);
    for level in [1, 4, 6, 9] {
        let file = Packed::new(&pack(&text, level));
        for (threads, piece) in [(1, 100_000), (3, 60_000), (5, 250_000)] {
            let found = by_guess_alone(&file.0, threads, piece);
            assert!(found.unwrap() == text, "level {level}, pieces of {piece}");
        }
    }
}

#[test]
fn members_zeros_and_pieces_without_a_block_are_no_hindrance() {
    let text = fasta(3_000_000);
    let many: Vec<usize> = (0..60).map(|number| number * 50_001).collect();
    for borders in [&[][..], &[10, 10, 10], &[1_500_000, 1_500_000], &many] {
        let mut packed = members(&text, borders);
        packed.resize(packed.len() + 300_000, 0);
        let file = Packed::new(&packed);
        let found = by_guess(&file.0, 3, 100_000).unwrap();
        assert!(found == (text.clone(), None));
    }
}

#[test]
fn blocks_of_every_kind_give_their_text() {
    let text = fasta(2_000_000);
    let parts: Vec<Vec<u8>> = text
        .chunks(90_000)
        .zip([6, 0, 9, 0, 1].into_iter().cycle())
        .map(|(part, level)| pack(part, level))
        .collect();
    let packed = [&parts.concat()[..], &pack(b"", 6), &pack(b">b\nA\n", 9)].concat();
    let file = Packed::new(&packed);
    let wanted = [&text[..], b">b\nA\n"].concat();
    let found = by_guess(&file.0, 4, 100_000).unwrap();
    assert!(found == (wanted, None));
}

#[test]
fn a_file_that_is_not_packed_is_given_too() {
    let text = fasta(3_000_000);
    let file = Packed::new(&pack(&text, 0));
    let found = by_guess(&file.0, 4, 100_000).unwrap();
    assert!(found == (text, None));
}

#[test]
fn text_that_is_packed_to_next_to_nothing_takes_no_memory_to_speak_of() {
    let text = [b">a\n", &b"A".repeat(200_000_000)[..]].concat();
    let file = Packed::new(&pack(&text, 6));
    assert!(by_guess(&file.0, 3, 20_000).unwrap() == (text, None));
}

#[test]
fn few_processors_and_small_files_do_not_guess() {
    assert!(guessing_pays(8, 100 << 20));
    assert!(!guessing_pays(4, 100 << 20));
    assert!(!guessing_pays(8, 10 << 20));
}

#[test]
fn a_reader_of_guesses_that_leaves_early_waits_for_nobody() {
    let file = Packed::new(&pack(&fasta(6_000_000), 6));
    for count in 0..6 {
        let guessed = Guessed::open(&file.0, 60_000).unwrap();
        let mut text = Parallel::new(guessed, 8, None, threads_of(4));
        for _ in 0..count {
            let given = crate::Text::fill(&mut text).unwrap().len();
            crate::Text::consume(&mut text, given);
        }
        drop(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_changed_or_cut_file_is_found_and_named_as_from_the_beginning(
        borders in prop::collection::vec(0..2_500_000_usize, 0..4),
        level in 1..10_u8,
        position in 0..600_000_usize,
        bit in 0..16_u32,
        tail in prop::sample::select(vec![&b""[..], b"garbage", &[0; 9], &[0x1F, 0x8B]]),
        threads in 1..6_usize,
    ) {
        let mut borders = borders;
        borders.sort_unstable();
        let text = fasta(2_500_000);
        let mut packed = match borders.as_slice() {
            [] => pack(&text, level),
            borders => members(&text, borders),
        };
        let position = position % packed.len();
        match bit {
            0..8 => packed[position] ^= 1 << bit,
            8..12 => packed.truncate(position),
            _ => {}
        }
        packed.extend_from_slice(tail);
        let file = Packed::new(&packed);
        if let Some(found) = by_guess(&file.0, threads, 70_000) {
            prop_assert!(found == from_the_beginning(&file.0));
        }
    }
}
