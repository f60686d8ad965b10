//! Fetches the bytes of lines that contain the selected positions.

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::choose::ChosenPositions;
use seqloom_encode::genotype::pick::{KeptPositions, SLACK_BYTES};

use super::Picks;
use super::picks::runs;
use super::source::{LineSource, window};

/// A source of lines, and the range of bytes to fetch from each line.
pub(super) struct Gather<'s, S> {
    source: &'s S,
    window: Range<usize>,
    /// The selected positions of a fetched line.
    pub(super) positions: LinePositions,
}

/// The selected positions of a line.
pub(super) enum LinePositions {
    /// All positions beginning with this one.
    From(usize),
    /// Selected positions that are moved together. If they do not ascend, their ranks
    /// are stored too.
    Kept(KeptPositions, Option<Vec<usize>>),
    /// Selected positions that are decoded one by one.
    Chosen(ChosenPositions),
}

impl LinePositions {
    /// Selects positions that are moved together.
    pub(super) fn kept(positions: &[usize]) -> Self {
        let (kept, ranks) = KeptPositions::new(positions);
        Self::Kept(kept, ranks)
    }

    /// Selects positions. They are moved together only if they ascend and are close to
    /// each other.
    pub(super) fn chosen(positions: &[usize]) -> Self {
        match KeptPositions::new(positions) {
            (kept, None) if kept.is_quick() => Self::Kept(kept, None),
            _ => Self::Chosen(ChosenPositions::new(positions)),
        }
    }
}

impl<'s, S: LineSource> Gather<'s, S> {
    pub(super) fn new(
        source: &'s S,
        positions: &Picks,
        some: fn(&[usize]) -> LinePositions,
    ) -> Self {
        let window = window(source.stride(), &positions.hull());
        let first = 4 * window.start;
        let positions = match positions {
            Picks::Range(range) => LinePositions::From(range.start - first),
            Picks::Some(index) => {
                let index: Vec<usize> = index.iter().map(|at| at - first).collect();
                some(&index)
            }
        };
        Self {
            source,
            window,
            positions,
        }
    }

    /// Returns the number of bytes that are fetched from a line.
    pub(super) fn width(&self) -> usize {
        self.window.len()
    }

    /// Returns the mean number of lines that are fetched for each selected line, with
    /// the lines between them.
    pub(super) fn spread(&self, lines: &Picks) -> usize {
        let each = lines.hull().len() / lines.len().max(1);
        each.clamp(1, self.gap() + 1)
    }

    /// Returns the number of bytes for this number of lines.
    pub(super) fn size_of_lines(&self, lines: usize) -> usize {
        lines * self.width() + SLACK_BYTES
    }

    /// Returns the number of bytes for the given lines and the lines between them.
    pub(super) fn size_of_runs(&self, lines: &[usize]) -> usize {
        self.size_of_lines(runs(lines, self.gap()).map(span).sum())
    }

    /// Fetches consecutive lines; they are concatenated.
    pub(super) fn fetch(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        self.source.fetch(first, self.window.clone(), bytes)?;
        self.check_padding(first, bytes)
    }

    /// Fetches lines into a buffer of [`Gather::size_of_runs`] bytes. Returns, for each
    /// line, the bytes from its start to the end of the buffer.
    pub(super) fn fetch_some<'b>(
        &self,
        lines: &[usize],
        bytes: &'b mut [u8],
    ) -> Result<Vec<&'b [u8]>> {
        let (mut starts, mut at) = (Vec::with_capacity(lines.len()), 0);
        for run in runs(lines, self.gap()) {
            let out = &mut bytes[at..][..span(run) * self.width()];
            self.source.fetch(run[0], self.window.clone(), out)?;
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
        if self.is_whole() {
            self.source.check_padding(first, lines)
        } else {
            Ok(())
        }
    }

    /// Returns the maximal number of unselected lines between two selected lines of one
    /// read. It is 0 if only a part of each line is fetched.
    fn gap(&self) -> usize {
        if self.is_whole() {
            self.source.gap()
        } else {
            0
        }
    }

    fn is_whole(&self) -> bool {
        self.width() == self.source.stride()
    }
}

/// Returns the number of lines from the first to the last line of a run.
fn span(run: &[usize]) -> usize {
    match run {
        [first, .., last] => last - first + 1,
        _ => run.len(),
    }
}
