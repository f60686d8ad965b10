//! The scan of a gzip file that is not bgzip, which must be read from its beginning to
//! its end.

use std::path::Path;

use super::checked_scan::CheckedScan;
use crate::build_options::{BuildOptions, RowSink, ScanSummary};
use seqloom_compression::gzip_blocks::{BlockStart, Visitor, visit_blocks};
use seqloom_compression::seekable::{AccessPoints, Span, compress_window};
use seqloom_compression::{ReadError, checksum::low_32_bits, input::BufferedInput};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;
use xxhash_rust::xxh3::Xxh3;

/// The minimum distance in the text between two positions where decompression can start.
const MIN_SPAN_BYTES: u64 = if cfg!(fuzzing) { 1 << 10 } else { 256 << 10 };
/// The maximum number of positions where decompression can start.
const MAX_SPANS: u64 = if cfg!(fuzzing) { 16 } else { 8192 };
/// A compression ratio that is rarely exceeded for text.
const MAX_TEXT_RATIO: u64 = 4;

/// Scans a gzip file.
pub(super) fn scan_gzip(
    path: &Path,
    format: Format,
    rows: &mut impl RowSink,
    building: &BuildOptions,
) -> Result<ScanSummary, ReadError> {
    let size = std::fs::metadata(path)?.len();
    let mut scan = GzipScan {
        checked_scan: CheckedScan::new(format, 0),
        rows,
        building,
        span: MIN_SPAN_BYTES.max(size.saturating_mul(MAX_TEXT_RATIO) / MAX_SPANS),
        text: 0,
        sum: Box::default(),
        spans: Vec::new(),
        windows: Vec::new(),
    };
    visit_blocks(BufferedInput::open(path)?, &mut scan)?;
    scan.checked_scan.finish_last_record(true)?;
    scan.checked_scan.send_rows(scan.rows)?;
    scan.end_span();
    Ok(ScanSummary {
        text: scan.text,
        container: AccessPoints::Gzip(scan.spans),
        windows: scan.windows,
    })
}

struct GzipScan<'a, T> {
    checked_scan: CheckedScan,
    rows: &'a mut T,
    building: &'a BuildOptions,
    /// The minimum number of bytes of text in a span. A span ends where decompression
    /// can start.
    span: u64,
    /// The number of bytes of text that were scanned.
    text: u64,
    /// The checksum of the current span.
    sum: Box<Xxh3>,
    spans: Vec<Span>,
    windows: Vec<Vec<u8>>,
}

impl<T> GzipScan<'_, T> {
    fn end_span(&mut self) {
        if let Some(last) = self.spans.last_mut() {
            last.sum = low_32_bits(self.sum.digest());
        }
        self.sum.reset();
    }
}

impl<T: RowSink> Visitor for GzipScan<'_, T> {
    fn is_useful_start(&self, text: u64) -> bool {
        self.spans
            .last()
            .is_none_or(|last| text >= last.text + self.span)
    }

    fn visit_block_start(&mut self, block_start: &BlockStart<'_>) -> Result<(), ReadError> {
        self.end_span();
        let is_first = self.spans.is_empty();
        self.spans.push(Span {
            bit: block_start.bit,
            text: block_start.text,
            ..Span::default()
        });
        let window = if is_first || block_start.window.is_empty() {
            Vec::new()
        } else {
            compress_window(block_start.window)
        };
        self.windows.push(window);
        Ok(())
    }

    fn visit_text(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.sum.update(text);
        self.text += as_u64(text.len());
        self.building.add_progress(as_u64(text.len()))?;
        self.checked_scan.scan_chunk(text, u64::MAX)?;
        self.checked_scan.send_rows(self.rows)
    }
}
