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
use crate::building::{Building, RowSink, ScanSummary};
use crate::row::IndexRow;
use seqloom_compression::Trouble;
use seqloom_compression::seekable::{Seekable, TextCache};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

/// The number of bytes of text that are read in each call.
const READ_BYTES: u64 = 1 << 20;
/// The minimum size of a segment in bytes.
const MIN_SEGMENT: u64 = if cfg!(test) { 64 << 10 } else { 8 << 20 };
/// The number of bytes that are searched for the beginning of a record.
const SEARCH_BYTES: u64 = 1 << 20;

/// Scans a text, in segments if there are several threads.
pub(super) fn scan_text(
    text: Seekable,
    format: Format,
    rows: &mut (impl RowSink + Send),
    building: &Building,
) -> Result<ScanSummary, Trouble> {
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
    reader.read(done..text.size, rows)?;
    Ok(ScanSummary {
        text: text.size,
        container: text.container,
        windows: Vec::new(),
    })
}

/// Scans segments in parallel; returns the end of the last segment that succeeded.
fn read_segments(
    text: &Seekable,
    format: Format,
    rows: &mut impl RowSink,
    building: &Building,
) -> Result<u64, Trouble> {
    let reader = SegmentReader {
        text,
        format,
        building,
    };
    let size =
        (text.size / (4 * building.threads as u64).max(1)).clamp(MIN_SEGMENT, 8 * MIN_SEGMENT);
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
                .try_for_each(|(row, name)| rows.take(row, name))?;
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
    text: &'a Seekable,
    format: Format,
    building: &'a Building,
}

impl SegmentReader<'_> {
    /// Scans the records that begin within a range; returns `None` if no record begins
    /// there.
    fn read_segment(&self, range: Range<u64>) -> Result<Option<Segment>, Trouble> {
        let Some(begin) = self.first_record(range.start)? else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        // An error means that the assumed beginning of the segment was wrong, so the
        // caller scans the segment again.
        let end = match self.read_records(begin, range.end, &mut rows) {
            Err(Trouble::Damage(_)) => return Ok(None),
            end => end?,
        };
        Ok(Some(Segment { begin, end, rows }))
    }

    /// Scans from the beginning of a record to the end of the text.
    fn read(&self, range: Range<u64>, rows: &mut impl RowSink) -> Result<(), Trouble> {
        self.read_records(range.start, u64::MAX, rows).map(drop)
    }

    /// Scans the records from `begin` that begin before `stop`; returns the end of the
    /// last record.
    fn read_records(&self, begin: u64, stop: u64, rows: &mut impl RowSink) -> Result<u64, Trouble> {
        let mut checked_scan = CheckedScan::new(self.format, begin);
        let (mut chunk, mut cache) = (Vec::new(), TextCache::default());
        let mut at = begin;
        while at < self.text.size {
            chunk.clear();
            let end = (at + READ_BYTES).min(self.text.size);
            self.text.read(at..end, &mut chunk, &mut cache)?;
            let used = checked_scan.feed(&chunk, stop)?;
            checked_scan.deliver(rows)?;
            self.building.advance(as_u64(used))?;
            at += as_u64(used);
            if used < chunk.len() {
                break;
            }
        }
        checked_scan.finish(begin == 0)?;
        checked_scan.deliver(rows)?;
        Ok(checked_scan.at())
    }

    /// Returns the likely beginning of the first record at or after `start`.
    fn first_record(&self, start: u64) -> Result<Option<u64>, Trouble> {
        if start == 0 {
            return Ok(Some(0));
        }
        let mut text = Vec::new();
        let from = start - 1;
        let range = from..(from + SEARCH_BYTES).min(self.text.size);
        self.text
            .read(range, &mut text, &mut TextCache::default())?;
        let start = match self.format {
            Format::Fasta => memmem::find(&text, b"\n>").map(|position| position + 1),
            Format::Fastq => first_fastq_record(&text),
        };
        Ok(start.map(|position| from + position as u64))
    }
}

/// Returns the offset of the first four lines that look like a FASTQ record. These lines
/// have `@` and `+`, and residues and qualities of equal length.
fn first_fastq_record(text: &[u8]) -> Option<usize> {
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
        assert_eq!(first_fastq_record(text), Some(8));
    }
}
