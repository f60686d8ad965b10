//! Changes numbers in valid index files and corrects all checksums, to test how the
//! numbers are validated.

use std::fs;
use std::ops::Range;
use std::path::Path;

use seqloom_index::{
    BuildOptions, Index, build_in_memory, open_reader_at_record, parse_index_rows,
};
use seqloom_sequences::ReaderOptions;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::choices::Choices;
use crate::memory::watch;
use crate::records::{Packing, Records};
use crate::scratch;

/// Maximal size of one memory allocation, which is enough because files are small.
const MAX_ALLOCATION_BYTES: usize = 8 << 20;
/// Number of integers in the header; the last integer is the hash of the header.
const HEADER_NUMBERS: usize = 22;
/// Index of the size of the text in the header.
const TEXT_SIZE_FIELD: usize = 8;
const COUNT_FIELD: usize = 9;
const ROWS_FIELD: usize = 11;
const NAMES_FIELD: usize = 12;
const PIECES_FIELD: usize = 13;
const CHUNKS_FIELD: usize = 16;
/// Size of a row in bytes.
const ROW_BYTES: usize = 40;
const NAME_BYTES: usize = 16;
const SPAN_BYTES: usize = 36;
/// Number of entries of a page.
const PAGE_ENTRIES: usize = 64;

/// Makes a file and its index as the fuzzer chooses, changes the index, and reads
/// records.
pub fn run(mut choices: Choices<'_>) {
    let records = Records::new(&mut choices);
    let packing = Packing::new(&mut choices);
    let path = scratch::write("indexed", &records.file(packing));
    let Ok(index) = build_in_memory(&path, &BuildOptions::default()) else {
        return;
    };
    let mut image = Image(index);
    for _ in 0..1 + choices.below(6) {
        image.change(&mut choices);
    }
    image.seal();
    watch(MAX_ALLOCATION_BYTES, || {
        look_up(&path, &image.0, &mut choices)
    });
}

/// Opens an index and reads from it.
fn look_up(path: &Path, image: &[u8], choices: &mut Choices<'_>) {
    let _ = parse_index_rows(image);
    if let Ok((index, _)) = Index::from_bytes(path, image.to_vec(), 1) {
        query(&index, choices);
    }
    let side = path.with_extension("sli");
    fs::write(&side, image).expect("the folder is writable");
    let options = ReaderOptions {
        threads: 2,
        ..ReaderOptions::default()
    };
    if let Ok(mut reader) = open_reader_at_record(path, &options, choices.number() % 4) {
        while let Ok(Some(_)) = reader.read_batch(2, 1 << 10) {}
    }
}

fn query(index: &Index, choices: &mut Choices<'_>) {
    let count = i64::try_from(index.len()).unwrap_or(i64::MAX);
    let numbers: Vec<i64> = (-2..count.min(6)).chain([count, count - 1]).collect();
    for number in &numbers {
        let _ = (
            index.fetch_records(&[*number], 1),
            index.fetch_headers(&[*number]),
        );
        let _ = index.fetch_intervals(&[*number], (&[0], &[1]), 1);
        let bounds = [choices.number(), choices.number()].map(u64::cast_signed);
        let _ = index.fetch_intervals(&[*number], (&bounds[..1], &bounds[1..]), 1);
    }
    let _ = (
        index.fetch_records(&numbers[2..], 1),
        index.fetch_records(&[2, 0, 1], 1),
    );
    let _ = (
        index.record_lengths(0..9),
        index.gzi_bytes(),
        index.fai_lines(0..9, &mut [].into()),
    );
    for id in [&b""[..], b"r0", b"r1", b"r2"] {
        let _ = index.find_by_id(id);
    }
}

/// The bytes of an index.
struct Image(Vec<u8>);

impl Image {
    /// Returns an integer of the header.
    fn head(&self, number: usize) -> usize {
        let bytes = self.0[number * 8..].first_chunk();
        bytes.map_or(0, |bytes| {
            usize::try_from(u64::from_le_bytes(*bytes)).unwrap_or(usize::MAX)
        })
    }

