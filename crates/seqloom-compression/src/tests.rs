mod bgzip_blocks;
mod bgzip_ranges;
mod containers;
mod headers;
mod read_ahead;
mod real_files;
mod visited_text;

use std::io::{self, Cursor, Read};

use sirocco::{Format, compress, deflate::Level};

use super::{Compression, ReadError, UnpackOptions, open_text};
use crate::input::BufferedInput;

/// The empty block that ends a bgzip file (SAM specification, section 4.1.2).
const EMPTY_END_BLOCK: [u8; 28] = [
    0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, b'B', b'C', 2, 0, 0x1B, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];
const SAMPLE_FASTA: &[u8] =
    b">a first\nACGTACGTTGCA\n>b second\nGGGATTACAGGG\n>c third\nTTTTTTTTTTTT\n";

fn gzip_bytes(text: &[u8]) -> Vec<u8> {
    compress(Format::Gzip, Level::DEFAULT, text)
}

/// Returns a gzip member whose extra field contains the size subfield of a bgzip block.
fn bgzip_block(text: &[u8]) -> Vec<u8> {
    let member = gzip_bytes(text);
    let size = u16::try_from(member.len() + 8 - 1).unwrap().to_le_bytes();
    let extra = [6, 0, b'B', b'C', 2, 0, size[0], size[1]];
    [&member[..3], &[4], &member[4..10], &extra, &member[10..]].concat()
}

fn bgzip_bytes(texts: &[&[u8]]) -> Vec<u8> {
    let blocks: Vec<Vec<u8>> = texts.iter().map(|text| bgzip_block(text)).collect();
    [blocks.concat(), EMPTY_END_BLOCK.to_vec()].concat()
}

/// A source that returns a limited number of bytes per read.
struct SmallReads(Cursor<Vec<u8>>, usize);

impl Read for SmallReads {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = out.len().min(self.1);
        self.0.read(&mut out[..size])
    }
}

fn input_with_small_reads(file: &[u8], piece: usize) -> BufferedInput {
    BufferedInput::new(Box::new(SmallReads(Cursor::new(file.to_vec()), piece)))
}

fn options_with_threads(threads: usize) -> UnpackOptions {
    UnpackOptions {
        threads,
        ..UnpackOptions::default()
    }
}

/// Returns all text up to the end of the file or up to an error, and the error if any.
fn read_all_text(
    input: BufferedInput,
    options: &UnpackOptions,
) -> (Vec<u8>, Result<(), ReadError>) {
    let mut all = Vec::new();
    let mut text = match open_text(input, options) {
        Ok((_, text)) => text,
        Err(error) => return (all, Err(error)),
    };
    loop {
        match text.fill_buffer() {
            Ok([]) => return (all, Ok(())),
            Ok(piece) => {
                let count = piece.len();
                all.extend_from_slice(piece);
                text.consume(count);
            }
            Err(error) => {
                assert!(text.fill_buffer().is_err(), "a fault must persist");
                return (all, Err(error));
            }
        }
    }
}

fn decompress_file(file: &[u8]) -> Result<Vec<u8>, ReadError> {
    let (text, outcome) = read_all_text(
        input_with_small_reads(file, usize::MAX),
        &UnpackOptions::default(),
    );
    outcome.map(|()| text)
}

/// Returns the message of the error.
fn error_message(outcome: Result<(), ReadError>) -> String {
    match outcome {
        Ok(()) => "all is well".into(),
        Err(ReadError::Damage(fault)) => fault.message,
        Err(ReadError::Io(error)) => error.to_string(),
    }
}

/// Returns a sequence of bases with few repetitions.
fn random_bases(size: u32) -> Vec<u8> {
    let mixed = |i: u32| i.wrapping_mul(2_654_435_761) ^ (i >> 3).wrapping_mul(40_503);
    (0..size)
        .map(|i| b"ACGT"[(mixed(i) >> 30) as usize])
        .collect()
}

/// Returns the offset and the message of the error.
fn damage_position_and_message(file: &[u8]) -> Option<(u64, String)> {
    match decompress_file(file) {
        Err(ReadError::Damage(fault)) => Some((fault.byte?, fault.message)),
        _ => None,
    }
}

fn detected_compression(file: &[u8]) -> Compression {
    open_text(
        input_with_small_reads(file, usize::MAX),
        &UnpackOptions::default(),
    )
    .unwrap()
    .0
}

/// Flips each bit of a file in turn. Returns the number of changed files that are read
/// without an error but with a different text.
fn count_silent_changes(file: &[u8]) -> usize {
    let changed = |bit: &usize| {
        let mut file = file.to_vec();
        file[bit / 8] ^= 1 << (bit % 8);
        decompress_file(&file).is_ok_and(|text| text != SAMPLE_FASTA && text != file)
    };
    (0..file.len() * 8).filter(changed).count()
}

