//! Tests that several threads return the same text and the same errors as one thread.

mod samples;

use std::path::Path;

use proptest::prelude::*;

use self::samples::{
    PackedFile, drain, large_file, read_by_one_thread, read_by_threads, threads_of,
};
use super::text_from_snapshots;
use crate::disk::Disk;
use crate::input::BufferedInput;
use crate::snapshots::{MIN_PARALLEL_FILE_BYTES, snapshots_of, store_under_other_identity};
use crate::{Text, Trouble, UnpackOptions, unpack};

fn read_from_snapshots(path: &Path, threads: usize) -> Option<(Vec<u8>, Option<String>)> {
    text_from_snapshots(path, &threads_of(threads)).map(|mut text| drain(&mut *text))
}

#[test]
fn a_second_read_uses_the_snapshots_of_the_first() {
    for ends in [
        &[][..],
        &[5, 5, 7_000_000, 7_000_000, 7_000_100, 16_000_000],
    ] {
        let (text, packed) = large_file(ends);
        let file = PackedFile::new(&packed);
        assert!(read_from_snapshots(&file.0, 2).is_none());
        assert!(read_by_threads(&file.0) == (text.clone(), None));
        for threads in [2, 5] {
            assert!(read_from_snapshots(&file.0, threads) == Some((text.clone(), None)));
        }
    }
}

#[test]
fn a_changed_file_has_no_snapshots() {
    let (_, mut packed) = large_file(&[]);
    let file = PackedFile::new(&packed);
    drop(read_by_threads(&file.0));
    packed[4_000_000] ^= 1;
    file.change(&packed);
    assert!(read_from_snapshots(&file.0, 2).is_none());
}

#[test]
fn an_invalid_file_has_no_snapshots() {
    let (_, mut packed) = large_file(&[]);
    packed.truncate(packed.len() - 200);
    let file = PackedFile::new(&packed);
    assert!(read_by_threads(&file.0).1.is_some());
    assert!(read_from_snapshots(&file.0, 2).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_changed_byte_gives_the_error_of_a_read_from_the_beginning(
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
        store_under_other_identity(&before, &after);
        prop_assert!(read_from_snapshots(&file.0, threads) == Some(read_by_one_thread(&file.0)));
    }
}