    /// Changes a number of an entry, a table or the header.
    fn change(&mut self, choices: &mut Choices<'_>) {
        let count = self.head(COUNT_FIELD).clamp(1, PAGE_ENTRIES);
        let (kind, entry) = (choices.byte() % 8, choices.below(count));
        let (at, size) = match kind {
            0 => (TEXT_SIZE_FIELD * 8, 8),
            1 => ((2 + choices.below(HEADER_NUMBERS - 3)) * 8, 8),
            2 | 3 => (
                self.head(ROWS_FIELD)
                    .saturating_add(entry * ROW_BYTES + choices.below(3) * 8),
                8,
            ),
            4 => (
                self.head(ROWS_FIELD)
                    .saturating_add(entry * ROW_BYTES + 24 + choices.below(4) * 4),
                4,
            ),
            5 => (
                self.head(NAMES_FIELD)
                    .saturating_add(entry * NAME_BYTES + choices.below(2) * 8),
                8,
            ),
            6 => (
                self.head(PIECES_FIELD)
                    .saturating_add(choices.below(24) * 4),
                8,
            ),
            _ => (
                self.head(CHUNKS_FIELD).saturating_add(choices.below(2) * 8),
                8,
            ),
        };
        let number = choices.number().to_le_bytes();
        if let Some(found) = self.part(at..at.saturating_add(size)) {
            found.copy_from_slice(&number[..size]);
        }
    }

    fn part(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        self.0.get_mut(range)
    }

    /// Corrects all checksums, from the innermost to that of the header.
    fn seal(&mut self) {
        self.seal_windows();
        self.seal_pages(ROWS_FIELD, ROW_BYTES);
        self.seal_pages(NAMES_FIELD, NAME_BYTES);
        for table in [PIECES_FIELD, CHUNKS_FIELD] {
            let at = self.head(table);
            let range = at..at.saturating_add(self.head(table + 1));
            let hash = self.part(range).map(|bytes| xxh3_64(bytes));
            self.write(table + 2, hash.unwrap_or_default());
        }
        let hash = xxh3_64(&self.0[..(HEADER_NUMBERS - 1) * 8]);
        self.write(HEADER_NUMBERS - 1, hash);
    }

    fn write(&mut self, number: usize, value: u64) {
        self.0[number * 8..][..8].copy_from_slice(&value.to_le_bytes());
    }

    fn seal_pages(&mut self, column: usize, entry: usize) {
        let (mut at, mut left) = (self.head(column), self.head(COUNT_FIELD));
        for number in 0.. {
            let size = left.min(PAGE_ENTRIES) * entry;
            let page = self.part(at..at.saturating_add(size).saturating_add(8));
            let Some((page, hash)) = page
                .filter(|_| left > 0)
                .map(|page| page.split_at_mut(size))
            else {
                return;
            };
            hash.copy_from_slice(&xxh3_64_with_seed(page, number).to_le_bytes());
            (at, left) = (at + size + 8, left.saturating_sub(PAGE_ENTRIES));
        }
    }

    /// Corrects the checksums of the text before each gzip position.
    fn seal_windows(&mut self) {
        let at = self.head(PIECES_FIELD);
        let range = at..at.saturating_add(self.head(PIECES_FIELD + 1));
        let spans = self
            .part(range)
            .map(|bytes| bytes.to_vec())
            .unwrap_or_default();
        for (number, span) in spans.chunks_exact(SPAN_BYTES).enumerate() {
            let wide = span[16..]
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let size = span[24..]
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let start = usize::try_from(wide).unwrap_or(usize::MAX);
            let window = self.part(start..start.saturating_add(size as usize));
            let sum = window.map(|window| xxh3_64(window)).unwrap_or_default();
            let at = at + number * SPAN_BYTES + 28;
            self.0[at..at + 4].copy_from_slice(&sum.to_le_bytes()[..4]);
        }
    }
}
