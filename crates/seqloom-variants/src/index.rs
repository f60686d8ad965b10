//! Reads `.tbi` and `.csi` indexes to find the ranges of a file with the records of regions.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use seqloom_compression::bgzip_ranges::{BgzipRanges, VirtualRange};
use seqloom_compression::disk::DiskFile;
use seqloom_compression::input::BufferedInput;
use seqloom_compression::{Compression, ReadError, UnpackOptions, open_text};
use seqloom_core::error::{Error, Fault, Result};

use crate::bytes::{ByteReader, replace_end_error};
use crate::header::Header;
use crate::index_writer::{IndexKind, MIN_SHIFT, TBI_DEPTH, first_bin};
use crate::region::{Regions, overlaps};
use crate::report::VariantReport;

type ReadResult<T> = std::result::Result<T, ReadError>;

/// The maximum number of levels of bins. With more levels, bin numbers exceed 32 bits.
const MAX_DEPTH: u32 = 10;
/// The largest binary logarithm of the number of bases of a contig.
const MAX_LENGTH_BITS: u32 = 62;
/// The number of nanoseconds of a second. Times of files are compared in seconds.
const NANOSECONDS: u64 = 1_000_000_000;
/// The number of bytes of tabix settings, which precede the names of the contigs.
const SETTINGS_BYTES: u32 = 28;

/// An index whose contigs are read in order.
struct IndexReader {
    path: PathBuf,
    /// The modification time in seconds since 1970.
    time: u64,
    kind: IndexKind,
    min_shift: u32,
    depth: u32,
    /// The names of the contigs; `None` in the index of a BCF file.
    names: Option<Vec<Vec<u8>>>,
    contigs: u32,
    bytes: ByteReader,
}

impl IndexReader {
    /// Opens the index next to a file.
    fn open(file: &Path) -> Result<Self> {
        let path = find_index(file)?;
        let input = BufferedInput::open(&path).map_err(|error| Error::io(&path, &error))?;
        let opened = open_text(input, &UnpackOptions::default());
        let opened = opened.and_then(|(_, text)| Self::read_header(&path, ByteReader::new(text)));
        opened.map_err(|error| index_error(&path, error))
    }

    fn read_header(path: &Path, mut bytes: ByteReader) -> ReadResult<Self> {
        let (kind, min_shift, depth) = match &bytes.read()? {
            b"TBI\x01" => (IndexKind::Tbi, MIN_SHIFT, TBI_DEPTH),
            b"CSI\x01" => (IndexKind::Csi, bytes.read_u32()?, bytes.read_u32()?),
            _ => return Err(fault("it does not begin with TBI or CSI")),
        };
        let bits = min_shift.saturating_add(depth.saturating_mul(3));
        if depth > MAX_DEPTH || bits > MAX_LENGTH_BITS {
            return Err(fault("it has too many levels"));
        }
        let (contigs, names) = if kind == IndexKind::Tbi {
            (bytes.read_u32()?, Some(read_settings(&mut bytes, None)?))
        } else {
            let size = bytes.read_u32()?;
            let names = if size < SETTINGS_BYTES {
                bytes.skip(u64::from(size)).map(|()| None)?
            } else {
                Some(read_settings(&mut bytes, Some(size))?)
            };
            (bytes.read_u32()?, names)
        };
        Ok(Self {
            path: path.to_path_buf(),
            time: seconds(path),
            kind,
            min_shift,
            depth,
            names,
            contigs,
            bytes,
        })
    }

    /// Returns the ranges of the file with the records of the regions, in file order.
    /// `names` are the names of the contigs in the order of the index.
    fn find_ranges(mut self, regions: &Regions, names: &[Vec<u8>]) -> Result<Vec<VirtualRange>> {
        let mut found = Vec::new();
        for number in 0..self.contigs {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            let ranges = names.get(number).and_then(|name| regions.ranges(name));
            let read = self.read_contig(ranges.unwrap_or_default(), &mut found);
            read.map_err(|error| index_error(&self.path, error))?;
        }
        found.sort_unstable();
        found.dedup_by(|next, last| {
            let is_joined = next.0 <= last.1;
            if is_joined {
                last.1 = last.1.max(next.1);
            }
            is_joined
        });
        Ok(found)
    }

