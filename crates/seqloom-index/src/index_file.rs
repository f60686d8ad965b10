//! Reads an index. The content of the index is checked before it is used.

use std::sync::Arc;

use seqloom_core::error::Fault;

use super::errors::damaged_index;
use super::header::{HEADER_BYTES, IndexHeader, Section};
use super::id_column::ID_ENTRY_BYTES;
use super::pages::PageColumn;
use super::row::{IndexRow, ROW_BYTES};
use seqloom_compression::seekable::{AccessPoints, BgzipBlock, Span, check_start_positions};
use seqloom_compression::{Compression, checksum::hash_64, index_bytes::IndexBytes};
use seqloom_core::number::{as_u64, u32_at, u64_at};

/// The size in bytes of the entry for a bgzip block.
const BLOCK_ENTRY_BYTES: usize = 20;
/// The size in bytes of the entry for a gzip span.
const SPAN_BYTES: usize = 36;

/// An index with a checked header and tables. Rows are checked when they are read.
#[derive(Clone, Debug)]
pub(crate) struct IndexFile {
    pub(crate) head: IndexHeader,
    pub(crate) image: IndexBytes,
    pub(crate) container: AccessPoints,
    /// A hash for each chunk of the file.
    pub(crate) chunks: Vec<u64>,
}

impl IndexFile {
    pub(crate) fn new(image: IndexBytes) -> Result<Self, Fault> {
        let mut bytes =
            vec![0; HEADER_BYTES.min(usize::try_from(image.size()).unwrap_or(HEADER_BYTES))];
        image
            .read_at(0, &mut bytes)
            .map_err(|_| damaged_index("its head"))?;
        let head = IndexHeader::from_bytes(&bytes, image.size())?;
        let pieces = read_section(&image, head.pieces)?;
        let chunks = read_section(&image, head.chunks)?;
        let side = Self {
            container: parse_access_points(&head, &pieces)?,
            chunks: chunks
                .chunks_exact(8)
                .map(|chunk| u64_at(chunk, 0))
                .collect(),
            head,
            image,
        };
        if matches!(side.image, IndexBytes::Memory(_)) {
            // All pages of an index in memory are checked once; each page of an index
            // file is checked when the page is read.
            side.row_column().for_each_entry(&side.image, |_| Ok(()))?;
            side.id_column().for_each_entry(&side.image, |_| Ok(()))?;
        }
        Ok(side)
    }

    pub(crate) fn row_column(&self) -> PageColumn {
        PageColumn {
            at: self.head.rows_at,
            count: self.head.records,
            entry: ROW_BYTES,
        }
    }

    pub(crate) fn id_column(&self) -> PageColumn {
        PageColumn {
            at: self.head.names_at,
            count: self.head.records,
            entry: ID_ENTRY_BYTES,
        }
    }
}

/// Reads a section; the size of a section is limited by the size of the index.
fn read_section(image: &IndexBytes, section: Section) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![0; usize::try_from(section.size).map_err(|_| damaged_index("a table"))?];
    let outcome = image.read_at(section.at, &mut bytes);
    if outcome.is_err() || hash_64(&bytes) != section.hash {
        return Err(damaged_index("a table of it"));
    }
    Ok(bytes)
}

fn parse_access_points(head: &IndexHeader, bytes: &[u8]) -> Result<AccessPoints, Fault> {
    let ends = (head.source.size, head.text);
    Ok(match head.compression {
        Compression::Bgzip => {
            let blocks: Vec<BgzipBlock> = bytes
                .chunks_exact(BLOCK_ENTRY_BYTES)
                .map(to_block)
                .collect();
            check_start_positions(blocks.iter().map(|block| (block.at, block.text)), ends)?;
            AccessPoints::Bgzip(blocks)
        }
        Compression::Gzip => {
            let spans: Vec<Span> = bytes.chunks_exact(SPAN_BYTES).map(to_span).collect();
            let ends = (head.source.size.saturating_mul(8), head.text);
            check_start_positions(spans.iter().map(|span| (span.bit, span.text)), ends)?;
            AccessPoints::Gzip(spans)
        }
        _ => AccessPoints::Plain,
    })
}

fn to_block(bytes: &[u8]) -> BgzipBlock {
    BgzipBlock {
        at: u64_at(bytes, 0),
        text: u64_at(bytes, 8),
        sum: u32_at(bytes, 16),
    }
}

fn to_span(bytes: &[u8]) -> Span {
    Span {
        bit: u64_at(bytes, 0),
        text: u64_at(bytes, 8),
        window: u64_at(bytes, 16),
        window_size: u32_at(bytes, 24),
        window_sum: u32_at(bytes, 28),
        sum: u32_at(bytes, 32),
    }
}

/// Parses an index file and returns its rows.
///
/// Every page and every row is checked; invalid content is an error.
pub fn parse_index_rows(bytes: &[u8]) -> Result<Vec<IndexRow>, Fault> {
    let side = IndexFile::new(IndexBytes::Memory(Arc::new(bytes.to_vec())))?;
    let mut rows = Vec::new();
    side.row_column().for_each_entry(&side.image, |bytes| {
        let row = IndexRow::from_bytes(bytes);
        row.check_bounds(side.head.text)?;
        rows.push(row);
        Ok(())
    })?;
    side.id_column()
        .for_each_entry(&side.image, |entry| match u64_at(entry, 8) {
            row if row < as_u64(rows.len()) => Ok(()),
            _ => Err(damaged_index("its names")),
        })?;
    Ok(rows)
}
