//! Writes bigWig files.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};

use seqloom_compression::temporary_file::TemporaryFile;
use seqloom_core::error::{Error, Result};
use seqloom_core::number::as_u64;
use seqloom_core::process::process_id;
use sirocco::deflate::Level;
use sirocco::{Format, compress};

use crate::bigwig::MAGIC;
use crate::block::MAX_BLOCK_BYTES;
use crate::index::{BlockPlace, block_tree, contig_tree};
use crate::zoom::{MAX_LEVELS, Zoom, ZoomRecord};

/// The maximum number of ranges of a block, as in files of UCSC.
pub(crate) const BLOCK_ITEMS: usize = 1024;
const FORMAT_VERSION: u16 = 4;
const FIXED_HEADER_BYTES: u64 = 64;
const ZOOM_HEADER_BYTES: u64 = 24;
const SUMMARY_BYTES: u64 = 40;

/// A writer of a bigWig file, which appears at its path only when it is finished.
#[derive(Debug)]
pub struct BigWigWriter {
    path: PathBuf,
    temporary: TemporaryFile,
    out: Output,
    contigs: Vec<(String, u32)>,
    data_offset: u64,
    offset: u64,
    places: Vec<BlockPlace>,
    block: Vec<(u32, u32, f32)>,
    /// For each contig, true if ranges were added.
    is_begun: Vec<bool>,
    /// The contig of the last range, and the position after its end.
    last: (usize, u32),
    zoom: Zoom,
    summary: Option<ZoomRecord>,
    /// True after a failed write: the file then lacks bytes.
    has_failed: bool,
}

/// A buffered file. In a forked process, which has a copy of the buffer, the bytes of the
/// parent process are not written again.
#[derive(Debug)]
struct Output {
    writer: Option<BufWriter<File>>,
    process: u32,
}

impl Output {
    fn new(file: File) -> Self {
        Self {
            writer: Some(BufWriter::new(file)),
            process: process_id(),
        }
    }

    /// Returns the file, or an error in a forked process.
    fn get(&mut self) -> io::Result<&mut BufWriter<File>> {
        let is_own = self.process == process_id();
        self.writer.as_mut().filter(|_| is_own).ok_or_else(|| {
            io::Error::other(
                "the writer was created before this process was forked; create a TrackWriter \
                 in each process",
            )
        })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.process != process_id() {
            // The parts are the file and the buffer, which is not written.
            let _ = self.writer.take().map(BufWriter::into_parts);
        }
    }
}

