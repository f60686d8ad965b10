//! The scan of a gzip file that is not bgzip, which must be read from its beginning to
//! its end.

use std::path::Path;

use super::checked_scan::CheckedScan;
use crate::building::{Building, RowSink, ScanSummary};
use seqloom_compression::Trouble;
use seqloom_compression::checksum::low;
use seqloom_compression::input::BufferedInput;
use seqloom_compression::seekable::{Container, Span, encode};
use seqloom_compression::walk::{BlockStart, Visitor, walk};
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
    building: &Building,
) -> Result<ScanSummary, Trouble> {
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
    walk(BufferedInput::open(path)?, &mut scan)?;
    scan.checked_scan.finish(true)?;
    scan.checked_scan.deliver(scan.rows)?;
    scan.end_span();
    Ok(ScanSummary {
        text: scan.text,
        container: Container::Gzip(scan.spans),
        windows: scan.windows,
    })
}

struct GzipScan<'a, T> {
    checked_scan: CheckedScan,
    rows: &'a mut T,
    building: &'a Building,
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
            last.sum = low(self.sum.digest());
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

    fn block_start(&mut self, block_start: &BlockStart<'_>) -> Result<(), Trouble> {
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
            encode(block_start.window)
        };
        self.windows.push(window);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Trouble> {
        self.sum.update(text);
        self.text += as_u64(text.len());
        self.building.advance(as_u64(text.len()))?;
        self.checked_scan.feed(text, u64::MAX)?;
        self.checked_scan.deliver(self.rows)
    }
}
