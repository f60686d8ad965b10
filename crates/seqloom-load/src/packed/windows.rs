//! Splits a long record into windows.

use seqloom_core::{Error, Result};

/// The rule that splits records into windows.
#[derive(Clone, Copy, Debug)]
pub struct WindowCutter {
    limit: usize,
    overlap: usize,
}

/// A range of the residues of a record, and the subrange that is used when windows are
/// merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenWindow {
    /// The index of the first residue of the window.
    pub start: usize,
    /// The index after the last residue of the window.
    pub stop: usize,
    /// The range (start, stop) that is used when windows are merged, relative to `start`.
    pub keep: (usize, usize),
    /// The start of the next window; `None` after the last window.
    pub next: Option<usize>,
}

impl WindowCutter {
    /// Splits records into windows of at most `limit` residues; neighbouring windows
    /// overlap by `overlap` residues. If `limit` is `None`, records are not split.
    pub fn new(limit: Option<usize>, overlap: usize) -> Result<Self> {
        let limit = limit.unwrap_or(usize::MAX);
        if overlap >= limit {
            return Err(Error::argument(format!(
                "overlap must be below max_length={limit}, got {overlap}"
            )));
        }
        Ok(Self { limit, overlap })
    }

    /// Returns the window that begins at `start` of a record with `letters` residues.
    ///
    /// When overlapping windows are merged, each residue is taken from the window in which
    /// it is farther from the edge. The left window provides the first half of the overlap.
    pub fn window(&self, letters: usize, start: usize) -> TokenWindow {
        let stop = letters.min(start.saturating_add(self.limit));
        let half = self.overlap.div_ceil(2);
        let is_last = stop == letters;
        let end = stop - start;
        let last_kept = if is_last {
            end
        } else {
            end - self.overlap + half
        };
        TokenWindow {
            start,
            stop,
            keep: (if start > 0 { half } else { 0 }, last_kept),
            next: (!is_last).then(|| stop - self.overlap),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(cut: WindowCutter, letters: usize) -> Vec<TokenWindow> {
        let mut windows = vec![cut.window(letters, 0)];
        while let Some(start) = windows.last().and_then(|window| window.next) {
            windows.push(cut.window(letters, start));
        }
        windows
    }

    #[test]
    fn a_record_that_fits_is_one_window() {
        let cut = WindowCutter::new(Some(10), 3).unwrap();
        let whole = |letters| TokenWindow {
            start: 0,
            stop: letters,
            keep: (0, letters),
            next: None,
        };
        assert_eq!(all(cut, 10), [whole(10)]);
        assert_eq!(all(cut, 0), [whole(0)]);
    }

    #[test]
    fn an_overlap_as_long_as_a_window_is_an_error() {
        assert!(WindowCutter::new(Some(4), 4).is_err());
        assert!(WindowCutter::new(None, 4).is_ok());
    }

    proptest! {
        #[test]
        fn merged_windows_contain_each_residue_once(
            limit in 1_usize..40, overlap in 0_usize..40, letters in 0_usize..300,
        ) {
            let cut = WindowCutter::new(Some(limit), overlap % limit).unwrap();
            let windows = all(cut, letters);
            let kept: Vec<usize> = windows
                .iter()
                .flat_map(|window| window.start + window.keep.0..window.start + window.keep.1)
                .collect();
            prop_assert_eq!(kept, (0..letters).collect::<Vec<_>>());
            for pair in windows.windows(2) {
                prop_assert_eq!(pair[0].stop - pair[1].start, overlap % limit);
                prop_assert_eq!(pair[0].stop - pair[0].start, limit);
            }
        }

        #[test]
        fn a_merge_takes_residues_from_the_window_with_the_farther_edge(
            limit in 2_usize..20, overlap in 0_usize..10, letters in 0_usize..100,
        ) {
            let cut = WindowCutter::new(Some(limit), overlap % (limit / 2 + 1)).unwrap();
            let windows = all(cut, letters);
            for pair in windows.windows(2) {
                for letter in pair[1].start..pair[0].stop {
                    let (left, right) = (pair[0].stop - 1 - letter, letter - pair[1].start);
                    let is_left = letter < pair[0].start + pair[0].keep.1;
                    prop_assert_eq!(is_left, left >= right);
                }
            }
        }
    }
}
