//! The header of an index file, with the positions of its sections.
//!
//! ```text
//! head      22 numbers of 8 bytes, the last a hash of the others
//! rows      40 bytes for each record, with a hash after 64 rows
//! names     hash of the id and number of the record, sorted, with a hash after 64 entries
//! windows   the compressed windows for starting decompression inside gzip
//! pieces    the positions of bgzip blocks or gzip windows
//! chunks    a hash for each 256 KiB of the indexed file
//! ```

use super::errors::damaged_index;
use seqloom_core::error::Fault;

use seqloom_compression::{Compression, checksum::hash_64, seekable::MAX_TEXT_BYTES};
use seqloom_core::number::{as_u64, u64_at};
use seqloom_sequences::options::Format;

const INDEX_MAGIC: u64 = u64::from_le_bytes(*b"slindex\n");
/// The version of the index format; an index of another version is rebuilt.
const VERSION: u64 = 1;
/// The number of 8-byte integers in the header.
const HEADER_INTEGERS: usize = 22;
/// The size of the header in bytes.
pub(crate) const HEADER_BYTES: usize = HEADER_INTEGERS * 8;

/// The header of an index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexHeader {
    pub(crate) format: Format,
    pub(crate) compression: Compression,
    /// True if the checksum of a row covers the whole record, false if it covers only
    /// the id.
    pub(crate) has_sums: bool,
    /// The size, modification time and hash of the indexed file.
    pub(crate) source: SourceStamp,
    /// The length of the text in bytes.
    pub(crate) text: u64,
    pub(crate) records: u64,
    pub(crate) letters: u64,
    pub(crate) rows_at: u64,
    pub(crate) names_at: u64,
    pub(crate) pieces: Section,
    pub(crate) chunks: Section,
}

/// The size, modification time and hash of the file that was indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceStamp {
    pub(crate) size: u64,
    /// The modification time in nanoseconds since 1970.
    pub(crate) changed: u64,
    /// The hash of the hashes of all chunks.
    pub(crate) content: u64,
}

/// A section of the index that is read as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) at: u64,
    pub(crate) size: u64,
    pub(crate) hash: u64,
}

impl IndexHeader {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let numbers = [
            INDEX_MAGIC,
            VERSION,
            u64::from(self.format == Format::Fastq),
            compression_code(self.compression),
            u64::from(self.has_sums),
            self.source.size,
            self.source.changed,
            self.source.content,
            self.text,
            self.records,
            self.letters,
            self.rows_at,
            self.names_at,
            self.pieces.at,
            self.pieces.size,
            self.pieces.hash,
            self.chunks.at,
            self.chunks.size,
            self.chunks.hash,
        ];
        let mut bytes = [0; HEADER_BYTES];
        for (out, value) in bytes.chunks_exact_mut(8).zip(numbers) {
            out.copy_from_slice(&value.to_le_bytes());
        }
        let checksum = hash_64(&bytes[..HEADER_BYTES - 8]);
        bytes[HEADER_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Parses and checks the header of an index of `size` bytes.
    pub(crate) fn from_bytes(bytes: &[u8], size: u64) -> Result<Self, Fault> {
        let get = |position: usize| u64_at(bytes, position * 8);
        let head = bytes.get(..HEADER_BYTES);
        let hashed = head.and_then(|head| head.get(..HEADER_BYTES - 8));
        let Some(hashed) = hashed.filter(|_| get(0) == INDEX_MAGIC) else {
            return Err(Fault::of_file("is not an index of seqloom"));
        };
        if get(1) != VERSION {
            let message = format!("is an index of version {}, expected {VERSION}", get(1));
            return Err(Fault::of_file(message));
        }
        if get(HEADER_INTEGERS - 1) != hash_64(hashed) {
            return Err(damaged_index("its head"));
        }
        let part = |position| Section {
            at: get(position),
            size: get(position + 1),
            hash: get(position + 2),
        };
        let head = Self {
            format: if get(2) == 1 {
                Format::Fastq
            } else {
                Format::Fasta
            },
            compression: compression_from_code(get(3)).ok_or_else(|| damaged_index("its head"))?,
            has_sums: get(4) == 1,
            source: SourceStamp {
                size: get(5),
                changed: get(6),
                content: get(7),
            },
            text: get(8),
            records: get(9),
            letters: get(10),
            rows_at: get(11),
            names_at: get(12),
            pieces: part(13),
            chunks: part(16),
        };
        head.check_sections(size).map(|()| head)
    }

    /// Returns an error if a section is not within the index, or a size is too large.
    fn check_sections(&self, size: u64) -> Result<(), Fault> {
        let parts = [
            (
                self.rows_at,
                super::pages::size_with_hashes(self.records, super::row::ROW_BYTES),
            ),
            (
                self.names_at,
                super::pages::size_with_hashes(self.records, super::id_column::ID_ENTRY_BYTES),
            ),
            (self.pieces.at, Some(self.pieces.size)),
            (self.chunks.at, Some(self.chunks.size)),
        ];
        let fits = |(at, length): (u64, Option<u64>)| {
            at >= as_u64(HEADER_BYTES)
                && length
                    .and_then(|length| at.checked_add(length))
                    .is_some_and(|end| end <= size)
        };
        if self.text <= MAX_TEXT_BYTES && parts.into_iter().all(fits) {
            return Ok(());
        }
        Err(damaged_index("a section is outside the file"))
    }
}

fn compression_code(compression: Compression) -> u64 {
    match compression {
        Compression::Bgzip => 1,
        Compression::Gzip => 2,
        _ => 0,
    }
}

fn compression_from_code(kind: u64) -> Option<Compression> {
    Some(match kind {
        0 => Compression::None,
        1 => Compression::Bgzip,
        2 => Compression::Gzip,
        _ => return None,
    })
}
