//! Reads the records of several files, one file after another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_compression::Compression;
use seqloom_core::{Error, Result, error::Fault};
use seqloom_index::{Index, open_reader, open_reader_at_record};
use seqloom_sequences::{Batch, Reader, ReaderOptions};

use super::row::Origin;

/// Maximum number of records of one read.
const RECORDS_PER_READ: usize = 4096;
/// Maximum number of residues of one read, so that they remain in the cache until they are
/// used.
const RESIDUES_PER_READ: usize = 1 << 19;

/// A file and its optional index.
#[derive(Clone)]
pub struct SequenceFile {
    /// The path as the caller gave it.
    pub path: PathBuf,
    /// The index, with which reading can begin at any record.
    pub index: Option<Arc<Index>>,
}

/// Reads the records of files, beginning at any record.
pub struct RecordFiles {
    inputs: Vec<SequenceFile>,
    options: ReaderOptions,
    /// The position of the next record.
    at: Origin,
    /// The number of the record at which reading ends (exclusive) in the last file.
    stop: u64,
    open: Option<FileAccess>,
}

/// The method by which a file is read.
enum FileAccess {
    /// The file is read sequentially, after this number of records is skipped.
    Reader(Box<Reader>, u64),
    /// Records are read by number.
    Index(Arc<Index>),
}

impl RecordFiles {
    /// Creates a reader that begins at `at`. `stop` is the end (exclusive) of the
    /// records of the last file.
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

    /// Returns the path of a file.
    pub fn path(&self, file: usize) -> &Path {
        let input = self.inputs.get(file);
        input.map_or(Path::new(""), |input| &input.path)
    }

    /// Reads records into `batch`, and returns the position of the first of these
    /// records, or `None` after the last record.
    pub fn read_batch(&mut self, batch: &mut Batch) -> Result<Option<Origin>> {
        while let Some(input) = self.inputs.get(self.at.file) {
            let input = input.clone();
            let open = match self.open.take() {
                Some(open) => open,
                None => self.open_file(&input)?,
            };
            let is_more = self.read_from_file(open, &input, batch)?;
            if is_more {
                let first = self.at;
                self.at = first.advance_by(batch.len() as u64);
                return Ok(Some(first));
            }
            self.at = self.at.next_file();
        }
        Ok(None)
    }

    fn open_file(&self, input: &SequenceFile) -> Result<FileAccess> {
        let record = self.at.record;
        let reader = |reader, skipped| Ok(FileAccess::Reader(Box::new(reader), skipped));
        let Some(index) = &input.index else {
            return reader(open_reader(&input.path, &self.options)?, record);
        };
        if index.compression() == Compression::Gzip && record < index.len() {
            // If reading cannot begin in the middle of the file, records are read by
            // number.
            if let Ok(found) = open_reader_at_record(&input.path, &self.options, record) {
                return reader(found, 0);
            }
        }
        Ok(FileAccess::Index(Arc::clone(index)))
    }

    fn read_from_file(
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
                skip_records(&mut reader, skipped, batch)?;
                let limit = RECORDS_PER_READ.min(usize::try_from(left).unwrap_or(RECORDS_PER_READ));
                let is_more = reader.refill_batch(batch, limit, RESIDUES_PER_READ)?;
                if !is_more && self.stop < u64::MAX {
                    return Err(too_few_records(&input.path));
                }
                self.open = is_more.then_some(FileAccess::Reader(reader, 0));
                Ok(is_more)
            }
            FileAccess::Index(index) => {
                *batch = fetch_by_number(&index, self.at.record, self.stop)?;
                self.open = Some(FileAccess::Index(index)).filter(|_| !batch.is_empty());
                Ok(!batch.is_empty())
            }
        }
    }
}

/// Skips records.
fn skip_records(reader: &mut Reader, mut records: u64, batch: &mut Batch) -> Result<()> {
    while records > 0 {
        let limit = RECORDS_PER_READ.min(usize::try_from(records).unwrap_or(RECORDS_PER_READ));
        if !reader.refill_batch(batch, limit, RESIDUES_PER_READ)? {
            return Ok(());
        }
        records -= batch.len() as u64;
    }
    Ok(())
}

/// Reads records by number.
fn fetch_by_number(index: &Index, record: u64, stop: u64) -> Result<Batch> {
    let mean = (index.residue_count() / index.len().max(1)).max(1);
    let limit = (RESIDUES_PER_READ as u64 / mean).clamp(1, RECORDS_PER_READ as u64);
    let stop = stop.min(index.len()).min(record.saturating_add(limit));
    let numbers: Vec<i64> = (record..stop).map(u64::cast_signed).collect();
    index.fetch_records(&numbers, 1)
}

fn too_few_records(path: &Path) -> Error {
    Error::format(path, Fault::of_file("has fewer records than its index"))
}