    /// Reads the bins of the next contig, and appends the chunks of the file that overlap
    /// `ranges` to `found`.
    fn read_contig(
        &mut self,
        ranges: &[Range<i64>],
        found: &mut Vec<VirtualRange>,
    ) -> ReadResult<()> {
        let first = found.len();
        let start = ranges.first().map_or(0, |range| range.start.max(0));
        // All records that overlap the ranges are at or after this offset.
        let mut least = 0;
        for _ in 0..self.bytes.read_u32()? {
            let number = self.bytes.read_u32()?;
            let bases = self.bin_range(number);
            let offset = match self.kind {
                IndexKind::Csi => self.bytes.read_u64()?,
                IndexKind::Tbi => 0,
            };
            if bases.as_ref().is_some_and(|bases| bases.contains(&start)) {
                least = least.max(offset);
            }
            let is_needed = bases.is_some_and(|bases| overlaps(ranges, &bases));
            for _ in 0..self.bytes.read_u32()? {
                let chunk = (self.bytes.read_u64()?, self.bytes.read_u64()?);
                if is_needed && chunk.0 > chunk.1 {
                    return Err(fault("a range ends before its start"));
                }
                if is_needed {
                    found
                        .try_reserve(1)
                        .map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
                    found.push(chunk);
                }
            }
        }
        if self.kind == IndexKind::Tbi {
            let window = u64::try_from(start >> MIN_SHIFT).unwrap_or_default();
            for number in 0..u64::from(self.bytes.read_u32()?) {
                let offset = self.bytes.read_u64()?;
                if number <= window {
                    least = offset;
                }
            }
        }
        let mut kept = found.split_off(first);
        kept.retain(|chunk| chunk.1 > least);
        found.append(&mut kept);
        Ok(())
    }

    /// Returns the bases of a bin, or `None` for the pseudo-bin with counts of records.
    fn bin_range(&self, number: u32) -> Option<Range<i64>> {
        let level = (0..=self.depth)
            .rev()
            .find(|level| first_bin(*level) <= number)?;
        let place = i64::from(number - first_bin(level));
        let shift = self.min_shift + 3 * (self.depth - level);
        (place < 1 << (3 * level)).then(|| place << shift..(place + 1) << shift)
    }
}

/// Returns the requested regions of a file, and the text with their records.
pub(crate) fn open_regions(
    (path, compression, header): (&Path, Compression, &Header),
    texts: &[String],
    report: &mut VariantReport,
) -> Result<(Regions, BgzipRanges)> {
    if compression != Compression::Bgzip {
        return Err(Error::argument(format!(
            "{}: region= needs a file compressed with bgzip, not {compression}: run `bcftools \
             view -Oz -o NEW.vcf.gz FILE` and `bcftools index NEW.vcf.gz`",
            path.display()
        )));
    }
    let of_path = |error| Error::io(path, &error);
    let disk = DiskFile::open(path).map_err(of_path)?;
    let index = IndexReader::open(path)?;
    if index.time < disk.modification_time() / NANOSECONDS {
        let name = index.path.to_string_lossy();
        report.count("index_older_than_file", 0, name.as_bytes());
    }
    let declared = header.contigs.iter().map(|contig| &contig.name);
    let mut names: Vec<Vec<u8>> = declared.cloned().collect();
    let indexed = index.names.clone();
    let indexed = indexed.unwrap_or_else(|| header.numbered_contigs());
    let known: HashSet<&Vec<u8>> = header.contigs.iter().map(|it| &it.name).collect();
    names.extend(
        indexed
            .iter()
            .filter(|name| !known.contains(*name))
            .cloned(),
    );
    let regions = Regions::parse(texts, &names)?;
    let ranges = index.find_ranges(&regions, &indexed)?;
    let text = BgzipRanges::new(disk, ranges).map_err(of_path)?;
    Ok((regions, text))
}

/// Returns the path of the index of a file.
fn find_index(file: &Path) -> Result<PathBuf> {
    let paths = [IndexKind::Csi, IndexKind::Tbi].map(|kind| {
        let mut name = OsString::from(file);
        name.push(kind.suffix());
        PathBuf::from(name)
    });
    let found = paths.into_iter().find(|path| path.exists());
    found.ok_or_else(|| Error::File {
        path: file.to_path_buf(),
        message: format!(
            "region= needs an index (.csi or .tbi) next to the file: run `bcftools index {}`, \
             or `tabix -p vcf` for VCF",
            file.display()
        ),
    })
}

/// Returns the modification time of a file in seconds since 1970.
fn seconds(path: &Path) -> u64 {
    let time = std::fs::metadata(path).and_then(|facts| facts.modified());
    let time = time
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.map_or(u64::MAX, |time| time.as_secs())
}

fn index_error(path: &Path, error: ReadError) -> Error {
    match replace_end_error(error, || fault("it is truncated")) {
        ReadError::Io(error) => Error::io(path, &error),
        ReadError::Damage(fault) => Error::format(path, fault),
    }
}

fn fault(why: &str) -> ReadError {
    let message = format!("the index is invalid: {why}; create it again (bcftools index --force)");
    ReadError::Damage(Fault::of_file(message))
}

/// Reads the settings of tabix, which have `size` bytes if the index states the size.
/// Returns the names of the contigs.
fn read_settings(bytes: &mut ByteReader, size: Option<u32>) -> ReadResult<Vec<Vec<u8>>> {
    bytes.skip(u64::from(SETTINGS_BYTES - 4))?;
    let names_size = bytes.read_u32()?;
    let rest = size.map_or(names_size, |size| size - SETTINGS_BYTES);
    let Some(unused) = rest.checked_sub(names_size) else {
        return Err(fault("the names of the contigs are longer than stated"));
    };
    let mut text = Vec::new();
    bytes.append_to(&mut text, u64::from(names_size))?;
    bytes.skip(u64::from(unused))?;
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    Ok(text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}
