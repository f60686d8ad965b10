//! The encoder of letters: `encoder.json` as a kernel of `seqloom-encode`.

mod build;
mod typed;

use seqloom_core::{Ragged, Result};
use seqloom_encode::{LetterTable, RowLayout};
use seqloom_graph::{Dtype, Values};

pub(crate) use self::typed::OutputLayout;
use self::typed::TypedKernel;

/// Turns the letters of records, or their qualities, into the numbers of a batch.
#[derive(Debug)]
pub struct Encoder {
    letters: LetterTable,
    typed: TypedKernel,
    dtype: Dtype,
    layout: RecordLayout,
    reads_qualities: bool,
}

/// The layout of the numbers of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordLayout {
    /// `(channel, position)`.
    ChannelsFirst(usize),
    /// `(position, channel)`.
    ChannelsLast(usize),
    /// One number a letter, or a word.
    Flat,
    /// Counts of words, whatever the number of letters.
    Counts,
}

impl Encoder {
    /// The table of letters: what each byte means.
    pub fn letters(&self) -> &LetterTable {
        &self.letters
    }

    /// The type of the numbers.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Whether qualities are read instead of letters.
    pub fn reads_qualities(&self) -> bool {
        self.reads_qualities
    }

    /// Whether positions are tokens, not letters.
    pub fn has_tokens(&self) -> bool {
        self.layout == RecordLayout::Flat && !self.reads_qualities
    }

    /// Whether a record is counts of words, which have no position.
    pub fn counts_words(&self) -> bool {
        self.layout == RecordLayout::Counts
    }

    /// How many positions so many letters take.
    pub fn places(&self, letters: usize) -> usize {
        let numbers = self.typed.size(letters);
        match self.layout {
            RecordLayout::ChannelsFirst(width) | RecordLayout::ChannelsLast(width) => {
                numbers / width.max(1)
            }
            RecordLayout::Flat | RecordLayout::Counts => numbers,
        }
    }

    /// The most of so many letters that take no more than so many positions.
    pub fn letters_within(&self, places: usize, letters: usize) -> usize {
        let (mut most, mut beyond) = (0, letters + 1);
        while most + 1 < beyond {
            let middle = most.midpoint(beyond);
            if self.places(middle) <= places {
                most = middle;
            } else {
                beyond = middle;
            }
        }
        most
    }

    /// The sizes of a batch of so many records and positions.
    pub fn shape(&self, records: usize, places: usize) -> Vec<usize> {
        match self.layout {
            RecordLayout::ChannelsFirst(width) => vec![records, width, places],
            RecordLayout::ChannelsLast(width) => vec![records, places, width],
            RecordLayout::Flat | RecordLayout::Counts => vec![records, places],
        }
    }

    /// Writes records into an array, whose numbers are forgotten.
    pub(crate) fn fill(
        &self,
        sequences: &Ragged<'_>,
        output: OutputLayout<'_>,
        out: &mut Values,
    ) -> Result<()> {
        self.typed.fill(&self.letters, sequences, output, out)
    }

    /// The error of a record with a letter that is refused.
    pub(crate) fn refusal(&self, sequence: &Ragged<'_>) -> Option<seqloom_core::Error> {
        let output = OutputLayout {
            size: self.typed.size(sequence.max_length()),
            rows: RowLayout::Equal,
        };
        let mut out = crate::array::none_of(self.dtype);
        self.fill(sequence, output, &mut out).err()
    }
}
