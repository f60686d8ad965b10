//! Makes small valid sequence files, and their records, as the fuzzer chooses.

use seqloom_sequences::Batch;
use sirocco::deflate::Level;
use sirocco::{Format as Container, compress};

use crate::blocks::valid_bgzip;
use crate::choices::Choices;

/// Maximal number of records of a file.
const MAX_RECORDS: usize = 9;

/// A record: header, sequence, qualities.
pub type Record = (Vec<u8>, Vec<u8>, Vec<u8>);

/// Records and the layout of their lines.
pub struct Records {
    /// The records, in order.
    pub all: Vec<Record>,
    /// True if the records have qualities.
    pub is_fastq: bool,
    width: usize,
    end: &'static str,
    /// True if the last line ends with a line break.
    is_closed: bool,
}

/// The compression of a file.
#[derive(Clone, Copy, PartialEq)]
pub enum Packing {
    /// No compression.
    Plain,
    /// Gzip members with this number of bytes of text.
    Gzip(usize),
    /// Bgzip blocks with this number of bytes of text.
    Bgzip(usize),
}

impl Packing {
    /// Chooses a compression.
    pub fn new(choices: &mut Choices<'_>) -> Self {
        let size = 1 + choices.below(600);
        match choices.byte() % 4 {
            0 | 1 => Self::Plain,
            2 => Self::Gzip(size),
            _ => Self::Bgzip(size),
        }
    }
}

impl Records {
    /// Makes records as the fuzzer chooses.
    pub fn new(choices: &mut Choices<'_>) -> Self {
        let style = choices.byte();
        let is_fastq = style & 1 > 0;
        let count = 1 + choices.below(MAX_RECORDS);
        Self {
            all: (0..count)
                .map(|number| record(number, is_fastq, choices))
                .collect(),
            is_fastq,
            width: if style & 2 > 0 {
                1 + choices.below(90)
            } else {
                usize::MAX
            },
            end: if style & 4 > 0 { "\r\n" } else { "\n" },
            is_closed: style & 8 == 0,
        }
    }

    /// Returns the text of the file.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for record in &self.all {
            self.write(record, &mut text);
        }
        if !self.is_closed && self.all.last().is_some_and(|record| !record.1.is_empty()) {
            text.truncate(text.len() - self.end.len());
        }
        text
    }

    /// Returns the bytes of the file.
    pub fn file(&self, packing: Packing) -> Vec<u8> {
        let text = self.text();
        match packing {
            Packing::Plain => text,
            Packing::Bgzip(size) => valid_bgzip(&text, size),
            Packing::Gzip(size) => {
                let pack = |text: &[u8]| compress(Container::Gzip, Level::DEFAULT, text);
                text.chunks(size).flat_map(pack).collect()
            }
        }
    }

    fn write(&self, (header, letters, qualities): &Record, text: &mut Vec<u8>) {
        let mark = if self.is_fastq { b"@" } else { b">" };
        text.extend([mark, &header[..], self.end.as_bytes()].concat());
        self.lines(letters, text);
        if self.is_fastq {
            text.extend([b"+", self.end.as_bytes()].concat());
            self.lines(qualities, text);
        }
    }

    /// Writes lines of one width. In FASTQ, an empty sequence is an empty line.
    fn lines(&self, letters: &[u8], text: &mut Vec<u8>) {
        for line in letters.chunks(self.width) {
            text.extend([line, self.end.as_bytes()].concat());
        }
        if letters.is_empty() && self.is_fastq {
            text.extend(self.end.as_bytes());
        }
    }
}

fn record(number: usize, is_fastq: bool, choices: &mut Choices<'_>) -> Record {
    let style = choices.byte();
    // Two of sixteen records repeat the id of another record.
    let id = if style & 15 < 2 { 0 } else { number };
    let text = if style & 16 > 0 { " some text" } else { "" };
    let size = choices.below(if style & 32 > 0 { 2000 } else { 60 });
    let pattern = choices.bytes(4);
    let letters = pattern.iter().cycle().take(size).enumerate();
    let letter = |(at, byte): (usize, &u8)| b"ACGTacgtNRYK"[(at / 7 + usize::from(*byte)) % 12];
    let letters: Vec<u8> = letters.map(letter).collect();
    let quality = |at: usize| b'!' + u8::try_from((at * 7 + number) % 94).unwrap_or_default();
    let qualities = if is_fastq {
        (0..letters.len()).map(quality).collect()
    } else {
        Vec::new()
    };
    (format!("r{id}{text}").into_bytes(), letters, qualities)
}

/// Returns the records of a batch.
pub fn of_batch(batch: &Batch) -> Vec<Record> {
    let bound = |offsets: &[i64], row: usize| usize::try_from(offsets[row]).unwrap_or_default();
    let range = |offsets: &[i64], row| bound(offsets, row)..bound(offsets, row + 1);
    let one = |row| {
        let letters = range(&batch.offsets, row);
        let qualities = batch.qualities.get(letters.clone()).unwrap_or_default();
        let header = &batch.headers[range(&batch.header_offsets, row)];
        (
            header.to_vec(),
            batch.data[letters].to_vec(),
            qualities.to_vec(),
        )
    };
    (0..batch.len()).map(one).collect()
}
