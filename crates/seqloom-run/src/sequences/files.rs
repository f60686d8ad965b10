//! Reads several files of one format, one after the other.

use std::path::{Path, PathBuf};

use seqloom_compression::input::BufferedInput;
use seqloom_core::{Error, Result, error::Fault, number::as_u64};
use seqloom_sequences::{Batch, Reader, ReaderOptions, options::Format};

use super::records::Records;

/// A reader of the records of several files.
pub(crate) struct FileRecords {
    paths: std::vec::IntoIter<PathBuf>,
    /// A stream to read instead of the first file.
    stream: Option<BufferedInput>,
    options: ReaderOptions,
    open: Option<OpenFile>,
    first: Option<(PathBuf, Format)>,
    piece: Batch,
}

/// A file that is being read.
struct OpenFile {
    reader: Reader,
    records: u64,
}

impl FileRecords {
    /// Creates a reader of files. Qualities are read if the options request them.
    pub(crate) fn new(paths: Vec<PathBuf>, options: &ReaderOptions) -> Self {
        Self {
            paths: paths.into_iter(),
            stream: None,
            options: options.clone(),
            open: None,
            first: None,
            piece: Batch::default(),
        }
    }

    /// Creates a reader of a stream. Error messages call the stream `name`.
    pub(crate) fn of_stream(name: &Path, stream: BufferedInput, options: &ReaderOptions) -> Self {
        Self {
            stream: Some(stream),
            ..Self::new(vec![name.to_path_buf()], options)
        }
    }

    /// Adds up to `most` records with about `bytes` bytes of residues. Returns the
    /// number of added records, which is 0 at the end of the last file.
    pub(super) fn read(
        &mut self,
        records: &mut Records,
        (most, bytes): (usize, usize),
    ) -> Result<usize> {
        loop {
            let Some(open) = &mut self.open else {
                match self.paths.next() {
                    Some(path) => self.open = Some(self.start(&path)?),
                    None => return Ok(0),
                }
                continue;
            };
            if open.reader.refill_batch(&mut self.piece, most, bytes)? {
                records.append(&self.piece, (open.reader.path(), open.records));
                open.records += as_u64(self.piece.len());
                return Ok(self.piece.len());
            }
            self.open = None;
        }
    }

    /// Adds `wanted` records of any length, or all remaining records if there are
    /// fewer. Returns the number of added records.
    pub(super) fn read_all(&mut self, records: &mut Records, wanted: usize) -> Result<usize> {
        let mut missing = wanted;
        while missing > 0 {
            match self.read(records, (missing, usize::MAX))? {
                0 => break,
                found => missing = missing.saturating_sub(found),
            }
        }
        Ok(wanted - missing)
    }

    fn start(&mut self, path: &Path) -> Result<OpenFile> {
        let reader = match self.stream.take() {
            Some(stream) => Reader::new(path, stream, &self.options),
            None => Reader::open(path, &self.options),
        }?;
        self.check(&reader)?;
        Ok(OpenFile { reader, records: 0 })
    }

    /// Returns an error if some files have qualities and others do not, or if a file
    /// lacks the qualities that the model reads.
    fn check(&mut self, reader: &Reader) -> Result<()> {
        let (path, format) = (reader.path(), reader.format());
        if self.options.with_qualities && format == Format::Fasta {
            return Err(Error::format(
                path,
                Fault::of_file(
                    "the model reads the qualities of FASTQ, but the records have none; give \
                     FASTQ files",
                ),
            ));
        }
        let known = self
            .first
            .get_or_insert_with(|| (path.to_path_buf(), format));
        if known.1 == format {
            return Ok(());
        }
        let name = |format| match format {
            Format::Fasta => "FASTA",
            Format::Fastq => "FASTQ",
        };
        let message = format!(
            "{}, but {} is {}; score each file separately",
            name(format),
            known.0.display(),
            name(known.1)
        );
        Err(Error::format(path, Fault::of_file(message)))
    }
}
