//! Reads bigWig files.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use seqloom_compression::disk::DiskFile;
use seqloom_core::error::{Error, Fault, Result};

use crate::block::{BlockBuffer, BlockFormat};
use crate::bytes::{ByteOrder, read_bytes};
use crate::index::{BlockPlace, read_block_places, read_contigs};
use crate::track::Contig;

pub(crate) const MAGIC: u32 = 0x888F_FC26;
const BIGBED_MAGIC: u32 = 0x8789_F2EB;
const FILE_HEADER_BYTES: usize = 64;

/// Numbers the files of this process, so that block buffers distinguish them.
static FILE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// A bigWig file, which is read by offset. Threads and forked processes may share it.
#[derive(Debug)]
pub struct BigWig {
    path: PathBuf,
    file: DiskFile,
    number: usize,
    format: BlockFormat,
    contigs: Vec<Contig>,
    /// The number of each contig in the file.
    contig_numbers: Vec<u32>,
    index_offset: u64,
    /// The places of the blocks, which are read at the first use.
    places: OnceLock<Vec<BlockPlace>>,
}

impl BigWig {
    /// Returns whether a file begins as a bigWig file, in either byte order.
    pub fn is_bigwig(path: &Path) -> Result<bool> {
        let to_error = |error: io::Error| Error::io(path, &error);
        let mut opened = File::open(path).map_err(to_error)?;
        // The bytes of a pipe cannot be read again.
        if !opened.metadata().map_err(to_error)?.is_file() {
            let message = "tracks are read from regular files; write it to a file first";
            return Err(to_error(io::Error::new(ErrorKind::InvalidInput, message)));
        }
        let mut head = Vec::new();
        let read = opened.by_ref().take(4).read_to_end(&mut head);
        read.map_err(to_error)?;
        if head.is_empty() {
            let message = "the file is empty; expected a bigWig or bedGraph file";
            return Err(Error::format(path, Fault::of_file(message)));
        }
        let number = ByteOrder { is_big: false }.u32(&head, 0);
        if number == BIGBED_MAGIC || number.swap_bytes() == BIGBED_MAGIC {
            let message =
                "this is a bigBed file, which has intervals without values; expected a bigWig file";
            return Err(Error::format(path, Fault::of_file(message)));
        }
        Ok(number == MAGIC || number.swap_bytes() == MAGIC)
    }

    /// Opens a bigWig file, and reads its contigs.
    pub fn open(path: &Path) -> Result<Self> {
        let file = DiskFile::open(path).map_err(|error| Error::io(path, &error))?;
        Self::read_header(path, file).map_err(|fault| Error::format(path, fault))
    }

    fn read_header(path: &Path, file: DiskFile) -> std::result::Result<Self, Fault> {
        let head = read_bytes(&file, 0, FILE_HEADER_BYTES)?;
        let is_big = ByteOrder { is_big: false }.u32(&head, 0) != MAGIC;
        let order = ByteOrder { is_big };
        if order.u32(&head, 0) != MAGIC {
            return Err(Fault::of_file(
                "expected a bigWig file; its first bytes are wrong",
            ));
        }
        let contigs = read_contigs(&file, order, order.u64(&head, 8))?;
        let (contig_numbers, contigs) = contigs.into_iter().unzip();
        Ok(Self {
            path: path.to_path_buf(),
            file,
            number: FILE_COUNT.fetch_add(1, Ordering::Relaxed),
            format: BlockFormat {
                order,
                is_compressed: order.u32(&head, 52) > 0,
            },
            contigs,
            contig_numbers,
            index_offset: order.u64(&head, 24),
            places: OnceLock::new(),
        })
    }

    pub(crate) fn contigs(&self) -> &[Contig] {
        &self.contigs
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls a function with each entry that overlaps a range of a contig.
    #[expect(
        clippy::too_many_arguments,
        reason = "a place, a buffer and a function"
    )]
    pub(crate) fn visit(
        &self,
        contig: usize,
        start: u32,
        stop: u32,
        buffer: &mut BlockBuffer,
        function: &mut impl FnMut(u32, u32, f32),
    ) -> Result<()> {
        let visited = self.visit_blocks(contig, start..stop, buffer, function);
        visited.map_err(|fault| {
            if self.file.is_unchanged() {
                return Error::format(&self.path, fault);
            }
            let message = "the file changed while it was read; open it again";
            Error::format(&self.path, Fault::of_file(message))
        })
    }

    fn visit_blocks(
        &self,
        contig: usize,
        range: std::ops::Range<u32>,
        buffer: &mut BlockBuffer,
        function: &mut impl FnMut(u32, u32, f32),
    ) -> std::result::Result<(), Fault> {
        let Some(number) = self.contig_numbers.get(contig).copied() else {
            return Ok(());
        };
        let places = if let Some(places) = self.places.get() {
            places
        } else {
            // A process may be forked while a thread reads, so no lock is held meanwhile.
            // A file without values may lack an index.
            let places = match self.index_offset {
                0 => Vec::new(),
                at => read_block_places(&self.file, self.format.order, at)?,
            };
            self.places.get_or_init(|| places)
        };
        let first = places.partition_point(|it| (it.contig, it.stop) <= (number, range.start));
        let rest = places.get(first..).unwrap_or_default().iter();
        for place in rest.take_while(|it| it.contig == number && it.start < range.end) {
            buffer.load(&self.file, self.number, place, self.format)?;
            if buffer.contig != number {
                continue;
            }
            let entries = &buffer.entries;
            let first = entries.stops.partition_point(|stop| *stop <= range.start);
            for row in first..entries.starts.len() {
                match entries.get(row) {
                    Some((start, stop, value)) if start < range.end => {
                        function(start, stop, value);
                    }
                    _ => break,
                }
            }
        }
        Ok(())
    }
}
