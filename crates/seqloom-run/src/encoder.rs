//! The encoder of sequences: a kernel of `seqloom-encode` that is created from
//! `encoder.json`.

mod build;
mod typed;

use seqloom_core::{Ragged, Result};
use seqloom_encode::{LetterTable, RowLayout};
use seqloom_graph::{Dtype, Values};

pub(crate) use self::typed::OutputLayout;
use self::typed::TypedKernel;

/// An encoder that converts the residues or qualities of records to numbers.
#[derive(Debug)]
pub struct Encoder {
    letters: LetterTable,
    typed: TypedKernel,
    dtype: Dtype,
    layout: RecordLayout,
    reads_qualities: bool,
}

/// The order of the axes in the array of an encoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordLayout {
    /// `(channel, position)`.
    ChannelsFirst(usize),
    /// `(position, channel)`.
    ChannelsLast(usize),
    /// One number per residue or k-mer.
    Flat,
    /// Counts of k-mers; every record has the same number of counts.
    Counts,
}

impl Encoder {
    /// Returns the table that defines how each character is encoded.
    pub fn letters(&self) -> &LetterTable {
        &self.letters
    }

    /// Returns the element type of the encoded arrays.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns true if qualities are encoded instead of residues.
    pub fn reads_qualities(&self) -> bool {
        self.reads_qualities
    }

    /// Returns true if the encoded records consist of tokens.
    pub fn has_tokens(&self) -> bool {
        self.layout == RecordLayout::Flat && !self.reads_qualities
    }

    /// Returns true if a record is encoded as k-mer counts, which have no positions.
    pub fn counts_words(&self) -> bool {
        self.layout == RecordLayout::Counts
    }

    /// Returns the length of the encoded record for the given number of residues.
    pub fn positions(&self, letters: usize) -> usize {
        let numbers = self.typed.size(letters);
        match self.layout {
            RecordLayout::ChannelsFirst(width) | RecordLayout::ChannelsLast(width) => {
                numbers / width.max(1)
            }
            RecordLayout::Flat | RecordLayout::Counts => numbers,
        }
    }

    /// Returns the largest number of residues, at most `letters`, whose encoded record
    /// has at most `positions` positions.
    pub fn max_residues(&self, positions: usize, letters: usize) -> usize {
        let (mut most, mut beyond) = (0, letters + 1);
        while most + 1 < beyond {
            let middle = most.midpoint(beyond);
            if self.positions(middle) <= positions {
                most = middle;
            } else {
                beyond = middle;
            }
        }
        most
    }

    /// Returns the shape of a batch of records with the given number of positions.
    pub fn shape(&self, records: usize, positions: usize) -> Vec<usize> {
        match self.layout {
            RecordLayout::ChannelsFirst(width) => vec![records, width, positions],
            RecordLayout::ChannelsLast(width) => vec![records, positions, width],
            RecordLayout::Flat | RecordLayout::Counts => vec![records, positions],
        }
    }

    /// Encodes records into an array. Replaces the content of the array.
    pub(crate) fn fill(
        &self,
        sequences: &Ragged<'_>,
        output: OutputLayout<'_>,
        out: &mut Values,
    ) -> Result<()> {
        self.typed.fill(&self.letters, sequences, output, out)
    }

    /// Returns the error for a record with an invalid character.
    pub(crate) fn residue_error(&self, sequence: &Ragged<'_>) -> Option<seqloom_core::Error> {
        let output = OutputLayout {
            size: self.typed.size(sequence.max_length()),
            rows: RowLayout::Equal,
        };
        let mut out = crate::array::empty_values(self.dtype);
        self.fill(sequence, output, &mut out).err()
    }
}
