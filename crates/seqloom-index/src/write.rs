//! Writes an index to a file or to memory.

use std::io::{self, Seek, SeekFrom, Write};

use super::header::{HEADER_BYTES, IndexHeader, Section, SourceStamp};
use super::id_column::ID_ENTRY_BYTES;
use super::pages::PageWriter;
use super::row::{IndexRow, ROW_BYTES};
use seqloom_compression::Compression;
use seqloom_compression::checksum::{hash_32, hash_64};
use seqloom_compression::seekable::{AccessPoints, Span};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

/// A writer of an index.
pub(crate) struct IndexWriter<W> {
    out: W,
    at: u64,
    rows: PageWriter,
    names: Vec<(u64, u64)>,
    letters: u64,
    has_sums: bool,
}

impl<W: Write + Seek> IndexWriter<W> {
    pub(crate) fn new(mut out: W, has_sums: bool) -> io::Result<Self> {
        out.write_all(&[0; HEADER_BYTES])?;
        Ok(Self {
            out,
            at: as_u64(HEADER_BYTES),
            rows: PageWriter::new(ROW_BYTES),
            names: Vec::new(),
            letters: 0,
            has_sums,
        })
    }

    /// Adds the row of the next record.
    pub(crate) fn write_row(&mut self, row: IndexRow, name: u64) -> io::Result<()> {
        self.names.push((name, as_u64(self.names.len())));
        self.letters += row.length;
        self.rows.write_entry(&row.to_bytes(), &mut self.out)
    }

    /// Writes all sections after the rows, and then the header.
    pub(crate) fn write_tables(mut self, whole: FileSummary) -> io::Result<W> {
        self.rows.write_last_page(&mut self.out)?;
        let records = as_u64(self.names.len());
        let rows_at = self.at;
        let names_at = self.out.stream_position()?;
        self.write_ids()?;
        let pieces = self.write_blocks(whole.container, &whole.windows)?;
        let chunks: Vec<u8> = whole
            .chunks
            .iter()
            .flat_map(|chunk| chunk.to_le_bytes())
            .collect();
        let head = IndexHeader {
            format: whole.format,
            compression: whole.compression,
            has_sums: self.has_sums,
            source: whole.source,
            text: whole.text,
            records,
            letters: self.letters,
            rows_at,
            names_at,
            pieces,
            chunks: self.write_section(&chunks)?,
        };
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&head.to_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_ids(&mut self) -> io::Result<()> {
        self.names.sort_unstable();
        let mut pages = PageWriter::new(ID_ENTRY_BYTES);
        for (hash, row) in std::mem::take(&mut self.names) {
            let mut entry = [0; ID_ENTRY_BYTES];
            entry[..8].copy_from_slice(&hash.to_le_bytes());
            entry[8..].copy_from_slice(&row.to_le_bytes());
            pages.write_entry(&entry, &mut self.out)?;
        }
        pages.write_last_page(&mut self.out)
    }

    fn write_blocks(
        &mut self,
        container: AccessPoints,
        windows: &[Vec<u8>],
    ) -> io::Result<Section> {
        let bytes: Vec<u8> = match container {
            AccessPoints::Plain => Vec::new(),
            AccessPoints::Bgzip(blocks) => blocks
                .iter()
                .flat_map(|block| to_le_bytes(&[block.at, block.text], &[block.sum]))
                .collect(),
            AccessPoints::Gzip(spans) => self.write_spans(&spans, windows)?,
        };
        self.write_section(&bytes)
    }

    fn write_spans(&mut self, spans: &[Span], windows: &[Vec<u8>]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for (span, window) in spans.iter().zip(windows) {
            let at = self.out.stream_position()?;
            self.out.write_all(window)?;
            let (size, checksum) = (
                u32::try_from(window.len()).unwrap_or(u32::MAX),
                hash_32(window),
            );
            bytes.extend(to_le_bytes(
                &[span.bit, span.text, at],
                &[size, checksum, span.sum],
            ));
        }
        Ok(bytes)
    }

    fn write_section(&mut self, bytes: &[u8]) -> io::Result<Section> {
        let at = self.out.stream_position()?;
        self.out.write_all(bytes)?;
        Ok(Section {
            at,
            size: as_u64(bytes.len()),
            hash: hash_64(bytes),
        })
    }
}

/// The result of scanning a whole file.
pub(crate) struct FileSummary {
    pub(crate) format: Format,
    pub(crate) compression: Compression,
    pub(crate) source: SourceStamp,
    pub(crate) text: u64,
    pub(crate) container: AccessPoints,
    pub(crate) windows: Vec<Vec<u8>>,
    pub(crate) chunks: Vec<u64>,
}

fn to_le_bytes(wide: &[u64], narrow: &[u32]) -> Vec<u8> {
    let wide = wide.iter().flat_map(|value| value.to_le_bytes());
    wide.chain(narrow.iter().flat_map(|value| value.to_le_bytes()))
        .collect()
}
