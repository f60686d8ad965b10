//! From lines of a source to lines that begin with the first place that is wanted.

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::pick::{Kept, SLACK};

use super::Picks;
use super::source::{Source, window};

/// What becomes of each line before it is decoded.
pub(super) struct Gather {
    /// The bytes of a line that are fetched.
    window: Range<usize>,
    /// Places that are moved together; none where all of the window's stay.
    kept: Option<Kept>,
    /// Which of the places comes when; none where they come one after the other.
    ranks: Option<Vec<usize>>,
    /// The first place, counted from the first byte that is fetched.
    first: usize,
}

impl Gather {
    pub(super) fn new(stride: usize, places: &Picks) -> Self {
        let window = window(stride, &places.hull());
        let first = 4 * window.start;
        let (kept, ranks, start) = match places {
            Picks::Range(range) => (None, None, range.start - first),
            Picks::Some(index) => {
                let index: Vec<usize> = index.iter().map(|at| at - first).collect();
                let (kept, ranks) = Kept::new(&index);
                (Some(kept), ranks, 0)
            }
        };
        Self {
            window,
            kept,
            ranks,
            first: start,
        }
    }

    /// The bytes of a line that are fetched.
    pub(super) fn width(&self) -> usize {
        self.window.len()
    }

    /// The bytes from one line to the next after fetching.
    pub(super) fn stride(&self) -> usize {
        self.kept.as_ref().map_or(self.width(), Kept::stride)
    }

    /// The first place, counted from the first byte of a fetched line.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// Which of a line's places comes when.
    pub(super) fn ranks(&self) -> Option<&[usize]> {
        self.ranks.as_deref()
    }

    /// The memory that so many lines take.
    pub(super) fn size(&self, lines: usize) -> usize {
        let moved = self.kept.as_ref().map_or(0, |kept| lines * kept.stride());
        lines * self.width() + SLACK + moved
    }

    /// Fetches runs of lines; they lie end to end.
    pub(super) fn fetch<'b>(
        &self,
        source: &impl Source,
        runs: &[(usize, usize)],
        bytes: &'b mut [u8],
    ) -> Result<&'b [u8]> {
        let lines: usize = runs.iter().map(|(_, length)| length).sum();
        let (fetched, moved) = bytes.split_at_mut(lines * self.width() + SLACK);
        let mut rest = &mut fetched[..lines * self.width()];
        for &(first, length) in runs {
            let (out, left) = rest.split_at_mut(length * self.width());
            source.fetch(first, self.window.clone(), out)?;
            rest = left;
        }
        let Some(kept) = &self.kept else {
            return Ok(&fetched[..lines * self.width()]);
        };
        kept.compact(fetched, self.width(), moved);
        Ok(&moved[..lines * kept.stride()])
    }
}
