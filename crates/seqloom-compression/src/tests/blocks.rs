//! Tests of bgzip decompression by several threads.

use std::{env, fs, process};

use super::ahead::all_have_ended;
use super::*;
use crate::disk::Disk;
use crate::image::IndexBytes;
use crate::seekable::{self, Container, Seekable, TextCache};

const TEST_BLOCKS: usize = 40;

/// Returns the texts of many small blocks, and the compressed blocks.
fn many_blocks() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let texts: Vec<Vec<u8>> = (0..TEST_BLOCKS)
        .map(|number| format!(">r{number}\nACGTACGT{number}\n").into_bytes())
        .collect();
    let blocks = texts.iter().map(|text| block(text)).collect();
    (texts, blocks)
}

#[test]
fn the_text_before_a_corrupt_block_is_returned_first_for_any_number_of_threads() {
    let (texts, blocks) = many_blocks();
    for count in 1..=8 {
        for bad in 0..TEST_BLOCKS {
            let mut blocks = blocks.clone();
            blocks[bad][25] ^= 4;
            let file = [blocks.concat(), END_BLOCK.to_vec()].concat();
            let (found, outcome) = drain(source(&file, 999), &threads(count));
            assert_eq!(found, texts[..bad].concat(), "{count} {bad}");
            let at = blocks[..bad].concat().len();
            let message = message(outcome);
            assert!(
                message.starts_with(&format!("the bgzip block at byte {at} is damaged")),
                "{message}"
            );
        }
    }
    assert!(all_have_ended("seqloom-blocks"));
}

#[test]
fn the_text_before_a_truncated_block_is_returned_first() {
    let (texts, blocks) = many_blocks();
    let file = blocks.concat();
    for count in [1, 3] {
        let (found, outcome) = drain(source(&file[..file.len() - 1], 99), &threads(count));
        assert_eq!(found, texts[..TEST_BLOCKS - 1].concat());
        assert!(message(outcome).contains("inside a bgzip block"));
    }
}

#[test]
fn a_file_without_its_last_block_is_accepted_only_with_an_option() {
    let (texts, blocks) = many_blocks();
    let file = blocks.concat();
    let (found, outcome) = drain(source(&file, 99), &threads(2));
    assert_eq!(found, texts.concat());
    assert!(message(outcome).contains("without the block that marks the end"));
    let options = UnpackOptions {
        require_eof: false,
        threads: 2,
    };
    let (found, outcome) = drain(source(&file, 99), &options);
    assert!(outcome.is_ok() && found == texts.concat());
}

#[test]
fn text_after_an_empty_bgzip_block_is_read() {
    let (texts, blocks) = many_blocks();
    let file = [
        blocks[..9].concat(),
        END_BLOCK.to_vec(),
        END_BLOCK.to_vec(),
        blocks[9..].concat(),
        END_BLOCK.to_vec(),
    ]
    .concat();
    let (found, outcome) = drain(source(&file, 5000), &threads(2));
    assert!(outcome.is_ok() && found == texts.concat());
}

#[test]
fn more_than_64_kib_in_a_block_is_an_error() {
    let most = vec![b'A'; 65_536];
    assert_eq!(text_of(&bgzip(&[&most])).unwrap(), most);
    let (byte, message) = damage(&bgzip(&[b"ACGT", &vec![b'A'; 65_537]])).unwrap();
    assert_eq!(byte, block(b"ACGT").len() as u64);
    assert!(message.contains("more than 64 KiB"), "{message}");
}

#[test]
fn a_size_field_of_four_bytes_is_not_accepted() {
    let member = gzip(SAMPLE);
    let extra = [8, 0, b'B', b'C', 4, 0, 99, 0, 0, 0];
    let odd = [&member[..3], &[4], &member[4..10], &extra, &member[10..]].concat();
    assert_eq!(compression(&odd), Compression::Gzip);
    assert_eq!(text_of(&odd).unwrap(), SAMPLE);
    let (byte, message) = damage(&[block(SAMPLE), odd].concat()).unwrap();
    assert_eq!(byte, block(SAMPLE).len() as u64);
    assert!(message.contains("no bgzip block begins there"), "{message}");
}

#[test]
fn the_block_size_may_follow_other_extra_fields() {
    let member = gzip(SAMPLE);
    let size = u16::try_from(member.len() + 15 - 1).unwrap().to_le_bytes();
    let extra = [
        13, 0, b'X', b'Y', 3, 0, 1, 2, 3, b'B', b'C', 2, 0, size[0], size[1],
    ];
    let block = [&member[..3], &[4], &member[4..10], &extra, &member[10..]].concat();
    let file = [block, END_BLOCK.to_vec()].concat();
    assert_eq!(compression(&file), Compression::Bgzip);
    assert_eq!(text_of(&file).unwrap(), SAMPLE);
}

#[test]
fn any_range_of_a_text_is_read_by_offset() {
    let (texts, blocks) = many_blocks();
    let path = env::temp_dir().join(format!("seqloom-positions-{}.gz", process::id()));
    fs::write(&path, [blocks.concat(), END_BLOCK.to_vec()].concat()).unwrap();
    let disk = Disk::open(&path).unwrap();
    let (blocks, size) = seekable::blocks(&disk).unwrap();
    let text = Seekable {
        disk,
        container: Container::Bgzip(blocks),
        size,
        image: IndexBytes::Memory(Vec::new().into()),
    };
    let (whole, mut cache) = (texts.concat(), TextCache::default());
    for start in (0..=whole.len()).step_by(7) {
        for end in (start..=whole.len()).step_by(31) {
            let mut found = Vec::new();
            let range = start as u64..end as u64;
            text.read(range, &mut found, &mut cache).unwrap();
            assert_eq!(found, whole[start..end], "{start}..{end}");
        }
    }
    fs::remove_file(path).unwrap();
}
