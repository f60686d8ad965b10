#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "positions in small files"
)]

mod invalid_indexes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use sirocco::deflate::Level;
use sirocco::{Format as Packing, compress};

use super::*;
use seqloom_compression::seekable::{AccessPoints, TextCache};
use seqloom_sequences::batch::Batch;
use seqloom_sequences::options::ReaderOptions;
use seqloom_sequences::reader::Reader;

const EMPTY_END_BLOCK: [u8; 28] = [
    0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, b'B', b'C', 2, 0, 0x1B, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

fn gzip_bytes(text: &[u8]) -> Vec<u8> {
    compress(Packing::Gzip, Level::DEFAULT, text)
}

fn bgzip_bytes(text: &[u8]) -> Vec<u8> {
    let block = |text: &[u8]| {
        let member = gzip_bytes(text);
        let size = u16::try_from(member.len() + 8 - 1).unwrap().to_le_bytes();
        let extra = [6, 0, b'B', b'C', 2, 0, size[0], size[1]];
        [&member[..3], &[4], &member[4..10], &extra, &member[10..]].concat()
    };
    let blocks: Vec<Vec<u8>> = text.chunks(20_000).map(block).collect();
    [blocks.concat(), EMPTY_END_BLOCK.to_vec()].concat()
}

/// A temporary file; `drop` removes it.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(content: &[u8]) -> Self {
        static FILE_COUNT: AtomicU32 = AtomicU32::new(0);
        let number = FILE_COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("seqloom-index-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn random_integer(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn random_bases(count: u64, state: &mut u64) -> Vec<u8> {
    (0..count)
        .map(|_| b"ACGT"[usize::try_from(random_integer(state) % 4).unwrap()])
        .collect()
}

fn random_fasta(records: u64) -> Vec<u8> {
    let mut state = 7;
    let mut text = Vec::new();
    for number in 0..records {
        text.extend_from_slice(format!(">r{number} x y\n").as_bytes());
        let count = random_integer(&mut state) % 500;
        for line in random_bases(count, &mut state).chunks(60) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    text
}

fn random_fastq(records: u64) -> Vec<u8> {
    let mut state = 9;
    let mut text = Vec::new();
    for number in 0..records {
        let count = random_integer(&mut state) % 200;
        let sequence = random_bases(count, &mut state);
        let quality: Vec<u8> = sequence.iter().map(|letter| letter - 20).collect();
        text.extend_from_slice(format!("@r{number}\n").as_bytes());
        text.extend_from_slice(&[&sequence[..], b"\n+\n", &quality, b"\n"].concat());
    }
    text
}

fn read_whole_file(path: &Path) -> Batch {
    let mut reader = Reader::open(path, &ReaderOptions::default()).unwrap();
    reader.read_batch(usize::MAX, usize::MAX).unwrap().unwrap()
}

fn build_and_open_index(path: &Path) -> Index {
    let bytes = build_in_memory(path, &BuildOptions::default()).unwrap();
    let (index, state) = Index::from_bytes(path, bytes, 1).unwrap();
    assert_eq!(state, IndexState::Fresh);
    index
}

#[test]
fn every_compression_gives_all_records_in_any_order() {
    for text in [random_fasta(800), random_fastq(1500)] {
        for file in [text.clone(), gzip_bytes(&text), bgzip_bytes(&text)] {
            let file = TemporaryFile::new(&file);
            let (index, whole) = (build_and_open_index(&file.0), read_whole_file(&file.0));
            let count = i64::try_from(index.len()).unwrap();
            assert_eq!(index.len(), whole.len() as u64);
            let all: Vec<i64> = (0..count).collect();
            assert!(index.fetch_records(&all, 1).unwrap() == whole);
            let some: Vec<i64> = (0..100).map(|i| i * 7919 % count).collect();
            let found = index.fetch_records(&some, 1).unwrap();
            for (position, row) in some.iter().enumerate() {
                let one = index.fetch_records(&[*row], 1).unwrap();
                let (start, end) = (found.offsets[position], found.offsets[position + 1]);
                assert!(one.data == found.data[start as usize..end as usize]);
            }
        }
    }
}

#[test]
fn gzip_decompression_can_start_at_any_bit_of_a_byte() {
    let text = random_fastq(20_000);
    let file = TemporaryFile::new(&gzip_bytes(&text));
    let index = build_and_open_index(&file.0);
    let AccessPoints::Gzip(spans) = &index.text.container else {
        panic!("gzip has spans");
    };
    let odd: std::collections::HashSet<u64> = spans.iter().map(|span| span.bit % 8).collect();
    assert!(odd.len() > 4, "{odd:?}");
    let mut out = Vec::new();
    for span in spans {
        out.clear();
        let end = (span.text + 10_000).min(index.text.size);
        index
            .text
            .read_range(span.text..end, &mut out, &mut TextCache::default())
            .unwrap();
        assert!(out == text[span.text as usize..end as usize]);
    }
}

#[test]
fn a_truncated_or_changed_index_is_an_error_or_harmless() {
    let file = TemporaryFile::new(&random_fasta(80));
    let bytes = build_in_memory(&file.0, &BuildOptions::default()).unwrap();
    let rows = parse_index_rows(&bytes).unwrap();
    assert_eq!(rows.len(), 80);
    for end in 0..bytes.len() {
        assert!(parse_index_rows(&bytes[..end]).is_err(), "{end}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(
            parse_index_rows(&bytes).map_or(true, |found| found == rows),
            "{bit}"
        );
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_index() {
    let text = [random_fastq(6000), random_fastq(3000)].concat();
    for file in [text.clone(), bgzip_bytes(&text)] {
        let file = TemporaryFile::new(&file);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        let building = BuildOptions {
            threads: 3,
            ..BuildOptions::default()
        };
        let shared = pool.install(|| build_in_memory(&file.0, &building).unwrap());
        assert!(shared == build_in_memory(&file.0, &BuildOptions::default()).unwrap());
    }
}

#[test]
fn intervals_contain_the_residues_from_start_to_stop() {
    let text = [
        &b">one\nACGTACGT\nACGTACGT\nAC\n"[..],
        b">two\r\nACG\r\nTTT\r\nA",
        b"\r\n>odd\nA\nCC\nGTGTG\n",
    ]
    .concat();
    let file = TemporaryFile::new(&text);
    let index = build_and_open_index(&file.0);
    let whole = read_whole_file(&file.0);
    for record in 0..3_usize {
        let (start, end) = (whole.offsets[record], whole.offsets[record + 1]);
        let all = &whole.data[start as usize..end as usize];
        for from in 0..=all.len() {
            for to in from..=all.len() {
                let bounds = (&[from as i64][..], &[to as i64][..]);
                let found = index.fetch_intervals(&[record as i64], bounds, 1).unwrap();
                assert_eq!(found.0, &all[from..to], "{record} {from} {to}");
            }
        }
    }
    assert!(index.fetch_intervals(&[0], (&[0], &[19]), 1).is_err());
    assert!(index.fetch_intervals(&[0], (&[-1], &[2]), 1).is_err());
}

#[test]
fn a_last_record_without_a_line_end_can_be_read_twice() {
    for text in [&b">a\nAC\n>b\nGT"[..], b"@a\nAC\n+\nII\n@b\nGT\n+\nII"] {
        let file = TemporaryFile::new(text);
        let found = build_and_open_index(&file.0)
            .fetch_records(&[1, -1, 0, 1], 1)
            .unwrap();
        assert_eq!(found.data, b"GTGTACGT");
    }
}

#[test]
fn all_records_with_a_duplicate_id_are_found() {
    let file = TemporaryFile::new(b">a x\nA\n>b\nC\n>a\nG\n");
    let index = build_and_open_index(&file.0);
    assert_eq!(index.find_by_id(b"a").unwrap(), [0, 2]);
    assert_eq!(index.find_by_id(b"b").unwrap(), [1]);
    assert_eq!(index.find_by_id(b"x").unwrap(), []);
    assert_eq!(index.fetch_headers(&[1, 0]).unwrap().0, b"ba x");
}

#[test]
fn a_file_truncated_between_records_is_detected() {
    let text = random_fastq(9000);
    let file = TemporaryFile::new(&text);
    let bytes = build_in_memory(&file.0, &BuildOptions::default()).unwrap();
    let rows = parse_index_rows(&bytes).unwrap();
    let border = usize::try_from(rows[8000].begin).unwrap();
    std::fs::write(&file.0, &text[..border]).unwrap();
    assert_eq!(
        Index::from_bytes(&file.0, bytes.clone(), 1).unwrap().1,
        IndexState::Cut
    );
    std::fs::write(&file.0, &text).unwrap();
    let state = Index::from_bytes(&file.0, bytes.clone(), 1).unwrap().1;
    assert!(matches!(state, IndexState::Fresh | IndexState::Touched));
    std::fs::write(&file.0, random_fastq(8999)).unwrap();
    let state = Index::from_bytes(&file.0, bytes, 1).unwrap().1;
    assert_eq!(state, IndexState::Cut);
}

#[test]
fn a_changed_byte_is_an_error_when_its_record_is_read() {
    let text = random_fasta(50);
    let file = TemporaryFile::new(&text);
    let index = build_and_open_index(&file.0);
    let row = index.row(7, &mut index.borrow_cache()).unwrap();
    let mut changed = text.clone();
    let position = usize::try_from(row.begin + u64::from(row.header)).unwrap();
    changed[position] = if changed[position] == b'A' {
        b'C'
    } else {
        b'A'
    };
    std::fs::write(&file.0, changed).unwrap();
    assert!(index.fetch_records(&[6, 8], 1).is_ok());
    let message = index.fetch_records(&[6, 7], 1).unwrap_err().to_string();
    assert!(message.contains("checksum differs"), "{message}");
}
