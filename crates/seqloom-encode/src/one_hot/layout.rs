//! The shape of a one-hot array.

use seqloom_core::{Error, Result};

/// The shape of a C-contiguous array of one-hot sequences, and the order of its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneHotLayout {
    sizes: [usize; 3],
    channels_first: bool,
}

impl OneHotLayout {
    /// Sizes `(sequences, channels, positions)` with channels first, else
    /// `(sequences, positions, channels)`.
    pub fn new(sizes: [usize; 3], channels_first: bool) -> Self {
        Self {
            sizes,
            channels_first,
        }
    }

    /// The number of sequences.
    pub fn sequences(&self) -> usize {
        self.sizes[0]
    }

    /// The number of positions of each sequence.
    pub fn length(&self) -> usize {
        self.sizes[if self.channels_first { 2 } else { 1 }]
    }

    /// Where the number of a position and a channel stands in the row of its sequence.
    pub(super) fn position(&self, position: usize, channel: usize, width: usize) -> usize {
        if self.channels_first {
            return channel * self.length() + position;
        }
        position * width + channel
    }

    /// Checks the sizes against the channels and the numbers there are.
    pub(super) fn check(&self, width: usize, numbers: usize) -> Result<()> {
        let found = self.sizes[if self.channels_first { 1 } else { 2 }];
        let product = |size: usize, axis: &usize| size.checked_mul(*axis);
        let size = self.sizes.iter().try_fold(1, product);
        if found == width && size == Some(numbers) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "expected {width} channels, found an array of shape {:?}",
            self.sizes
        )))
    }
}
