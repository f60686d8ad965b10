//! The text that several threads unpack is the text that one unpacks, faults and all.

mod samples;

use std::path::Path;

use proptest::prelude::*;

use self::samples::{
    PackedFile, drain, from_the_beginning, large_file, read_by_threads, threads_of,
};
use super::text_again;
use crate::disk::Disk;
use crate::input::BufferedInput;
use crate::snapshots::{SMALLEST, misfile, snapshots_of};
use crate::{Text, Trouble, UnpackOptions, unpack};

fn again(path: &Path, threads: usize) -> Option<(Vec<u8>, Option<String>)> {
    text_again(path, &threads_of(threads)).map(|mut text| drain(&mut *text))
}

#[test]
fn a_file_that_was_read_gives_its_text_from_its_positions() {
    for ends in [
        &[][..],
        &[5, 5, 7_000_000, 7_000_000, 7_000_100, 16_000_000],
    ] {
        let (text, packed) = large_file(ends);
        let file = PackedFile::new(&packed);
        assert!(again(&file.0, 2).is_none());
        assert!(read_by_threads(&file.0) == (text.clone(), None));
        for threads in [2, 5] {
            assert!(again(&file.0, threads) == Some((text.clone(), None)));
        }
    }
}

#[test]
fn a_file_that_was_written_since_has_no_positions() {
    let (_, mut packed) = large_file(&[]);
    let file = PackedFile::new(&packed);
    drop(read_by_threads(&file.0));
    packed[4_000_000] ^= 1;
    file.change(&packed);
    assert!(again(&file.0, 2).is_none());
}

#[test]
fn a_file_that_was_wrong_has_no_positions() {
    let (_, mut packed) = large_file(&[]);
    packed.truncate(packed.len() - 200);
    let file = PackedFile::new(&packed);
    assert!(read_by_threads(&file.0).1.is_some());
    assert!(again(&file.0, 2).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_changed_byte_is_found_and_named_as_from_the_beginning(
        end in 0..16_000_000_usize,
        position in 0..8_000_000_usize,
        bit in 0..8_u32,
        threads in 2..6_usize,
    ) {
        let (_, mut packed) = large_file(&[end]);
        let file = PackedFile::new(&packed);
        drop(read_by_threads(&file.0));
        let before = Disk::open(&file.0).unwrap().identity().unwrap();
        prop_assert!(snapshots_of(&before).is_some());
        packed[position] ^= 1 << bit;
        file.change(&packed);
        let after = Disk::open(&file.0).unwrap().identity().unwrap();
        misfile(&before, &after);
        prop_assert!(again(&file.0, threads) == Some(from_the_beginning(&file.0)));
    }
}
