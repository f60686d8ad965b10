//! Reads an index. The content of the index is checked before it is used.

use std::sync::Arc;

use seqloom_core::error::Fault;

use super::head::{HEAD_BYTES, IndexHeader, Section};
use super::names::NAME_BYTES;
use super::pages::PageColumn;
use super::row::{IndexRow, ROW_BYTES};
use super::trouble::damaged;
use seqloom_compression::Compression;
use seqloom_compression::checksum::hash;
use seqloom_compression::image::IndexBytes;
use seqloom_compression::seekable::{BgzipBlock, Container, Span, check_positions};
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
    pub(crate) container: Container,
    /// A hash for each chunk of the file.
    pub(crate) chunks: Vec<u64>,
}

impl IndexFile {
    pub(crate) fn new(image: IndexBytes) -> Result<Self, Fault> {
        let mut bytes =
            vec![0; HEAD_BYTES.min(usize::try_from(image.size()).unwrap_or(HEAD_BYTES))];
        image.read(0, &mut bytes).map_err(|_| damaged("its head"))?;
        let head = IndexHeader::from_bytes(&bytes, image.size())?;
        let pieces = read_section(&image, head.pieces)?;
        let chunks = read_section(&image, head.chunks)?;
        let side = Self {
            container: container(&head, &pieces)?,
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
            side.rows().for_each(&side.image, |_| Ok(()))?;
            side.names().for_each(&side.image, |_| Ok(()))?;
        }
        Ok(side)
    }

    pub(crate) fn rows(&self) -> PageColumn {
        PageColumn {
            at: self.head.rows_at,
            count: self.head.records,
            entry: ROW_BYTES,
        }
    }

    pub(crate) fn names(&self) -> PageColumn {
        PageColumn {
            at: self.head.names_at,
            count: self.head.records,
            entry: NAME_BYTES,
        }
    }
}

/// Reads a section; the size of a section is limited by the size of the index.
fn read_section(image: &IndexBytes, section: Section) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![0; usize::try_from(section.size).map_err(|_| damaged("a table"))?];
    let outcome = image.read(section.at, &mut bytes);
    if outcome.is_err() || hash(&bytes) != section.hash {
        return Err(damaged("a table of it"));
    }
    Ok(bytes)
}

fn container(head: &IndexHeader, bytes: &[u8]) -> Result<Container, Fault> {
    let ends = (head.source.size, head.text);
    Ok(match head.compression {
        Compression::Bgzip => {
            let blocks: Vec<BgzipBlock> =
                bytes.chunks_exact(BLOCK_ENTRY_BYTES).map(block).collect();
            check_positions(blocks.iter().map(|block| (block.at, block.text)), ends)?;
            Container::Bgzip(blocks)
        }
        Compression::Gzip => {
            let spans: Vec<Span> = bytes.chunks_exact(SPAN_BYTES).map(span).collect();
            let ends = (head.source.size.saturating_mul(8), head.text);
            check_positions(spans.iter().map(|span| (span.bit, span.text)), ends)?;
            Container::Gzip(spans)
        }
        _ => Container::Plain,
    })
}

fn block(bytes: &[u8]) -> BgzipBlock {
    BgzipBlock {
        at: u64_at(bytes, 0),
        text: u64_at(bytes, 8),
        sum: u32_at(bytes, 16),
    }
}

fn span(bytes: &[u8]) -> Span {
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
pub fn parse_side(bytes: &[u8]) -> Result<Vec<IndexRow>, Fault> {
    let side = IndexFile::new(IndexBytes::Memory(Arc::new(bytes.to_vec())))?;
    let mut rows = Vec::new();
    side.rows().for_each(&side.image, |bytes| {
        let row = IndexRow::from_bytes(bytes);
        row.check(side.head.text)?;
        rows.push(row);
        Ok(())
    })?;
    side.names()
        .for_each(&side.image, |entry| match u64_at(entry, 8) {
            row if row < as_u64(rows.len()) => Ok(()),
            _ => Err(damaged("its names")),
        })?;
    Ok(rows)
}
