//! Tests that several threads return the same text and the same errors as one thread.

mod samples;

use std::path::Path;

use proptest::prelude::*;

use self::samples::{
    CompressedFile, large_compressed_file, options_with_threads, read_all_text, read_by_one_thread,
    read_by_threads,
};
use super::text_from_snapshots;
use crate::disk::DiskFile;
use crate::input::BufferedInput;
use crate::snapshots::{MIN_PARALLEL_FILE_BYTES, find_snapshots, store_under_other_identity};
use crate::{ReadError, TextSource, UnpackOptions, open_text};

fn read_from_snapshots(path: &Path, threads: usize) -> Option<(Vec<u8>, Option<String>)> {
    text_from_snapshots(path, &options_with_threads(threads))
        .map(|mut text| read_all_text(&mut *text))
}

#[test]
fn a_second_read_uses_the_snapshots_of_the_first() {
    for ends in [
        &[][..],
        &[5, 5, 7_000_000, 7_000_000, 7_000_100, 16_000_000],
    ] {
        let (text, packed) = large_compressed_file(ends);
        let file = CompressedFile::new(&packed);
        assert!(read_from_snapshots(&file.0, 2).is_none());
        assert!(read_by_threads(&file.0) == (text.clone(), None));
        for threads in [2, 5] {
            assert!(read_from_snapshots(&file.0, threads) == Some((text.clone(), None)));
        }
    }
}

#[test]
fn a_changed_file_has_no_snapshots() {
    let (_, mut packed) = large_compressed_file(&[]);
    let file = CompressedFile::new(&packed);
    drop(read_by_threads(&file.0));
    packed[4_000_000] ^= 1;
    file.overwrite(&packed);
    assert!(read_from_snapshots(&file.0, 2).is_none());
}

#[test]
fn an_invalid_file_has_no_snapshots() {
    let (_, mut packed) = large_compressed_file(&[]);
    packed.truncate(packed.len() - 200);
    let file = CompressedFile::new(&packed);
    assert!(read_by_threads(&file.0).1.is_some());
    assert!(read_from_snapshots(&file.0, 2).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_changed_byte_gives_the_same_error_with_snapshots_as_without(
        end in 0..16_000_000_usize,
        position in 0..8_000_000_usize,
        bit in 0..8_u32,
        threads in 2..6_usize,
    ) {
        let (_, mut packed) = large_compressed_file(&[end]);
        let file = CompressedFile::new(&packed);
        drop(read_by_threads(&file.0));
        let before = DiskFile::open(&file.0).unwrap().identity().unwrap();
        prop_assert!(find_snapshots(&before).is_some());
        packed[position] ^= 1 << bit;
        file.overwrite(&packed);
        let after = DiskFile::open(&file.0).unwrap().identity().unwrap();
        store_under_other_identity(&before, &after);
        prop_assert!(read_from_snapshots(&file.0, threads) == Some(read_by_one_thread(&file.0)));
    }
}
