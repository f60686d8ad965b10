//! Reads the bytes of `.bed` rows that contain the selected positions.

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::choose::SelectedPositions;
use seqloom_encode::genotype::pick::{KeptPositions, SLACK_BYTES};

use super::Indices;
use super::indices::split_runs;
use super::source::{LineSource, byte_window};

/// A source of `.bed` rows, and the range of bytes to read from each row.
pub(super) struct LineReads<'s, S> {
    source: &'s S,
    window: Range<usize>,
    /// The selected positions in a row that was read.
    pub(super) positions: LinePositions,
}

/// The selected positions of a `.bed` row.
pub(super) enum LinePositions {
    /// Consecutive positions. Only the first position is stored.
    From(usize),
    /// Selected positions whose codes are copied together, without decoding. If the
    /// positions do not ascend, their ranks are stored too.
    Kept(KeptPositions, Option<Vec<usize>>),
    /// Selected positions whose codes are decoded one by one.
    Chosen(SelectedPositions),
}

impl LinePositions {
    /// Selects positions whose codes are copied together.
    pub(super) fn packed(positions: &[usize]) -> Self {
        let (kept, ranks) = KeptPositions::new(positions);
        Self::Kept(kept, ranks)
    }

    /// Selects positions. If the positions ascend and are close to each other, their
    /// codes are copied together, otherwise one by one.
    pub(super) fn by_fastest_method(positions: &[usize]) -> Self {
        match KeptPositions::new(positions) {
            (kept, None) if kept.is_fast() => Self::Kept(kept, None),
            _ => Self::Chosen(SelectedPositions::new(positions)),
        }
    }
}

impl<'s, S: LineSource> LineReads<'s, S> {
    pub(super) fn new(
        source: &'s S,
        positions: &Indices,
        select: fn(&[usize]) -> LinePositions,
    ) -> Self {
        let window = byte_window(source.line_bytes(), &positions.bounds());
        let first = 4 * window.start;
        let positions = match positions {
            Indices::Range(range) => LinePositions::From(range.start - first),
            Indices::Some(index) => {
                let index: Vec<usize> = index.iter().map(|at| at - first).collect();
                select(&index)
            }
        };
        Self {
            source,
            window,
            positions,
        }
    }

    /// Returns the number of bytes that are read from a row.
    pub(super) fn width(&self) -> usize {
        self.window.len()
    }

    /// Returns the mean number of rows that are read per selected row, including the
    /// rows between selected rows.
    pub(super) fn read_ratio(&self, lines: &Indices) -> usize {
        let each = lines.bounds().len() / lines.len().max(1);
        each.clamp(1, self.max_gap() + 1)
    }

    /// Returns the size in bytes of this number of rows.
    pub(super) fn line_bytes(&self, lines: usize) -> usize {
        lines * self.width() + SLACK_BYTES
    }

    /// Returns the size in bytes of the given rows and the rows between them.
    pub(super) fn run_bytes(&self, lines: &[usize]) -> usize {
        self.line_bytes(split_runs(lines, self.max_gap()).map(run_length).sum())
    }

    /// Reads consecutive rows into one buffer.
    pub(super) fn fetch_lines(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        self.source.fetch_bytes(first, self.window.clone(), bytes)?;
        self.check_padding(first, bytes)
    }

    /// Reads rows into a buffer of [`LineReads::run_bytes`] bytes. Returns, for each row, a
    /// slice from the start of the row to the end of the buffer.
    pub(super) fn fetch_runs<'b>(
        &self,
        lines: &[usize],
        bytes: &'b mut [u8],
    ) -> Result<Vec<&'b [u8]>> {
        let (mut starts, mut at) = (Vec::with_capacity(lines.len()), 0);
        for run in split_runs(lines, self.max_gap()) {
            let out = &mut bytes[at..][..run_length(run) * self.width()];
            self.source.fetch_bytes(run[0], self.window.clone(), out)?;
            for line in run {
                let start = (line - run[0]) * self.width();
                self.check_padding(*line, &out[start..][..self.width()])?;
                starts.push(at + start);
            }
            at += out.len();
        }
        let bytes = &*bytes;
        Ok(starts.into_iter().map(|start| &bytes[start..]).collect())
    }

    fn check_padding(&self, first: usize, lines: &[u8]) -> Result<()> {
        if self.reads_whole_lines() {
            self.source.check_padding(first, lines)
        } else {
            Ok(())
        }
    }

    /// Returns the maximum number of unselected rows between selected rows that are read
    /// together. It is 0 if only a section of each row is read.
    fn max_gap(&self) -> usize {
        if self.reads_whole_lines() {
            self.source.max_gap_lines()
        } else {
            0
        }
    }

    fn reads_whole_lines(&self) -> bool {
        self.width() == self.source.line_bytes()
    }
}

/// Returns the number of rows from the first to the last row of a run.
fn run_length(run: &[usize]) -> usize {
    match run {
        [first, .., last] => last - first + 1,
        _ => run.len(),
    }
}
