//! An index that is open together with its file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use seqloom_core::{Error, Result, error::Fault, number::as_u64};

use super::build::seekable_text;
use super::build_options::BuildOptions;
use super::cache::ReadCache;
use super::errors::path_error;
use super::fai::{FaiRow, detect_format, parse_fai, to_index_rows};
use super::file_changes::{Change, compare_with_stamp, source_stamp};
use super::gzi::{match_blocks, parse_gzi, write_gzi};
use super::index_file::IndexFile;
use super::row::IndexRow;
use super::write::{FileSummary, IndexWriter};
use seqloom_compression::seekable::{AccessPoints, SeekableText};
use seqloom_compression::{Compression, ReadError, disk::DiskFile, index_bytes::IndexBytes};
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::reader::Reader;

/// The maximum number of bytes besides the id in a header line without description.
const MAX_HEADER_MARKER_BYTES: u64 = 3;

/// Random access to the records of a file, for several threads.
pub struct Index {
    pub(super) path: PathBuf,
    pub(super) side: IndexFile,
    pub(super) text: SeekableText,
    /// The caches that threads reuse between calls.
    pub(super) caches: Mutex<Vec<ReadCache>>,
}

/// The kind of change of a file since its index was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// The file did not change.
    Fresh,
    /// The content did not change, but the modification time did.
    Touched,
    /// The file was truncated.
    Cut,
    /// The content changed.
    Changed,
}

impl Index {
    /// Opens an index from a file, and compares it with `path`.
    pub fn open(path: &Path, side: &Path, threads: usize) -> Result<(Self, IndexState)> {
        let image = DiskFile::open(side).and_then(IndexBytes::from_file);
        let image = image.map_err(|error| Error::io(side, &error))?;
        let side = IndexFile::new(image).map_err(|fault| Error::format(side, fault))?;
        Self::open_compared(path, side, threads)
    }

