//! The shape of a one-hot array.

use seqloom_core::{Error, Result};

/// Which axis holds the letters of the alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channels {
    /// `(sequence, channel, place)`.
    First,
    /// `(sequence, place, channel)`.
    Last,
}

/// The shape of a C-contiguous array of one-hot sequences, and the order of its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    sizes: [usize; 3],
    channels: Channels,
}

impl Layout {
    /// Sizes `(sequences, channels, places)` with channels first, else
    /// `(sequences, places, channels)`.
    pub fn new(sizes: [usize; 3], channels_first: bool) -> Self {
        let channels = if channels_first {
            Channels::First
        } else {
            Channels::Last
        };
        Self { sizes, channels }
    }

    /// The number of sequences.
    pub fn sequences(&self) -> usize {
        self.sizes[0]
    }

    /// The number of places of each sequence.
    pub fn length(&self) -> usize {
        match self.channels {
            Channels::First => self.sizes[2],
            Channels::Last => self.sizes[1],
        }
    }

    pub(super) fn channels(&self) -> Channels {
        self.channels
    }

    /// Checks the sizes against each other and against what is to be written.
    pub(super) fn check(&self, sequences: usize, width: usize, numbers: usize) -> Result<()> {
        let expected = match self.channels {
            Channels::First => [sequences, width, self.length()],
            Channels::Last => [sequences, self.length(), width],
        };
        let size = expected
            .iter()
            .try_fold(1_usize, |size, axis| size.checked_mul(*axis));
        if self.sizes == expected && size == Some(numbers) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "the array must have shape {expected:?} for {sequences} sequences and {width} channels, it has {:?}",
            self.sizes
        )))
    }
}
