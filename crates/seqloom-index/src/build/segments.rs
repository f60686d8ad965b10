//! Several parts of a text at once.
//!
//! Each part begins at the first position that looks like a record's beginning.
//! In FASTQ a quality may look so too: but if the part before, read through,
//! ends exactly there, then a record does begin there. If not, the rest is
//! looked through again in one go.

use std::ops::Range;

use memchr::memmem;
use rayon::prelude::*;

use super::judge::Judge;
use crate::building::{Building, Found, Take};
use crate::row::Row;
use seqloom_compression::Trouble;
use seqloom_compression::seekable::{TextCache, Seekable};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

/// How much is read at once.
const PIECE: u64 = 1 << 20;
/// The smallest part.
const SMALLEST: u64 = if cfg!(test) { 64 << 10 } else { 8 << 20 };
/// How far a record's beginning is looked for.
const NEAR: u64 = 1 << 20;

/// Looks through a text, in parts if there are threads for it.
pub(super) fn look_through(
    text: Seekable,
    format: Format,
    rows: &mut (impl Take + Send),
    building: &Building,
) -> Result<Found, Trouble> {
    let shared = building.threads > 1 && rayon::current_thread_index().is_some();
    let done = if shared {
        together(&text, format, rows, building)?
    } else {
        0
    };
    let part = Part {
        text: &text,
        format,
        building,
    };
    part.read(done..text.size, rows)?;
    Ok(Found {
        text: text.size,
        container: text.container,
        windows: Vec::new(),
    })
}

/// Looks through parts side by side; says up to where that went well.
fn together(
    text: &Seekable,
    format: Format,
    rows: &mut impl Take,
    building: &Building,
) -> Result<u64, Trouble> {
    let part = Part {
        text,
        format,
        building,
    };
    let size = (text.size / (4 * building.threads as u64).max(1)).clamp(SMALLEST, 8 * SMALLEST);
    let mut done = 0;
    let starts: Vec<u64> = (0..text.size.div_ceil(size))
        .map(|number| number * size)
        .collect();
    for wave in starts.chunks(building.threads) {
        let found: Vec<_> = wave
            .par_iter()
            .map(|start| part.beside(*start..(start + size).min(text.size)))
            .collect();
        for outcome in found {
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

/// Records that stand between two positions.
struct Segment {
    begin: u64,
    end: u64,
    rows: Vec<(Row, u64)>,
}

struct Part<'a> {
    text: &'a Seekable,
    format: Format,
    building: &'a Building,
}

impl Part<'_> {
    /// Looks through the records that begin within a range, if it is seen where
    /// the first one does.
    fn beside(&self, range: Range<u64>) -> Result<Option<Segment>, Trouble> {
        let Some(begin) = self.border(range.start)? else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        // A guess that was wrong shows as an error: the part is read again then.
        let end = match self.go(begin, range.end, &mut rows) {
            Err(Trouble::Damage(_)) => return Ok(None),
            end => end?,
        };
        Ok(Some(Segment { begin, end, rows }))
    }

    /// Looks through a range from a record's beginning, to the end of the text.
    fn read(&self, range: Range<u64>, rows: &mut impl Take) -> Result<(), Trouble> {
        self.go(range.start, u64::MAX, rows).map(drop)
    }

    /// Reads records from `begin` that begin before `stop`; says where they end.
    fn go(&self, begin: u64, stop: u64, rows: &mut impl Take) -> Result<u64, Trouble> {
        let mut judge = Judge::new(self.format, begin);
        let (mut piece, mut cache) = (Vec::new(), TextCache::default());
        let mut at = begin;
        while at < self.text.size {
            piece.clear();
            let end = (at + PIECE).min(self.text.size);
            self.text.read(at..end, &mut piece, &mut cache)?;
            let used = judge.feed(&piece, stop)?;
            judge.deliver(rows)?;
            self.building.advance(as_u64(used))?;
            at += as_u64(used);
            if used < piece.len() {
                break;
            }
        }
        judge.finish(begin == 0)?;
        judge.deliver(rows)?;
        Ok(judge.at())
    }

    /// Where the first record at `start` or behind begins, as far as one sees.
    fn border(&self, start: u64) -> Result<Option<u64>, Trouble> {
        if start == 0 {
            return Ok(Some(0));
        }
        let mut near = Vec::new();
        let from = start - 1;
        let range = from..(from + NEAR).min(self.text.size);
        self.text.read(range, &mut near, &mut TextCache::default())?;
        let found = match self.format {
            Format::Fasta => memmem::find(&near, b"\n>").map(|position| position + 1),
            Format::Fastq => fastq_border(&near),
        };
        Ok(found.map(|position| from + position as u64))
    }
}

/// The first line that begins with `@` and has a line of `+` two lines on, and
/// as many letters as qualities between and behind.
fn fastq_border(text: &[u8]) -> Option<usize> {
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
    fn a_line_of_qualities_is_no_border() {
        let text = b"CG\n+\n@@\n@b\nAC\n+\nII\n@c\n";
        assert_eq!(fastq_border(text), Some(8));
    }
}
