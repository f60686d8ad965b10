//! Tests that parallel decompression returns the same text and errors as serial
//! decompression.

#[path = "../../../seqloom-compression/src/parallel/tests/samples.rs"]
mod samples;

use std::fs;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;

use self::samples::{
    CompressedFile, gzip_bytes, gzip_members, large_compressed_file, options_with_threads,
    random_protein_fasta, read_all_text, read_by_one_thread, read_by_threads,
};
use super::gzip_index::index_path;
use super::*;
use crate::{BuildOptions, build_index_file};
use seqloom_compression::parallel::MIN_PARALLEL_FILE_BYTES;
use seqloom_compression::{ReadError, TextSource, UnpackOptions, open_text};

/// Returns FASTA with a typical compression ratio.
fn random_fasta(letters: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut text = b">a\n".to_vec();
    for position in 1..=letters {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push(b"ACGT"[usize::try_from(state >> 62).unwrap()]);
        if position % 70 == 0 {
            text.push(b'\n');
        }
    }
    text.push(b'\n');
    text
}

/// Creates a file with its index next to it.
fn create_indexed_file(packed: &[u8]) -> CompressedFile {
    let file = CompressedFile::new(packed);
    build_index_file(&file.0, &index_path(&file.0), &BuildOptions::default()).unwrap();
    file
}

/// Returns the text from parallel decompression; `None` if the index cannot be used.
fn read_by_index(path: &Path, threads: usize) -> Option<(Vec<u8>, Option<String>)> {
    let options = options_with_threads(threads);
    text_by_index(path, &options).map(|mut text| read_all_text(&mut *text))
}

#[test]
fn gzip_members_of_any_size_are_decompressed() {
    let text = random_fasta(3_000_000);
    let many: Vec<usize> = (0..60).map(|number| number * 50_001).collect();
    for borders in [&[][..], &[10, 10, 10], &[1_500_000, 1_500_000], &many] {
        let mut packed = gzip_members(&text, borders);
        packed.extend([0; 600]);
        let file = create_indexed_file(&packed);
        for threads in [2, 3, 7] {
            let (found, fault) = read_by_index(&file.0, threads).unwrap();
            assert_eq!(fault, None);
            assert!(found == text);
        }
    }
}

#[test]
fn stored_blocks_and_named_gzip_members_are_decompressed() {
    let text = random_fasta(2_000_000);
    let mut packed = vec![0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 255, b'a', 0];
    for (number, piece) in text.chunks(60_000).enumerate() {
        let size = u16::try_from(piece.len()).unwrap();
        packed.push(u8::from((number + 1) * 60_000 >= text.len()));
        packed.extend(size.to_le_bytes());
        packed.extend((!size).to_le_bytes());
        packed.extend_from_slice(piece);
    }
    packed.extend(crc32fast::hash(&text).to_le_bytes());
    packed.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    let file = create_indexed_file(&packed);
    let (found, fault) = read_by_index(&file.0, 3).unwrap();
    assert_eq!(fault, None);
    assert!(found == text);
}

#[test]
fn the_index_of_a_file_that_grew_is_not_used() {
    let file = create_indexed_file(&gzip_bytes(&random_fasta(1_000_000)));
    let mut open = fs::File::options().append(true).open(&file.0).unwrap();
    open.write_all(b"garbage").unwrap();
    assert!(read_by_index(&file.0, 3).is_none());
}

#[test]
fn reading_from_a_record_returns_that_record_and_all_later_records() {
    let record = |number| format!(">r{number} x\nACGTGATTACA\n");
    let records: Vec<String> = (0..40_000).map(record).collect();
    let text = records.concat().into_bytes();
    let file = create_indexed_file(&gzip_members(&text, &[300_000, 900_000]));
    let options = ReaderOptions {
        threads: 2,
        ..ReaderOptions::default()
    };
    for start in [0, 1, 13_000, 39_999] {
        let mut reader = open_reader_at_record(&file.0, &options, start).unwrap();
        let batch = reader.read_batch(1, 1 << 20).unwrap().unwrap();
        let id = format!("r{start} ").into_bytes();
        assert!(batch.headers.starts_with(&id));
        let mut count = 1;
        while let Some(batch) = reader.read_batch(4096, 1 << 20).unwrap() {
            count += u64::try_from(batch.len()).unwrap();
        }
        assert_eq!(start + count, 40_000);
    }
    assert!(open_reader_at_record(&file.0, &options, 40_000).is_err());
}

#[test]
fn a_damaged_index_is_not_used() {
    let packed = gzip_bytes(&random_fasta(1_000_000));
    let file = create_indexed_file(&packed);
    let side = fs::read(index_path(&file.0)).unwrap();
    for position in (0..side.len()).step_by(side.len() / 97) {
        let mut other = side.clone();
        other[position] ^= 0x10;
        fs::write(index_path(&file.0), &other).unwrap();
        if let Some(found) = read_by_index(&file.0, 2) {
            assert!(found == read_by_one_thread(&file.0));
        }
    }
}

#[test]
fn a_reader_that_is_dropped_early_does_not_wait() {
    let file = create_indexed_file(&gzip_bytes(&random_fasta(6_000_000)));
    let index = open_index(&file.0).unwrap();
    let mut whole = text_by_spans(index.text, 0, None, options_with_threads(4)).unwrap();
    for _ in 0..2 {
        let count = TextSource::fill_buffer(&mut whole).unwrap().len();
        TextSource::consume(&mut whole, count);
    }
    assert!(whole.pending_parts() > 0);
    drop(whole);
}

#[test]
fn a_small_file_is_read_by_one_thread() {
    let text = random_protein_fasta(14_000_000);
    let small = create_indexed_file(&gzip_members(&text, &[]));
    drop(read_by_threads(&small.0));
    assert!(text_by_threads(&small.0, &options_with_threads(4)).is_none());
    let large = create_indexed_file(&large_compressed_file(&[]).1);
    assert!(text_by_threads(&large.0, &options_with_threads(4)).is_some());
    assert!(text_by_threads(&large.0, &options_with_threads(1)).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_changed_byte_gives_the_same_error_with_and_without_an_index(
        borders in prop::collection::vec(0..2_500_000_usize, 0..4),
        position in 0.0..1.0_f64,
        bit in 0..8_u32,
        threads in 2..6_usize,
    ) {
        let mut borders = borders;
        borders.sort_unstable();
        let mut packed = gzip_members(&random_fasta(2_500_000), &borders);
        let file = create_indexed_file(&packed);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a position in a small file"
        )]
        let position = (position * packed.len() as f64) as usize;
        packed[position] ^= 1 << bit;
        file.overwrite(&packed);
        if let Some(found) = read_by_index(&file.0, threads) {
            prop_assert!(found == read_by_one_thread(&file.0));
        }
    }
}
