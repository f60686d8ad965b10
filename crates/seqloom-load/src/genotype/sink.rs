//! The destination of rows of genotype codes: memory, or a file with a checksum for each
//! row.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use seqloom_core::{Error, Result, system::write_at};
use seqloom_plink::layout::{HEADER_BYTES, MAGIC_BYTES};
use seqloom_plink::{BedLayout, Major};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::chunks;

/// Number of bytes of a row that are hashed together. Rows are written in multiples of this
/// number of bytes.
pub const LINE_CHUNK_BYTES: usize = 4096;

/// Number of rows that a thread writes in one call.
const LINES_PER_WRITE: usize = 64;

/// Receives sections of rows.
pub trait LineSink {
    /// Receives `width` bytes for each of several rows, beginning with row `first`. In each
    /// row, the bytes begin at offset `at`.
    fn write_sections(&mut self, first: usize, at: usize, tile: &[u8], width: usize) -> Result<()>;
}

/// Concatenated rows in memory.
#[derive(Debug)]
pub struct MemorySink {
    lines: Vec<u8>,
    stride: usize,
}

impl MemorySink {
    /// Allocates memory for all rows.
    pub fn new(layout: &BedLayout) -> Result<Self> {
        let (stride, mut lines) = (layout.row_bytes(), Vec::new());
        let size = stride.saturating_mul(layout.lines());
        lines
            .try_reserve_exact(size)
            .map_err(|_| Error::full(format!("no memory for {size} bytes of genotypes")))?;
        lines.resize(size, 0);
        Ok(Self { lines, stride })
    }

    /// Returns all rows.
    pub fn into_lines(self) -> Vec<u8> {
        self.lines
    }
}

impl LineSink for MemorySink {
    fn write_sections(&mut self, first: usize, at: usize, tile: &[u8], width: usize) -> Result<()> {
        let (stride, each) = (self.stride, LINES_PER_WRITE * width);
        let count = tile.len().checked_div(width).unwrap_or(0);
        let out = &mut self.lines[first * stride..][..count * stride];
        let copy = |(): &mut (), number: usize, out: &mut [u8]| {
            let parts = tile[number * each..].chunks_exact(width);
            for (line, part) in out.chunks_exact_mut(stride).zip(parts) {
                line[at..][..width].copy_from_slice(part);
            }
            Ok(())
        };
        chunks::fill_chunks(out, LINES_PER_WRITE * stride, || (), copy)
    }
}

/// A sink that writes a `.bed`.
#[derive(Debug)]
pub struct BedSink {
    path: PathBuf,
    file: File,
    layout: BedLayout,
    sums: Vec<u64>,
}

impl BedSink {
    /// Creates or overwrites a `.bed` file.
    pub fn create(path: &Path, layout: BedLayout) -> Result<Self> {
        let failed = |error| Error::io(path, &error);
        let file = File::create(path).map_err(failed)?;
        let [first, second] = MAGIC_BYTES;
        let header: [u8; HEADER_BYTES] = [first, second, mode(layout.major)];
        write_bytes(&file, 0, &header).map_err(failed)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            sums: vec![0; layout.lines()],
            layout,
        })
    }

    /// Waits until the file is on the disk, and returns the checksum of each row.
    pub fn sync_to_disk(self) -> Result<Vec<u64>> {
        let synced = self.file.sync_all();
        synced.map_err(|error| Error::io(&self.path, &error))?;
        Ok(self.sums)
    }
}

impl LineSink for BedSink {
    fn write_sections(&mut self, first: usize, at: usize, tile: &[u8], width: usize) -> Result<()> {
        let count = tile.len().checked_div(width).unwrap_or(0);
        let (file, layout, path) = (&self.file, &self.layout, &self.path);
        let put_lines = |(): &mut (), number: usize, sums: &mut [u64]| {
            let parts = &tile[number * LINES_PER_WRITE * width..][..sums.len() * width];
            for (sum, part) in sums.iter_mut().zip(parts.chunks_exact(width)) {
                *sum = sum.wrapping_add(section_checksum(at, part));
            }
            let line = first + number * LINES_PER_WRITE;
            write_to_file(file, layout, (line, at), (parts, width))
                .map_err(|error| Error::io(path, &error))
        };
        let sums = &mut self.sums[first..][..count];
        chunks::fill_chunks(sums, LINES_PER_WRITE, || (), put_lines)
    }
}

/// Returns the third byte of a `.bed`, which states the layout.
const fn mode(major: Major) -> u8 {
    match major {
        Major::Variant => 1,
        Major::Individual => 0,
    }
}

/// Writes sections of rows. Whole rows are written in one call.
fn write_to_file(
    file: &File,
    layout: &BedLayout,
    (line, at): (usize, usize),
    (parts, width): (&[u8], usize),
) -> io::Result<()> {
    let start = |line| layout.row_offset(line) + at as u64;
    if width == layout.row_bytes() {
        return write_bytes(file, start(line), parts);
    }
    let mut parts = parts.chunks_exact(width).enumerate();
    parts.try_for_each(|(number, part)| write_bytes(file, start(line + number), part))
}

/// Returns the checksum of a section of a row that begins at byte `at`. The checksum of a
/// row is the sum of the checksums of its sections.
pub fn section_checksum(at: usize, part: &[u8]) -> u64 {
    let chunks = (at as u64 / LINE_CHUNK_BYTES as u64..).zip(part.chunks(LINE_CHUNK_BYTES));
    chunks.fold(0, |sum, (number, chunk)| {
        sum.wrapping_add(xxh3_64_with_seed(chunk, number))
    })
}

fn write_bytes(file: &File, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_at(file, at, bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                at += count as u64;
                bytes = &bytes[count..];
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
