//! An index, open together with its file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use seqloom_core::error::Fault;
use seqloom_core::number::as_u64;
use seqloom_core::{Error, Result};

use super::build::text_of;
use super::building::Building;
use super::cache::Cache;
use super::fai::{FaiRow, format_of, parse_fai, to_rows};
use super::gzi::{agrees, parse_gzi, write_gzi};
use super::row::IndexRow;
use super::side::IndexFile;
use super::stamp::{Change, compare, stamp};
use super::trouble::translate;
use super::write::{FileSummary, IndexWriter};
use seqloom_compression::disk::Disk;
use seqloom_compression::image::IndexBytes;
use seqloom_compression::seekable::{Container, Seekable};
use seqloom_compression::{Compression, Trouble};
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::reader::Reader;

/// The bytes of a header besides its id: the mark, and the end of the line.
const LONGEST_FRAME: u64 = 3;

/// Records at any position of a file, by many threads at once.
pub struct Index {
    pub(super) path: PathBuf,
    pub(super) side: IndexFile,
    pub(super) text: Seekable,
    /// The caches that threads keep between calls.
    pub(super) caches: Mutex<Vec<Cache>>,
}

/// Whether an index belongs to the current content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// It is.
    Fresh,
    /// It is, though the file's time has changed.
    Touched,
    /// The file is the same up to its end, which comes earlier.
    Cut,
    /// The file is another.
    Changed,
}

impl Index {
    /// Opens an index that was kept in a file, and compares it with `path`.
    pub fn open(path: &Path, side: &Path, threads: usize) -> Result<(Self, IndexState)> {
        let image = Disk::open(side).and_then(IndexBytes::of);
        let image = image.map_err(|error| Error::io(side, &error))?;
        let side = IndexFile::new(image).map_err(|fault| Error::format(side, fault))?;
        Self::compared(path, side, threads)
    }

