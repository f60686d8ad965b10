//! Records of files, one file after the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_compression::Compression;
use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};
use seqloom_index::{Index, open_reader, open_reader_at};
use seqloom_sequences::{Batch, Reader, ReaderOptions};

use super::row::Origin;

/// So much is read at once: it is used while it is in the processor's caches.
const RECORDS: usize = 4096;
const BYTES: usize = 1 << 19;

/// A file, and its index where it is known.
#[derive(Clone)]
pub struct SequenceFile {
    /// The path as it was given.
    pub path: PathBuf,
    /// With it the file is read from any record on.
    pub index: Option<Arc<Index>>,
}

/// Reads the records of files, from any record on.
pub struct RecordFiles {
    inputs: Vec<SequenceFile>,
    options: ReaderOptions,
    /// The next record.
    at: Origin,
    /// The number of the first record of the file that is not read.
    stop: u64,
    open: Option<FileAccess>,
}

/// How a file is read.
enum FileAccess {
    /// From one record to the next; so many are left out first.
    Reader(Box<Reader>, u64),
    /// By the numbers of the records.
    Index(Arc<Index>),
}

impl RecordFiles {
    /// Begins at a record. `stop` ends the last file before the record of that number.
    pub fn new(
        inputs: Vec<SequenceFile>,
        options: ReaderOptions,
        at: Origin,
        stop: Option<u64>,
    ) -> Self {
        Self {
            inputs,
            options,
            at,
            stop: stop.unwrap_or(u64::MAX),
            open: None,
        }
    }

    /// The path of a file.
    pub fn path(&self, file: usize) -> &Path {
        let input = self.inputs.get(file);
        input.map_or(Path::new(""), |input| &input.path)
    }

    /// Reads some records into `batch`, and says where the first of them stands; nothing at
    /// the end.
    pub fn read(&mut self, batch: &mut Batch) -> Result<Option<Origin>> {
        while let Some(input) = self.inputs.get(self.at.file) {
            let input = input.clone();
            let open = match self.open.take() {
                Some(open) => open,
                None => self.open(&input)?,
            };
            let is_more = self.read_from(open, &input, batch)?;
            if is_more {
                let first = self.at;
                self.at = first.plus(batch.len() as u64);
                return Ok(Some(first));
            }
            self.at = self.at.next_file();
        }
        Ok(None)
    }

    fn open(&self, input: &SequenceFile) -> Result<FileAccess> {
        let record = self.at.record;
        let reader = |reader, skipped| Ok(FileAccess::Reader(Box::new(reader), skipped));
        let Some(index) = &input.index else {
            return reader(open_reader(&input.path, &self.options)?, record);
        };
        if index.compression() == Compression::Gzip && record < index.len() {
            // Where the index lies elsewhere, records are fetched.
            if let Ok(found) = open_reader_at(&input.path, &self.options, record) {
                return reader(found, 0);
            }
        }
        Ok(FileAccess::Index(Arc::clone(index)))
    }

    fn read_from(
        &mut self,
        open: FileAccess,
        input: &SequenceFile,
        batch: &mut Batch,
    ) -> Result<bool> {
        let left = self.stop.saturating_sub(self.at.record);
        if left == 0 {
            return Ok(false);
        }
        match open {
            FileAccess::Reader(mut reader, skipped) => {
                pass(&mut reader, skipped, batch)?;
                let most = RECORDS.min(usize::try_from(left).unwrap_or(RECORDS));
                let is_more = reader.read_into(batch, most, BYTES)?;
                if !is_more && self.stop < u64::MAX {
                    return Err(few(&input.path));
                }
                self.open = is_more.then_some(FileAccess::Reader(reader, 0));
                Ok(is_more)
            }
            FileAccess::Index(index) => {
                *batch = fetch(&index, self.at.record, self.stop)?;
                self.open = Some(FileAccess::Index(index)).filter(|_| !batch.is_empty());
                Ok(!batch.is_empty())
            }
        }
    }
}

/// Leaves out so many records.
fn pass(reader: &mut Reader, mut records: u64, batch: &mut Batch) -> Result<()> {
    while records > 0 {
        let most = RECORDS.min(usize::try_from(records).unwrap_or(RECORDS));
        if !reader.read_into(batch, most, BYTES)? {
            return Ok(());
        }
        records -= batch.len() as u64;
    }
    Ok(())
}

/// Some records by their numbers.
fn fetch(index: &Index, record: u64, stop: u64) -> Result<Batch> {
    let mean = (index.letters() / index.len().max(1)).max(1);
    let most = (BYTES as u64 / mean).clamp(1, RECORDS as u64);
    let stop = stop.min(index.len()).min(record.saturating_add(most));
    let numbers: Vec<i64> = (record..stop).map(u64::cast_signed).collect();
    index.fetch_many(&numbers, 1)
}

fn few(path: &Path) -> Error {
    Error::format(path, Fault::whole("fewer records than its index has"))
}