impl BigWigWriter {
    /// Creates a temporary file next to `path`. `contigs` are names and lengths.
    pub fn create(path: &Path, contigs: Vec<(String, u32)>) -> Result<Self> {
        let to_error = |error: io::Error| Error::io(path, &error);
        let temporary = TemporaryFile::create(path).map_err(to_error)?;
        let out = Output::new(temporary.file().map_err(to_error)?);
        let zoom = Zoom::new(&contigs);
        let tree_offset = summary_offset() + SUMMARY_BYTES;
        let tree = contig_tree(&contigs, tree_offset);
        let data_offset = tree_offset + as_u64(tree.len());
        let is_begun = vec![false; contigs.len()];
        let mut made = Self {
            path: path.to_path_buf(),
            temporary,
            out,
            contigs,
            data_offset,
            offset: 0,
            places: Vec::new(),
            block: Vec::new(),
            is_begun,
            last: (0, 0),
            zoom,
            summary: None,
            has_failed: false,
        };
        // The header is written at the end, when its numbers are known.
        let zeros = usize::try_from(tree_offset).map_or_else(|_| Vec::new(), |size| vec![0; size]);
        made.put(&zeros).map_err(to_error)?;
        made.put(&tree).map_err(to_error)?;
        made.put(&0_u64.to_le_bytes()).map_err(to_error)?;
        Ok(made)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other(
                "an earlier write failed; create a new TrackWriter",
            ));
        }
        self.offset += as_u64(bytes.len());
        let written = self.out.get().and_then(|out| out.write_all(bytes));
        self.has_failed = written.is_err();
        written
    }

    /// Compresses a block and writes it; returns its place.
    fn put_block(
        &mut self,
        contig: u32,
        (start, stop): (u32, u32),
        bytes: &[u8],
    ) -> io::Result<BlockPlace> {
        let packed = compress(Format::Zlib, Level::DEFAULT, bytes);
        let offset = self.offset;
        self.put(&packed)?;
        Ok(BlockPlace {
            contig,
            start,
            stop,
            offset,
            size: as_u64(packed.len()),
        })
    }

    /// Adds ranges of one contig. Contigs may come in any order, but the ranges of a contig
    /// must come together, sorted and without overlaps. Ranges with the value NaN are left
    /// out.
    pub fn write(
        &mut self,
        contig: usize,
        starts: &[u32],
        stops: &[u32],
        values: &[f32],
    ) -> Result<()> {
        if starts.len() != stops.len() || starts.len() != values.len() {
            return Err(Error::argument(format!(
                "expected as many stops and values as starts, got {}, {} and {}",
                starts.len(),
                stops.len(),
                values.len()
            )));
        }
        let Some((name, length)) = self.contigs.get(contig).cloned() else {
            let count = self.contigs.len();
            return Err(Error::argument(format!(
                "contig must be below {count}, got {contig}"
            )));
        };
        self.begin(contig, &name)?;
        // Nothing is written if a range is wrong.
        let mut last = self.last.1;
        for (start, stop) in starts.iter().zip(stops) {
            if start >= stop || *stop > length || *start < last {
                return Err(Error::argument(format!(
                    "the range {name}:{start}-{stop} must be within 0 to {length}, not be \
                     empty, and begin at {last} or later, where the last range ends"
                )));
            }
            last = *stop;
        }
        self.last.1 = last;
        for ((start, stop), value) in starts.iter().zip(stops).zip(values) {
            if value.is_nan() {
                continue;
            }
            self.block.push((*start, *stop, *value));
            self.zoom.add(contig, (*start, *stop), *value);
            let whole = ZoomRecord::of(0, (*start, *stop), *value);
            self.summary = Some(self.summary.map_or(whole, |it| it.join(&whole)));
            if self.block.len() == BLOCK_ITEMS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Begins a contig, unless it is that of the last ranges.
    fn begin(&mut self, contig: usize, name: &str) -> Result<()> {
        let is_begun = self.is_begun.get_mut(contig);
        let was_begun = is_begun.is_some_and(|it| mem::replace(it, true));
        if contig == self.last.0 {
            return Ok(());
        }
        if was_begun {
            return Err(Error::argument(format!(
                "values of {name} come again after those of another contig; write all values \
                 of a contig before those of the next one"
            )));
        }
        self.flush()?;
        self.last = (contig, 0);
        Ok(())
    }

    /// Writes the collected ranges as a block.
    fn flush(&mut self) -> Result<()> {
        let (Some(first), Some(last)) = (self.block.first(), self.block.last()) else {
            return Ok(());
        };
        let (start, stop) = (first.0, last.1);
        let contig = u32::try_from(self.last.0).unwrap_or(u32::MAX);
        let bytes = block_bytes(contig, &self.block);
        self.block.clear();
        let place = self.put_block(contig, (start, stop), &bytes);
        self.places
            .push(place.map_err(|error| Error::io(&self.path, &error))?);
        Ok(())
    }

    /// Writes the indexes and the header, and moves the file to its path. Returns the number
    /// of blocks.
    pub fn finish(mut self) -> Result<usize> {
        self.flush()?;
        let path = self.path.clone();
        let count = self.places.len();
        let written = self.write_end().and_then(|()| {
            let Self { temporary, out, .. } = self;
            drop(out);
            temporary.commit(&path)
        });
        written
            .map(|()| count)
            .map_err(|error| Error::io(&path, &error))
    }

    fn write_end(&mut self) -> io::Result<()> {
        let index_offset = self.offset;
        let mut places = mem::take(&mut self.places);
        places.sort_by_key(|place| place.contig);
        self.put_index(&places)?;
        let mut zoom_headers = Vec::new();
        for (reduction, records) in self.zoom.take_levels() {
            let data = self.offset;
            let places = self.put_zoom_records(&records)?;
            let index = self.offset;
            self.put_index(&places)?;
            zoom_headers.push((reduction, data, index));
        }
        self.put(&MAGIC.to_le_bytes())?;
        let header = self.header(index_offset, &zoom_headers);
        let out = self.out.get()?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header)?;
        out.seek(SeekFrom::Start(self.data_offset))?;
        out.write_all(&as_u64(places.len()).to_le_bytes())?;
        out.flush()
    }

    fn put_index(&mut self, places: &[BlockPlace]) -> io::Result<()> {
        let tree = block_tree(places, self.offset);
        self.put(&tree)
    }

    fn put_zoom_records(&mut self, records: &[ZoomRecord]) -> io::Result<Vec<BlockPlace>> {
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        self.put(&count.to_le_bytes())?;
        let mut places = Vec::new();
        let by_contig = records.chunk_by(|one, other| one.contig == other.contig);
        for part in by_contig.flat_map(|records| records.chunks(BLOCK_ITEMS)) {
            let (Some(first), Some(last)) = (part.first(), part.last()) else {
                continue;
            };
            let bytes: Vec<u8> = part
                .iter()
                .copied()
                .flat_map(ZoomRecord::to_bytes)
                .collect();
            let range = (first.start, last.stop);
            places.push(self.put_block(first.contig, range, &bytes)?);
        }
        Ok(places)
    }

    /// Returns the header, the headers of the zoom levels, and the summary.
    fn header(&self, index_offset: u64, zooms: &[(u32, u64, u64)]) -> Vec<u8> {
        let summary_offset = summary_offset();
        let levels = u16::try_from(zooms.len()).unwrap_or_default();
        let buffer_bytes = u32::try_from(MAX_BLOCK_BYTES).unwrap_or(u32::MAX);
        let mut out = Vec::new();
        out.extend(MAGIC.to_le_bytes());
        out.extend(FORMAT_VERSION.to_le_bytes());
        out.extend(levels.to_le_bytes());
        out.extend((summary_offset + SUMMARY_BYTES).to_le_bytes());
        out.extend(self.data_offset.to_le_bytes());
        out.extend(index_offset.to_le_bytes());
        out.extend([0; 12]); // the fields of bigBed files
        out.extend(summary_offset.to_le_bytes());
        out.extend(buffer_bytes.to_le_bytes());
        out.extend([0; 8]); // no extension
        for (reduction, data, index) in zooms {
            out.extend(reduction.to_le_bytes());
            out.extend([0; 4]);
            out.extend(data.to_le_bytes());
            out.extend(index.to_le_bytes());
        }
        out.resize(usize::try_from(summary_offset).unwrap_or_default(), 0);
        if let Some(summary) = &self.summary {
            out.extend(summary.count.to_le_bytes());
            out.extend(f64::from(summary.least).to_le_bytes());
            out.extend(f64::from(summary.most).to_le_bytes());
            out.extend(summary.sum.to_le_bytes());
            out.extend(summary.squares.to_le_bytes());
        }
        out
    }
}

