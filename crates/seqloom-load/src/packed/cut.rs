//! A long record as windows.

use seqloom_core::{Error, Result};

/// Cuts records into windows.
#[derive(Clone, Copy, Debug)]
pub struct WindowCutter {
    most: usize,
    overlap: usize,
}

/// Some letters of a record, and which of them a merge of all its windows takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenWindow {
    /// The first letter.
    pub start: usize,
    /// The first letter behind it.
    pub stop: usize,
    /// The first letter that a merge takes, and the first behind those, counted from `start`.
    pub keep: (usize, usize),
    /// Where the next window begins; nothing behind the last one.
    pub next: Option<usize>,
}

impl WindowCutter {
    /// Windows of at most so many letters (nothing: records stay whole), whose neighbours
    /// share `overlap` letters.
    pub fn new(most: Option<usize>, overlap: usize) -> Result<Self> {
        let most = most.unwrap_or(usize::MAX);
        if overlap >= most {
            return Err(Error::argument(format!(
                "overlap must be below max_length={most}, got {overlap}"
            )));
        }
        Ok(Self { most, overlap })
    }

    /// The window of a record of so many letters that begins at `start`.
    ///
    /// Where neighbours overlap, a merge takes each letter from the window in which it lies
    /// farther from the edge: the first half of the overlap from the left one.
    pub fn window(&self, letters: usize, start: usize) -> TokenWindow {
        let stop = letters.min(start.saturating_add(self.most));
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
        fn kept_letters_cover_a_record_once_and_neighbours_share_the_overlap(
            most in 1_usize..40, overlap in 0_usize..40, letters in 0_usize..300,
        ) {
            let cut = WindowCutter::new(Some(most), overlap % most).unwrap();
            let windows = all(cut, letters);
            let kept: Vec<usize> = windows
                .iter()
                .flat_map(|window| window.start + window.keep.0..window.start + window.keep.1)
                .collect();
            prop_assert_eq!(kept, (0..letters).collect::<Vec<_>>());
            for pair in windows.windows(2) {
                prop_assert_eq!(pair[0].stop - pair[1].start, overlap % most);
                prop_assert_eq!(pair[0].stop - pair[0].start, most);
            }
        }

        #[test]
        fn each_letter_is_kept_where_it_lies_farther_from_the_edge(
            most in 2_usize..20, overlap in 0_usize..10, letters in 0_usize..100,
        ) {
            let windows = all(WindowCutter::new(Some(most), overlap % (most / 2 + 1)).unwrap(), letters);
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
