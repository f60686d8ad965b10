//! Functions for tests that read whole files.
#![allow(
    dead_code,
    clippy::allow_attributes,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "each test uses some of these functions, and prints skipped tests"
)]

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use seqloom_compression::input::BufferedInput;
use seqloom_core::Result;
use seqloom_sequences::{Batch, Reader, ReaderOptions};

/// An input that returns at most the given number of bytes per read.
struct SmallReads(Cursor<Vec<u8>>, usize);

impl Read for SmallReads {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let size = out.len().min(self.1);
        self.0.read(&mut out[..size])
    }
}

/// A record as a tuple of header, residues and qualities.
pub(crate) type RecordBytes = (Vec<u8>, Vec<u8>, Vec<u8>);

pub(crate) fn open(file: &[u8], chunk_size: usize, options: &ReaderOptions) -> Result<Reader> {
    let reads = SmallReads(Cursor::new(file.to_vec()), chunk_size);
    Reader::new(Path::new("x"), BufferedInput::new(Box::new(reads)), options)
}

/// Reads all records of a file in chunks, or returns the first error.
pub(crate) fn read_as(
    file: &[u8],
    chunk_size: usize,
    options: &ReaderOptions,
) -> Result<Vec<RecordBytes>> {
    let mut reader = open(file, chunk_size, options)?;
    let mut records = Vec::new();
    let mut batch = Batch::default();
    while reader.refill_batch(&mut batch, 3, usize::MAX)? {
        records.extend((0..batch.len()).map(|row| record(&batch, row)));
    }
    Ok(records)
}

pub(crate) fn read(file: &[u8]) -> Result<Vec<RecordBytes>> {
    read_as(file, usize::MAX, &ReaderOptions::default())
}

fn record(batch: &Batch, row: usize) -> RecordBytes {
    let range = |offsets: &[i64]| {
        let bound = |at: usize| usize::try_from(offsets[at]).unwrap();
        bound(row)..bound(row + 1)
    };
    let letters = range(&batch.offsets);
    let qualities = batch.qualities.get(letters.clone());
    let qualities = qualities.unwrap_or_default().to_vec();
    let header = batch.headers[range(&batch.header_offsets)].to_vec();
    (header, batch.data[letters].to_vec(), qualities)
}

/// Returns a folder of real data files. Prints a message and returns `None` if the
/// folder does not exist.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("SEQLOOM_DATA") else {
        eprintln!("SKIPPED: SEQLOOM_DATA does not name the folder of the real data");
        return None;
    };
    Some(Path::new(&data).join(name))
}

/// Returns the names and contents of the files in a folder, in order.
pub(crate) fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    let Some(folder) = folder(name) else {
        return Vec::new();
    };
    let mut records: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    records.sort();
    records
}
