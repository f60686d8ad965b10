//! The text from places that were put aside is the text from the beginning.

use std::path::Path;

use proptest::prelude::*;

use super::super::{SMALLEST, in_parallel, text_again};
use super::{Indexed, drain, from_the_beginning, members, threads_of};
use crate::compression::places::{mistake, places_of};
use crate::compression::unpack;
use crate::index::disk::Disk;
use crate::input::Input;

/// A FASTA file that gzip packs to more than half.
fn proteins(letters: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b"LAGVESIKRDTPNQFYMHCW"[usize::try_from(state % 20).unwrap()]
    };
    b">a\n"
        .iter()
        .copied()
        .chain((0..letters).map(letter))
        .collect()
}

/// Reads a file as whoever has several threads does; gives what it has.
fn read(path: &Path) -> (Vec<u8>, Option<String>) {
    let input = Input::open(path).unwrap();
    let (_, mut text) = unpack(input, &threads_of(2)).unwrap();
    drain(&mut *text)
}

fn again(path: &Path, threads: usize) -> Option<(Vec<u8>, Option<String>)> {
    text_again(path, &threads_of(threads)).map(|mut text| drain(&mut *text))
}

/// A packed file that is large enough, with members that end here and there.
fn packed(borders: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let text = proteins(16_000_000);
    let mut packed = members(&text, borders);
    packed.extend([0; 99]);
    assert!(packed.len() > usize::try_from(SMALLEST).unwrap());
    (text, packed)
}

#[test]
fn a_file_that_was_read_gives_its_text_from_its_places() {
    for borders in [
        &[][..],
        &[5, 5, 7_000_000, 7_000_000, 7_000_100, 16_000_000],
    ] {
        let (text, packed) = packed(borders);
        let file = Indexed::alone(&packed);
        assert!(again(&file.0, 2).is_none());
        assert!(read(&file.0) == (text.clone(), None));
        for threads in [2, 5] {
            assert!(again(&file.0, threads) == Some((text.clone(), None)));
        }
    }
}

#[test]
fn a_file_that_was_written_since_has_no_places() {
    let (_, mut packed) = packed(&[]);
    let file = Indexed::alone(&packed);
    drop(read(&file.0));
    packed[4_000_000] ^= 1;
    file.change(&packed);
    assert!(again(&file.0, 2).is_none());
}

#[test]
fn a_file_that_was_wrong_has_no_places() {
    let (_, mut packed) = packed(&[]);
    packed.truncate(packed.len() - 200);
    let file = Indexed::alone(&packed);
    assert!(read(&file.0).1.is_some());
    assert!(again(&file.0, 2).is_none());
}

#[test]
fn a_file_too_small_to_gain_by_threads_is_read_by_one() {
    let text = proteins(14_000_000);
    let small = Indexed::new(&members(&text, &[]));
    drop(read(&small.0));
    assert!(in_parallel(&small.0, &threads_of(4)).is_none());
    let large = Indexed::new(&packed(&[]).1);
    assert!(in_parallel(&large.0, &threads_of(4)).is_some());
    assert!(in_parallel(&large.0, &threads_of(1)).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_changed_byte_is_found_and_named_as_from_the_beginning(
        border in 0..16_000_000_usize,
        place in 0..8_000_000_usize,
        bit in 0..8_u32,
        threads in 2..6_usize,
    ) {
        let (_, mut packed) = packed(&[border]);
        let file = Indexed::alone(&packed);
        drop(read(&file.0));
        let before = Disk::open(&file.0).unwrap().identity().unwrap();
        prop_assert!(places_of(&before).is_some());
        packed[place] ^= 1 << bit;
        file.change(&packed);
        let after = Disk::open(&file.0).unwrap().identity().unwrap();
        mistake(&before, &after);
        prop_assert!(again(&file.0, threads) == Some(from_the_beginning(&file.0)));
    }
}