#[test]
fn every_compression_gives_the_same_text() {
    let files = [
        (Compression::None, SAMPLE_FASTA.to_vec()),
        (Compression::Gzip, gzip_bytes(SAMPLE_FASTA)),
        (Compression::Bgzip, bgzip_bytes(&[SAMPLE_FASTA])),
        (
            Compression::Bgzip,
            bgzip_bytes(&[&SAMPLE_FASTA[..20], b"", &SAMPLE_FASTA[20..]]),
        ),
    ];
    for (kind, file) in files {
        assert_eq!(
            (detected_compression(&file), decompress_file(&file).unwrap()),
            (kind, SAMPLE_FASTA.to_vec())
        );
    }
}

#[test]
fn a_record_may_span_several_gzip_members() {
    let file = [
        gzip_bytes(&SAMPLE_FASTA[..13]),
        gzip_bytes(b""),
        gzip_bytes(&SAMPLE_FASTA[13..]),
    ]
    .concat();
    assert_eq!(decompress_file(&file).unwrap(), SAMPLE_FASTA);
}

#[test]
fn long_texts_are_decompressed_completely() {
    let text = random_bases(1_500_000);
    assert!(decompress_file(&gzip_bytes(&text)).unwrap() == text);
    let blocks: Vec<&[u8]> = text.chunks(60_000).collect();
    assert!(decompress_file(&bgzip_bytes(&blocks)).unwrap() == text);
}

#[test]
fn a_gzip_truncated_at_any_byte_is_an_error() {
    let file = gzip_bytes(SAMPLE_FASTA);
    for end in 2..file.len() {
        let (byte, message) = damage_position_and_message(&file[..end]).unwrap();
        assert_eq!(byte, end as u64);
        assert!(
            message.starts_with("the gzip data is truncated"),
            "{message}"
        );
    }
}

#[test]
fn a_bgzip_truncated_at_any_byte_is_an_error() {
    let file = bgzip_bytes(&[&SAMPLE_FASTA[..30], &SAMPLE_FASTA[30..]]);
    for end in 2..file.len() {
        assert!(damage_position_and_message(&file[..end]).is_some(), "{end}");
    }
}

#[test]
fn a_bgzip_without_its_last_block_is_truncated() {
    let (byte, message) = damage_position_and_message(&bgzip_block(SAMPLE_FASTA)).unwrap();
    assert_eq!(byte, bgzip_block(SAMPLE_FASTA).len() as u64);
    assert!(
        message.contains("without the block that marks the end"),
        "{message}"
    );
}

#[test]
fn a_flipped_bit_never_changes_the_text_silently() {
    assert_eq!(count_silent_changes(&gzip_bytes(SAMPLE_FASTA)), 0);
    let blocks = bgzip_bytes(&[&SAMPLE_FASTA[..30], &SAMPLE_FASTA[30..]]);
    assert_eq!(count_silent_changes(&blocks), 0);
}

#[test]
fn only_zero_bytes_may_follow_gzip_data() {
    let file = gzip_bytes(SAMPLE_FASTA);
    let size = file.len() as u64;
    assert_eq!(
        decompress_file(&[file.clone(), vec![0; 700_000]].concat()).unwrap(),
        SAMPLE_FASTA
    );
    assert_eq!(
        damage_position_and_message(&[&file[..], b"junk"].concat())
            .unwrap()
            .0,
        size
    );
    assert_eq!(
        damage_position_and_message(&[&file[..], &[0, 0, 0, 7]].concat())
            .unwrap()
            .0,
        size + 3
    );
}

#[test]
fn every_field_of_a_gzip_header_is_read() {
    let member = gzip_bytes(SAMPLE_FASTA);
    let fields = b"\x03\0xyzname.fa\0a comment\0";
    let file = [&member[..3], &[0x1C], &member[4..10], fields, &member[10..]].concat();
    assert_eq!(decompress_file(&file).unwrap(), SAMPLE_FASTA);
}

#[test]
fn a_bgzip_block_with_a_wrong_size_is_an_error() {
    let mut file = bgzip_bytes(&[SAMPLE_FASTA]);
    file[16] += 1;
    assert!(damage_position_and_message(&file).is_some());
}

#[test]
fn plain_gzip_after_bgzip_is_an_error() {
    let (_, message) = damage_position_and_message(
        &[bgzip_block(SAMPLE_FASTA), gzip_bytes(SAMPLE_FASTA)].concat(),
    )
    .unwrap();
    assert!(message.contains("no bgzip block begins there"), "{message}");
}

#[test]
fn bgzip_files_may_be_concatenated() {
    let half = [
        bgzip_bytes(&[&SAMPLE_FASTA[..30]]),
        bgzip_bytes(&[&SAMPLE_FASTA[30..]]),
    ]
    .concat();
    assert_eq!(decompress_file(&half).unwrap(), SAMPLE_FASTA);
}
