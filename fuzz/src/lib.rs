//! Common checks of all targets. A reader never panics or aborts. A reader returns the
//! same records and the same error for any size of input chunks and any number of
//! threads.

pub mod blocks;
pub mod built;
pub mod choices;
pub mod documents;
pub mod encoded;
pub mod exported;
pub mod genotypes;
pub mod indexed;
pub mod memory;
pub mod packed;
pub mod parts;
pub mod predicted;
pub mod records;
pub mod scratch;
pub(crate) mod slow;
pub mod stateful;
pub mod streams;
pub mod tracks;
pub mod variants;

use std::io::{self, Cursor, Read};
use std::path::Path;

use seqloom_compression::input::BufferedInput;
use seqloom_core::Result;
use seqloom_sequences::options::{Format, OnError};
use seqloom_sequences::{Batch, Reader, ReaderOptions};

/// Reads `bytes` as a whole and in small chunks, and compares the results.
pub fn read_in_all_ways(bytes: &[u8], format: Option<Format>) {
    let options = ReaderOptions {
        format,
        ..ReaderOptions::default()
    };
    let whole = outcome(bytes, usize::MAX, &options);
    let size = usize::from(bytes.last().copied().unwrap_or(0)) % 7 + 1;
    assert_eq!(whole, outcome(bytes, size, &options), "in pieces of {size}");
    let skipping = ReaderOptions {
        on_error: OnError::Skip,
        ..options
    };
    let whole = outcome(bytes, usize::MAX, &skipping);
    assert_eq!(
        whole,
        outcome(bytes, size, &skipping),
        "skipping, in pieces of {size}"
    );
}

/// Returns all records, and the error that ended the read, if any.
fn outcome(bytes: &[u8], size: usize, options: &ReaderOptions) -> (Vec<Batch>, Option<String>) {
    let pieces = SmallReads::new(bytes, size);
    let mut batches = Vec::new();
    let error = read_all(pieces, options, &mut batches).err();
    (batches, error.map(|error| error.to_string()))
}

fn read_all(pieces: SmallReads, options: &ReaderOptions, batches: &mut Vec<Batch>) -> Result<()> {
    let input = BufferedInput::new(Box::new(pieces));
    let mut reader = Reader::new(Path::new("fuzz"), input, options)?;
    while let Some(batch) = reader.read_batch(3, 1 << 16)? {
        batches.push(batch);
    }
    Ok(())
}

/// A stream that returns a limited number of bytes per read.
pub(crate) struct SmallReads(Cursor<Vec<u8>>, usize);

impl SmallReads {
    pub(crate) fn new(bytes: &[u8], size: usize) -> Self {
        Self(Cursor::new(bytes.to_vec()), size)
    }
}

impl Read for SmallReads {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = out.len().min(self.1);
        self.0.read(&mut out[..size])
    }
}
