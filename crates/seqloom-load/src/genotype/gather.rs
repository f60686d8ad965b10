//! From lines of a source to lines that begin with the first position that is wanted.

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::choose::ChosenPositions;
use seqloom_encode::genotype::pick::{KeptPositions, SLACK_BYTES};

use super::Picks;
use super::picks::runs;
use super::source::{LineSource, window};

/// The lines of a source, and the bytes of them that are fetched.
pub(super) struct Gather<'s, S> {
    source: &'s S,
    window: Range<usize>,
    /// Which positions of a fetched line are wanted.
    pub(super) positions: LinePositions,
}

/// The wanted positions of a line.
pub(super) enum LinePositions {
    /// All from one on.
    From(usize),
    /// Some, which are moved together; and which of them comes when, if not in their order.
    Kept(KeptPositions, Option<Vec<usize>>),
    /// Some, each by itself.
    Chosen(ChosenPositions),
}

impl LinePositions {
    /// Positions that are moved together.
    pub(super) fn kept(positions: &[usize]) -> Self {
        let (kept, ranks) = KeptPositions::new(positions);
        Self::Kept(kept, ranks)
    }

    /// Positions that are moved together only if they ascend and are not far from each other.
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

    /// The bytes of a line that are fetched.
    pub(super) fn width(&self) -> usize {
        self.window.len()
    }

    /// How many lines of a source hold one of some, on average, counting those that are
    /// fetched with them.
    pub(super) fn spread(&self, lines: &Picks) -> usize {
        let each = lines.hull().len() / lines.len().max(1);
        each.clamp(1, self.gap() + 1)
    }

    /// Returns the bytes that this number of lines takes.
    pub(super) fn size_of_lines(&self, lines: usize) -> usize {
        lines * self.width() + SLACK_BYTES
    }

    /// Returns the bytes that some lines take, with the lines between them.
    pub(super) fn size_of_runs(&self, lines: &[usize]) -> usize {
        self.size_of_lines(runs(lines, self.gap()).map(reach).sum())
    }

    /// Fetches lines that follow each other; they lie end to end.
    pub(super) fn fetch(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        self.source.fetch(first, self.window.clone(), bytes)?;
        self.check_padding(first, bytes)
    }

    /// Fetches some lines into [`Gather::size_of_runs`] bytes. Returns the bytes from the
    /// beginning of each line to the end.
    pub(super) fn fetch_some<'b>(
        &self,
        lines: &[usize],
        bytes: &'b mut [u8],
    ) -> Result<Vec<&'b [u8]>> {
        let (mut starts, mut at) = (Vec::with_capacity(lines.len()), 0);
        for run in runs(lines, self.gap()) {
            let out = &mut bytes[at..][..reach(run) * self.width()];
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

    /// The lines between two that are fetched with them; parts of lines are read alone.
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

/// How many lines there are from the first of a run to the last.
fn reach(run: &[usize]) -> usize {
    match run {
        [first, .., last] => last - first + 1,
        _ => run.len(),
    }
}
