//! Tests of bgzip decompression by several threads.

use std::{env, fs, process};

use super::read_ahead::all_threads_have_ended;
use super::*;
use crate::disk::DiskFile;
use crate::index_bytes::IndexBytes;
use crate::seekable::{self, AccessPoints, SeekableText, TextCache};

const TEST_BLOCKS: usize = 40;

/// Returns the texts of many small blocks, and the compressed blocks.
fn bgzip_of_many_blocks() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let texts: Vec<Vec<u8>> = (0..TEST_BLOCKS)
        .map(|number| format!(">r{number}\nACGTACGT{number}\n").into_bytes())
        .collect();
    let blocks = texts.iter().map(|text| bgzip_block(text)).collect();
    (texts, blocks)
}

#[test]
fn the_text_before_a_corrupt_block_is_returned_first_for_any_number_of_threads() {
    let (texts, blocks) = bgzip_of_many_blocks();
    for count in 1..=8 {
        for bad in 0..TEST_BLOCKS {
            let mut blocks = blocks.clone();
            blocks[bad][25] ^= 4;
            let file = [blocks.concat(), EMPTY_END_BLOCK.to_vec()].concat();
            let (found, outcome) = read_all_text(
                input_with_small_reads(&file, 999),
                &options_with_threads(count),
            );
            assert_eq!(found, texts[..bad].concat(), "{count} {bad}");
            let at = blocks[..bad].concat().len();
            let message = error_message(outcome);
            assert!(
                message.starts_with(&format!("the bgzip block at byte {at} is damaged")),
                "{message}"
            );
        }
    }
    assert!(all_threads_have_ended("seqloom-blocks"));
}

#[test]
fn the_text_before_a_truncated_block_is_returned_first() {
    let (texts, blocks) = bgzip_of_many_blocks();
    let file = blocks.concat();
    for count in [1, 3] {
        let (found, outcome) = read_all_text(
            input_with_small_reads(&file[..file.len() - 1], 99),
            &options_with_threads(count),
        );
        assert_eq!(found, texts[..TEST_BLOCKS - 1].concat());
        assert!(error_message(outcome).contains("inside a bgzip block"));
    }
}

#[test]
fn a_file_without_its_last_block_is_accepted_only_with_an_option() {
    let (texts, blocks) = bgzip_of_many_blocks();
    let file = blocks.concat();
    let (found, outcome) =
        read_all_text(input_with_small_reads(&file, 99), &options_with_threads(2));
    assert_eq!(found, texts.concat());
    assert!(error_message(outcome).contains("without the block that marks the end"));
    let options = UnpackOptions {
        require_eof: false,
        threads: 2,
    };
    let (found, outcome) = read_all_text(input_with_small_reads(&file, 99), &options);
    assert!(outcome.is_ok() && found == texts.concat());
}

#[test]
fn text_after_an_empty_bgzip_block_is_read() {
    let (texts, blocks) = bgzip_of_many_blocks();
    let file = [
        blocks[..9].concat(),
        EMPTY_END_BLOCK.to_vec(),
        EMPTY_END_BLOCK.to_vec(),
        blocks[9..].concat(),
        EMPTY_END_BLOCK.to_vec(),
    ]
    .concat();
    let (found, outcome) = read_all_text(
        input_with_small_reads(&file, 5000),
        &options_with_threads(2),
    );
    assert!(outcome.is_ok() && found == texts.concat());
}

#[test]
fn more_than_64_kib_in_a_block_is_an_error() {
    let most = vec![b'A'; 65_536];
    assert_eq!(decompress_file(&bgzip_bytes(&[&most])).unwrap(), most);
    let (byte, message) =
        damage_position_and_message(&bgzip_bytes(&[b"ACGT", &vec![b'A'; 65_537]])).unwrap();
    assert_eq!(byte, bgzip_block(b"ACGT").len() as u64);
    assert!(message.contains("more than 64 KiB"), "{message}");
}

#[test]
fn a_size_field_of_four_bytes_is_not_accepted() {
    let member = gzip_bytes(SAMPLE_FASTA);
    let extra = [8, 0, b'B', b'C', 4, 0, 99, 0, 0, 0];
    let odd = [&member[..3], &[4], &member[4..10], &extra, &member[10..]].concat();
    assert_eq!(detected_compression(&odd), Compression::Gzip);
    assert_eq!(decompress_file(&odd).unwrap(), SAMPLE_FASTA);
    let (byte, message) =
        damage_position_and_message(&[bgzip_block(SAMPLE_FASTA), odd].concat()).unwrap();
    assert_eq!(byte, bgzip_block(SAMPLE_FASTA).len() as u64);
    assert!(message.contains("no bgzip block begins there"), "{message}");
}

#[test]
fn the_block_size_may_follow_other_extra_fields() {
    let member = gzip_bytes(SAMPLE_FASTA);
    let size = u16::try_from(member.len() + 15 - 1).unwrap().to_le_bytes();
    let extra = [
        13, 0, b'X', b'Y', 3, 0, 1, 2, 3, b'B', b'C', 2, 0, size[0], size[1],
    ];
    let block = [&member[..3], &[4], &member[4..10], &extra, &member[10..]].concat();
    let file = [block, EMPTY_END_BLOCK.to_vec()].concat();
    assert_eq!(detected_compression(&file), Compression::Bgzip);
    assert_eq!(decompress_file(&file).unwrap(), SAMPLE_FASTA);
}

#[test]
fn any_range_of_a_bgzip_text_is_read_by_offset() {
    let (texts, blocks) = bgzip_of_many_blocks();
    let path = env::temp_dir().join(format!("seqloom-positions-{}.gz", process::id()));
    fs::write(&path, [blocks.concat(), EMPTY_END_BLOCK.to_vec()].concat()).unwrap();
    let disk = DiskFile::open(&path).unwrap();
    let (blocks, size) = seekable::find_blocks(&disk).unwrap();
    let text = SeekableText {
        disk,
        container: AccessPoints::Bgzip(blocks),
        size,
        image: IndexBytes::Memory(Vec::new().into()),
    };
    let (whole, mut cache) = (texts.concat(), TextCache::default());
    for start in (0..=whole.len()).step_by(7) {
        for end in (start..=whole.len()).step_by(31) {
            let mut found = Vec::new();
            let range = start as u64..end as u64;
            text.read_range(range, &mut found, &mut cache).unwrap();
            assert_eq!(found, whole[start..end], "{start}..{end}");
        }
    }
    fs::remove_file(path).unwrap();
}