/// Returns the offset of the summary, which follows the headers of the zoom levels.
fn summary_offset() -> u64 {
    FIXED_HEADER_BYTES + ZOOM_HEADER_BYTES * as_u64(MAX_LEVELS)
}

/// Returns a block. Ranges of one width and distance need 4 bytes each, others 12.
fn block_bytes(contig: u32, ranges: &[(u32, u32, f32)]) -> Vec<u8> {
    let (first, last) = match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => return Vec::new(),
    };
    let span = first.1 - first.0;
    let step = ranges.get(1).map_or(span, |second| second.0 - first.0);
    let is_fixed = ranges.iter().all(|range| range.1 - range.0 == span)
        && ranges.windows(2).all(|pair| match pair {
            [one, other] => other.0 - one.0 == step,
            _ => false,
        });
    let (kind, step, span) = if is_fixed {
        (3_u8, step, span)
    } else {
        (1, 0, 0)
    };
    let mut out = Vec::with_capacity(24 + 12 * ranges.len());
    for number in [contig, first.0, last.1, step, span] {
        out.extend(number.to_le_bytes());
    }
    out.extend([kind, 0]);
    out.extend(
        u16::try_from(ranges.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    for (start, stop, value) in ranges {
        if !is_fixed {
            out.extend(start.to_le_bytes());
            out.extend(stop.to_le_bytes());
        }
        out.extend(value.to_le_bytes());
    }
    out
}
