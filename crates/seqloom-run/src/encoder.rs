//! The sequence encoder, which is a kernel of `seqloom-encode` created from
//! `encoder.json`.

mod build;
mod typed;

use seqloom_core::{Ragged, Result};
use seqloom_encode::{LetterTable, RowLayout};
use seqloom_graph::{Dtype, Values};

pub(crate) use self::typed::OutputLayout;
use self::typed::TypedKernel;

/// Converts the residues or qualities of records to the numbers of a batch.
#[derive(Debug)]
pub struct Encoder {
    letters: LetterTable,
    typed: TypedKernel,
    dtype: Dtype,
    layout: RecordLayout,
    reads_qualities: bool,
}

/// The axes of the array of an encoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordLayout {
    /// `(channel, position)`.
    ChannelsFirst(usize),
    /// `(position, channel)`.
    ChannelsLast(usize),
    /// One number per residue or k-mer.
    Flat,
    /// Counts of k-mers, for any number of residues.
    Counts,
}

impl Encoder {
    /// Returns the table that defines how each byte is encoded.
    pub fn letters(&self) -> &LetterTable {
        &self.letters
    }

    /// Returns the type of the numbers.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns true if qualities are read instead of residues.
    pub fn reads_qualities(&self) -> bool {
        self.reads_qualities
    }

    /// Returns true if the positions of the array are tokens and not residues.
    pub fn has_tokens(&self) -> bool {
        self.layout == RecordLayout::Flat && !self.reads_qualities
    }

    /// Returns true if a record is encoded as k-mer counts, which have no positions.
    pub fn counts_words(&self) -> bool {
        self.layout == RecordLayout::Counts
    }

    /// Returns the number of positions for the given number of residues.
    pub fn places(&self, letters: usize) -> usize {
        let numbers = self.typed.size(letters);
        match self.layout {
            RecordLayout::ChannelsFirst(width) | RecordLayout::ChannelsLast(width) => {
                numbers / width.max(1)
            }
            RecordLayout::Flat | RecordLayout::Counts => numbers,
        }
    }

    /// Returns the largest number of residues, at most `letters`, that fit in `places`
    /// positions.
    pub fn max_residues(&self, places: usize, letters: usize) -> usize {
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

    /// Returns the shape of a batch of records with this number of positions.
    pub fn shape(&self, records: usize, places: usize) -> Vec<usize> {
        match self.layout {
            RecordLayout::ChannelsFirst(width) => vec![records, width, places],
            RecordLayout::ChannelsLast(width) => vec![records, places, width],
            RecordLayout::Flat | RecordLayout::Counts => vec![records, places],
        }
    }

    /// Encodes records into an array, replacing its contents.
    pub(crate) fn fill(
        &self,
        sequences: &Ragged<'_>,
        output: OutputLayout<'_>,
        out: &mut Values,
    ) -> Result<()> {
        self.typed.fill(&self.letters, sequences, output, out)
    }

    /// Returns the error of a record with an invalid character.
    pub(crate) fn residue_error(&self, sequence: &Ragged<'_>) -> Option<seqloom_core::Error> {
        let output = OutputLayout {
            size: self.typed.size(sequence.max_length()),
            rows: RowLayout::Equal,
        };
        let mut out = crate::array::empty_values(self.dtype);
        self.fill(sequence, output, &mut out).err()
    }
}