    /// Opens an index from memory, and compares it with `path`.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>, threads: usize) -> Result<(Self, IndexState)> {
        let side = IndexFile::new(IndexBytes::Memory(Arc::new(bytes)));
        Self::open_compared(
            path,
            side.map_err(|fault| Error::format(path, fault))?,
            threads,
        )
    }

    fn open_compared(path: &Path, side: IndexFile, threads: usize) -> Result<(Self, IndexState)> {
        let io = |error| Error::io(path, &error);
        let disk = DiskFile::open(path).map_err(io)?;
        let change =
            compare_with_stamp(&disk, &side.head.source, &side.chunks, threads).map_err(io)?;
        let state = match change {
            Change::None => IndexState::Fresh,
            Change::Touched => IndexState::Touched,
            Change::Cut => IndexState::Cut,
            Change::Other => IndexState::Changed,
        };
        Ok((Self::new(path, side, disk), state))
    }

    fn new(path: &Path, side: IndexFile, disk: DiskFile) -> Self {
        let text = SeekableText {
            disk,
            container: side.container.clone(),
            size: side.head.text,
            image: side.image.clone(),
        };
        Self {
            path: path.to_path_buf(),
            side,
            text,
            caches: Mutex::default(),
        }
    }

    /// Opens a file with the bytes of its `.fai`, and of its `.gzi` if it is bgzip. The
    /// index files are compared with the FASTA or FASTQ file.
    pub fn open_with_fai(
        path: &Path,
        fai: (&Path, &[u8]),
        gzi: Option<(&Path, &[u8])>,
    ) -> Result<Self> {
        let lines = parse_fai(fai.1).map_err(|fault| Error::format(fai.0, fault))?;
        let disk = DiskFile::open(path).map_err(|error| Error::io(path, &error))?;
        let reader = Reader::open(path, &ReaderOptions::default())?;
        if reader.compression() == Compression::Gzip {
            let fault = Fault::of_file("a .fai needs an uncompressed or bgzip file, found gzip");
            return Err(Error::format(path, fault));
        }
        if reader.format() != detect_format(&lines) {
            return Err(Error::format(
                fai.0,
                Fault::of_file(format!("is not an index of {}", reader.format())),
            ));
        }
        let text =
            seekable_text(disk, reader.compression()).map_err(|error| path_error(path, error))?;
        if let Some((name, bytes)) = gzi {
            check_gzi(&text, bytes).map_err(|fault| Error::format(name, fault))?;
        }
        let end = lines.last().map_or(0, FaiRow::end);
        let rows = to_index_rows(&lines, text.size).map_err(|fault| Error::format(fai.0, fault))?;
        let index = Self::from_fai_rows(path, reader.format(), reader.compression(), text, &rows)?;
        index.check_headers(fai.0, &rows, &lines)?;
        index.check_end(fai.0, end)?;
        Ok(index)
    }

    fn from_fai_rows(
        path: &Path,
        format: Format,
        compression: Compression,
        text: SeekableText,
        rows: &[(IndexRow, u64)],
    ) -> Result<Self> {
        let io = |error: std::io::Error| path_error(path, ReadError::Io(error));
        let mut writer = IndexWriter::new(std::io::Cursor::new(Vec::new()), false).map_err(io)?;
        rows.iter()
            .try_for_each(|(row, name)| writer.write_row(*row, *name))
            .map_err(io)?;
        // A .fai contains no checksums, so the checksums of the current content are
        // stored.
        let chunks =
            super::file_changes::hash_chunks(&text.disk, &BuildOptions::default()).map_err(io)?;
        let whole = FileSummary {
            format,
            compression,
            source: source_stamp(&text.disk, &chunks),
            text: text.size,
            container: text.container,
            windows: Vec::new(),
            chunks,
        };
        let bytes = writer.write_tables(whole).map_err(io)?.into_inner();
        let side = IndexFile::new(IndexBytes::Memory(Arc::new(bytes)));
        let side = side.map_err(|fault| Error::format(path, fault))?;
        Ok(Self::new(path, side, text.disk))
    }

    /// Checks that the headers are at the positions of a `.fai`. All headers with a
    /// description are checked, because another record could fit between such a header
    /// and its residues. A sample of the headers without description is checked.
    fn check_headers(&self, fai: &Path, rows: &[(IndexRow, u64)], ids: &[FaiRow]) -> Result<()> {
        /// The number of headers without description that are checked.
        const MAX_CHECKED_HEADERS: usize = 1000;
        let step = rows.len().div_ceil(MAX_CHECKED_HEADERS).max(1);
        let last = rows.len().saturating_sub(1);
        let mut cache = ReadCache::default();
        for (position, ((row, name), id)) in rows.iter().zip(ids).enumerate() {
            let is_bare = u64::from(row.header) <= as_u64(id.name.len()) + MAX_HEADER_MARKER_BYTES;
            if is_bare && position % step != 0 && position != last {
                continue;
            }
            let found = self.read_header(row, &mut cache);
            let is_same = found.is_ok_and(|header| {
                seqloom_compression::checksum::hash_64(super::row::id_of(&header)) == *name
            });
            if !is_same {
                let what = format!(
                    "record {position} is not at its position; the file has changed, or the index \
                     lacks records"
                );
                return Err(Error::format(
                    fai,
                    Fault::of_file(self.incomplete_index_message(&what)),
                ));
            }
        }
        Ok(())
    }

    /// Checks that only line ends follow the last record of a `.fai`, which ends at `end`.
    fn check_end(&self, fai: &Path, end: u64) -> Result<()> {
        const MAX_CHECKED_END_BYTES: u64 = 64 << 10;
        let mut cache = ReadCache::default();
        let (mut text, mut begin) = (Vec::new(), end);
        while begin < self.text.size {
            let next = self.text.size.min(begin + MAX_CHECKED_END_BYTES);
            text.clear();
            (self.text)
                .read_range(begin..next, &mut text, &mut cache.text)
                .map_err(|error| self.path_error(error))?;
            let rest = text.trim_ascii_start();
            if !rest.is_empty() {
                let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let next_line: String = String::from_utf8_lossy(line).chars().take(40).collect();
                let what = format!(
                    "lacks the records after its last one, which ends at byte {end}; the file \
                     continues with {next_line:?}"
                );
                return Err(Error::format(
                    fai,
                    Fault::of_file(self.incomplete_index_message(&what)),
                ));
            }
            begin = next;
        }
        Ok(())
    }

    /// Returns a message about a `.fai`, with the command that creates a complete index.
    fn incomplete_index_message(&self, what: &str) -> String {
        format!(
            "{what}; create an index of all records: seqloom index {}",
            self.path.display()
        )
    }

    /// Returns the number of records.
    pub fn len(&self) -> u64 {
        self.side.head.records
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of residues in all records.
    pub fn residue_count(&self) -> u64 {
        self.side.head.letters
    }

    /// Returns the format of the records.
    pub fn format(&self) -> Format {
        self.side.head.format
    }

    /// Returns the compression of the file.
    pub fn compression(&self) -> Compression {
        self.side.head.compression
    }

    /// Returns the hash of the whole file when it was indexed.
    pub fn content_hash(&self) -> u64 {
        self.side.head.source.content
    }

    /// Returns the bytes of the index, if the index is in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.side.image {
            IndexBytes::Memory(bytes) => Some(bytes),
            IndexBytes::File(_) => None,
        }
    }

    /// Returns the bytes of a `.gzi` file, for bgzip.
    pub fn gzi_bytes(&self) -> Option<Vec<u8>> {
        match &self.text.container {
            AccessPoints::Bgzip(blocks) => Some(write_gzi(blocks)),
            _ => None,
        }
    }
}

fn check_gzi(text: &SeekableText, bytes: &[u8]) -> std::result::Result<(), Fault> {
    let entries = parse_gzi(bytes)?;
    match &text.container {
        AccessPoints::Bgzip(blocks) if match_blocks(&entries, blocks) => Ok(()),
        AccessPoints::Bgzip(_) => Err(Fault::of_file(
            "does not match the file: its blocks have other positions; the file has changed, or \
             blocks are missing; remove it or create it again (seqloom index --overwrite --fai)",
        )),
        _ => Err(Fault::of_file("exists, but the file is not bgzip")),
    }
}