    /// Opens an index that was kept in memory, and compares it with `path`.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>, threads: usize) -> Result<(Self, IndexState)> {
        let side = IndexFile::new(IndexBytes::Memory(Arc::new(bytes)));
        Self::compared(
            path,
            side.map_err(|fault| Error::format(path, fault))?,
            threads,
        )
    }

    fn compared(path: &Path, side: IndexFile, threads: usize) -> Result<(Self, IndexState)> {
        let io = |error| Error::io(path, &error);
        let disk = Disk::open(path).map_err(io)?;
        let change = compare(&disk, &side.head.source, &side.chunks, threads).map_err(io)?;
        let state = match change {
            Change::None => IndexState::Fresh,
            Change::Touched => IndexState::Touched,
            Change::Cut => IndexState::Cut,
            Change::Other => IndexState::Changed,
        };
        Ok((Self::new(path, side, disk), state))
    }

    fn new(path: &Path, side: IndexFile, disk: Disk) -> Self {
        let text = Seekable {
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

    /// Opens a file by its `.fai`, and its `.gzi` if it is bgzip and has one:
    /// the bytes of both. What they say is compared with the file.
    pub fn from_standard(
        path: &Path,
        fai: (&Path, &[u8]),
        gzi: Option<(&Path, &[u8])>,
    ) -> Result<Self> {
        let lines = parse_fai(fai.1).map_err(|fault| Error::format(fai.0, fault))?;
        let disk = Disk::open(path).map_err(|error| Error::io(path, &error))?;
        let reader = Reader::open(path, &ReaderOptions::default())?;
        if reader.compression() == Compression::Gzip {
            let fault = Fault::whole("a .fai does not suffice for gzip that is no bgzip");
            return Err(Error::format(path, fault));
        }
        if reader.format() != format_of(&lines) {
            return Err(Error::format(
                fai.0,
                Fault::whole(format!("is no index of {}", reader.format())),
            ));
        }
        let text =
            text_of(disk, reader.compression()).map_err(|trouble| translate(path, trouble))?;
        if let Some((name, bytes)) = gzi {
            check_gzi(&text, bytes).map_err(|fault| Error::format(name, fault))?;
        }
        let end = lines.last().map_or(0, FaiRow::end);
        let rows = to_rows(&lines, text.size).map_err(|fault| Error::format(fai.0, fault))?;
        let index = Self::of_rows(path, reader.format(), reader.compression(), text, &rows)?;
        index.check_headers(fai.0, &rows, &lines)?;
        index.check_end(fai.0, end)?;
        Ok(index)
    }

    fn of_rows(
        path: &Path,
        format: Format,
        compression: Compression,
        text: Seekable,
        rows: &[(IndexRow, u64)],
    ) -> Result<Self> {
        let io = |error: std::io::Error| translate(path, Trouble::Io(error));
        let mut writer = IndexWriter::new(std::io::Cursor::new(Vec::new()), false).map_err(io)?;
        rows.iter()
            .try_for_each(|(row, name)| writer.put(*row, *name))
            .map_err(io)?;
        // A .fai says nothing of the content: what is kept is what it is now.
        let chunks = super::stamp::chunks(&text.disk, &Building::default()).map_err(io)?;
        let whole = FileSummary {
            format,
            compression,
            source: stamp(&text.disk, &chunks),
            text: text.size,
            container: text.container,
            windows: Vec::new(),
            chunks,
        };
        let bytes = writer.finish(whole).map_err(io)?.into_inner();
        let side = IndexFile::new(IndexBytes::Memory(Arc::new(bytes)));
        let side = side.map_err(|fault| Error::format(path, fault))?;
        Ok(Self::new(path, side, text.disk))
    }

    /// Whether the headers are where a `.fai` has them. A header of the id alone has the size
    /// that it must have, so only some of these are read; no record fits in between.
    fn check_headers(&self, fai: &Path, rows: &[(IndexRow, u64)], ids: &[FaiRow]) -> Result<()> {
        const SOME: usize = 1000;
        let step = rows.len().div_ceil(SOME).max(1);
        let last = rows.len().saturating_sub(1);
        let mut cache = Cache::default();
        for (position, ((row, name), id)) in rows.iter().zip(ids).enumerate() {
            let is_bare = u64::from(row.header) <= as_u64(id.name.len()) + LONGEST_FRAME;
            if is_bare && position % step != 0 && position != last {
                continue;
            }
            let found = self.header(row, &mut cache);
            let is_same = found.is_ok_and(|header| {
                seqloom_compression::checksum::hash(super::row::id_of(&header)) == *name
            });
            if !is_same {
                let what = format!(
                    "record {position} does not begin where it says; the file has changed since, \
                     or the index lacks records"
                );
                return Err(Error::format(fai, Fault::whole(self.other_index(&what))));
            }
        }
        Ok(())
    }

    /// Whether only line ends follow the last record of a `.fai`, which ends at `end`.
    fn check_end(&self, fai: &Path, end: u64) -> Result<()> {
        const PIECE: u64 = 64 << 10;
        let mut cache = Cache::default();
        let (mut text, mut begin) = (Vec::new(), end);
        while begin < self.text.size {
            let next = self.text.size.min(begin + PIECE);
            text.clear();
            (self.text)
                .read(begin..next, &mut text, &mut cache.text)
                .map_err(|trouble| self.error(trouble))?;
            let rest = text.trim_ascii_start();
            if !rest.is_empty() {
                let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let shown: String = String::from_utf8_lossy(line).chars().take(40).collect();
                let what = format!(
                    "lacks the records after its last one, which ends at byte {end}; the file \
                     continues with {shown:?}"
                );
                return Err(Error::format(fai, Fault::whole(self.other_index(&what))));
            }
            begin = next;
        }
        Ok(())
    }

    /// What is wrong with a `.fai`, and the command that makes an index of all records.
    fn other_index(&self, what: &str) -> String {
        format!(
            "{what}; an index of all records: seqloom index {}",
            self.path.display()
        )
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.side.head.records
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many letters all records have.
    pub fn letters(&self) -> u64 {
        self.side.head.letters
    }

    /// What the records are written in.
    pub fn format(&self) -> Format {
        self.side.head.format
    }

    /// What the file is packed in.
    pub fn compression(&self) -> Compression {
        self.side.head.compression
    }

    /// A hash of the whole file, as it was when it was indexed.
    pub fn content(&self) -> u64 {
        self.side.head.source.content
    }

    /// The bytes of the index, if they are in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.side.image {
            IndexBytes::Memory(bytes) => Some(bytes),
            IndexBytes::File(_) => None,
        }
    }

    /// The bytes of a `.gzi` file, for bgzip.
    pub fn gzi(&self) -> Option<Vec<u8>> {
        match &self.text.container {
            Container::Bgzip(blocks) => Some(write_gzi(blocks)),
            _ => None,
        }
    }
}

fn check_gzi(text: &Seekable, bytes: &[u8]) -> std::result::Result<(), Fault> {
    let entries = parse_gzi(bytes)?;
    match &text.container {
        Container::Bgzip(blocks) if agrees(&entries, blocks) => Ok(()),
        Container::Bgzip(_) => Err(Fault::whole(
            "is not of this file: its blocks begin elsewhere; the file has changed since, or \
             blocks are missing; remove it or make a new one (seqloom index --overwrite --fai)",
        )),
        _ => Err(Fault::whole("is there, but the file is no bgzip")),
    }
}
