//! The shape of a one-hot array.

use seqloom_core::{Error, Result};

/// The shape of a C-contiguous array of one-hot encoded sequences, and the order of its
/// axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneHotLayout {
    sizes: [usize; 3],
    channels_first: bool,
}

impl OneHotLayout {
    /// Creates a layout. `sizes` is `(sequences, channels, positions)` if channels come
    /// first, otherwise `(sequences, positions, channels)`.
    pub fn new(sizes: [usize; 3], channels_first: bool) -> Self {
        Self {
            sizes,
            channels_first,
        }
    }

    /// Returns the number of sequences.
    pub fn sequences(&self) -> usize {
        self.sizes[0]
    }

    /// Returns the number of positions of each sequence.
    pub fn length(&self) -> usize {
        self.sizes[if self.channels_first { 2 } else { 1 }]
    }

    /// Returns the offset of an element in the row of a sequence, from its position and
    /// channel.
    pub(super) fn element_offset(&self, position: usize, channel: usize, width: usize) -> usize {
        if self.channels_first {
            return channel * self.length() + position;
        }
        position * width + channel
    }

    /// Returns an error if the sizes do not match the numbers of channels and values.
    pub(super) fn check_sizes(&self, width: usize, numbers: usize) -> Result<()> {
        let channels = self.sizes[if self.channels_first { 1 } else { 2 }];
        let product = |size: usize, axis: &usize| size.checked_mul(*axis);
        let size = self.sizes.iter().try_fold(1, product);
        if channels == width && size == Some(numbers) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "expected {width} channels, found an array of shape {:?}",
            self.sizes
        )))
    }
}
