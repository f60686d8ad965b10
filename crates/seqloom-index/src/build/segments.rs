//! Scans the segments of a text in parallel.
//!
//! Each segment begins at the first position that looks like the beginning of a record.
//! In FASTQ, a line of qualities may look like the beginning of a record. A segment
//! begins correctly if the previous segment ends at exactly the same position. If a
//! segment does not begin correctly, one thread scans the rest of the text again.

use std::ops::Range;

use memchr::memmem;
use rayon::prelude::*;

use super::checked_scan::CheckedScan;
use crate::build_options::{BuildOptions, RowSink, ScanSummary};
use crate::row::IndexRow;
use seqloom_compression::ReadError;
use seqloom_compression::seekable::{SeekableText, TextCache};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

/// The number of bytes of text that are read in each call.
const SEGMENT_READ_BYTES: u64 = 1 << 20;
/// The minimum size of a segment in bytes.
const MIN_SEGMENT_BYTES: u64 = if cfg!(test) { 64 << 10 } else { 8 << 20 };
/// The number of bytes that are searched for the beginning of a record.
const RECORD_SEARCH_BYTES: u64 = 1 << 20;

/// Scans a text, in segments if there are several threads.
pub(super) fn scan_text(
    text: SeekableText,
    format: Format,
    rows: &mut (impl RowSink + Send),
    building: &BuildOptions,
) -> Result<ScanSummary, ReadError> {
    let shared = building.threads > 1 && rayon::current_thread_index().is_some();
    let done = if shared {
        read_segments(&text, format, rows, building)?
    } else {
        0
    };
    let reader = SegmentReader {
        text: &text,
        format,
        building,
    };
    reader.read_to_end(done..text.size, rows)?;
    Ok(ScanSummary {
        text: text.size,
        container: text.container,
        windows: Vec::new(),
    })
}

/// Scans segments in parallel; returns the end of the last segment that succeeded.
fn read_segments(
    text: &SeekableText,
    format: Format,
    rows: &mut impl RowSink,
    building: &BuildOptions,
) -> Result<u64, ReadError> {
    let reader = SegmentReader {
        text,
        format,
        building,
    };
    let size = (text.size / (4 * building.threads as u64).max(1))
        .clamp(MIN_SEGMENT_BYTES, 8 * MIN_SEGMENT_BYTES);
    let mut done = 0;
    let starts: Vec<u64> = (0..text.size.div_ceil(size))
        .map(|number| number * size)
        .collect();
    for wave in starts.chunks(building.threads) {
        let segments: Vec<_> = wave
            .par_iter()
            .map(|start| reader.read_segment(*start..(start + size).min(text.size)))
            .collect();
        for outcome in segments {
            let Some(segment) = outcome?.filter(|segment| segment.begin == done) else {
                return Ok(done);
            };
            done = segment.end;
            segment
                .rows
                .into_iter()
                .try_for_each(|(row, name)| rows.add_row(row, name))?;
        }
    }
    Ok(done)
}

/// The records between two positions.
struct Segment {
    begin: u64,
    end: u64,
    rows: Vec<(IndexRow, u64)>,
}

struct SegmentReader<'a> {
    text: &'a SeekableText,
    format: Format,
    building: &'a BuildOptions,
}

impl SegmentReader<'_> {
    /// Scans the records that begin within a range; returns `None` if no record begins
    /// there.
    fn read_segment(&self, range: Range<u64>) -> Result<Option<Segment>, ReadError> {
        let Some(begin) = self.find_first_record(range.start)? else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        // An error means that the assumed beginning of the segment was wrong, so the
        // caller scans the segment again.
        let end = match self.read_records(begin, range.end, &mut rows) {
            Err(ReadError::Damage(_)) => return Ok(None),
            end => end?,
        };
        Ok(Some(Segment { begin, end, rows }))
    }

    /// Scans from the beginning of a record to the end of the text.
    fn read_to_end(&self, range: Range<u64>, rows: &mut impl RowSink) -> Result<(), ReadError> {
        self.read_records(range.start, u64::MAX, rows).map(drop)
    }

    /// Scans the records from `begin` that begin before `stop`; returns the end of the
    /// last record.
    fn read_records(
        &self,
        begin: u64,
        stop: u64,
        rows: &mut impl RowSink,
    ) -> Result<u64, ReadError> {
        let mut checked_scan = CheckedScan::new(self.format, begin);
        let (mut chunk, mut cache) = (Vec::new(), TextCache::default());
        let mut at = begin;
        while at < self.text.size {
            chunk.clear();
            let end = (at + SEGMENT_READ_BYTES).min(self.text.size);
            self.text.read_range(at..end, &mut chunk, &mut cache)?;
            let used = checked_scan.scan_chunk(&chunk, stop)?;
            checked_scan.send_rows(rows)?;
            self.building.add_progress(as_u64(used))?;
            at += as_u64(used);
            if used < chunk.len() {
                break;
            }
        }
        checked_scan.finish_last_record(begin == 0)?;
        checked_scan.send_rows(rows)?;
        Ok(checked_scan.next_record_offset())
    }

    /// Returns the likely beginning of the first record at or after `start`.
    fn find_first_record(&self, start: u64) -> Result<Option<u64>, ReadError> {
        if start == 0 {
            return Ok(Some(0));
        }
        let mut text = Vec::new();
        let from = start - 1;
        let range = from..(from + RECORD_SEARCH_BYTES).min(self.text.size);
        self.text
            .read_range(range, &mut text, &mut TextCache::default())?;
        let start = match self.format {
            Format::Fasta => memmem::find(&text, b"\n>").map(|position| position + 1),
            Format::Fastq => find_fastq_record(&text),
        };
        Ok(start.map(|position| from + position as u64))
    }
}

/// Returns the offset of the first four lines that look like a FASTQ record. These lines
/// have `@` and `+`, and residues and qualities of equal length.
fn find_fastq_record(text: &[u8]) -> Option<usize> {
    let lines = memchr::memchr_iter(b'\n', text).map(|end| end + 1);
    let line = |start: usize| {
        let rest = text.get(start..)?;
        rest.get(..memchr::memchr(b'\n', rest)?)
    };
    for start in lines {
        let mut at = start;
        let mut four: [&[u8]; 4] = [&[]; 4];
        for position in &mut four {
            *position = line(at)?;
            at += position.len() + 1;
        }
        let marks = four[0].starts_with(b"@") && four[2].starts_with(b"+");
        if marks && four[1].len() == four[3].len() {
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_qualities_is_not_the_beginning_of_a_record() {
        let text = b"CG\n+\n@@\n@b\nAC\n+\nII\n@c\n";
        assert_eq!(find_fastq_record(text), Some(8));
    }
}
