//! One-hot encoding and decoding of sequences.

mod channels;
mod decode;
mod layout;
mod positions;

pub use decode::decode;
pub use layout::OneHotLayout;

use seqloom_core::{Error, Result};

use crate::ElementBits;
use crate::fill::RowKernel;
use crate::letters::{CHUNK_RESIDUES, LetterChecker, LetterTable};

/// A kernel that writes one channel per residue of the alphabet: 1 if the sequence has
/// this residue at a position, 0 otherwise.
///
/// For ambiguity codes and masked residues, the channels are read from a table.
#[derive(Clone, Debug)]
pub struct OneHot<T> {
    letters: LetterTable,
    one: T,
    /// The channels of each byte.
    rows: Vec<T>,
    /// True for bytes that are not encoded as a single 1, such as ambiguity codes.
    differs: [bool; 256],
    has_differences: bool,
    channels_first: bool,
}

impl<T: ElementBits> OneHot<T> {
    /// Creates the kernel. `rows` contains the channels of each of the 256 bytes.
    pub fn new(letters: &LetterTable, rows: Vec<T>, channels_first: bool) -> Result<Self> {
        let (members, count) = (letters.residues(), rows.len());
        let width = members.len();
        let first = members.first().map(|member| usize::from(*member) * width);
        let one = first.and_then(|first| rows.get(first).copied());
        let Some(one) = one.filter(|_| count == 256 * width) else {
            return Err(Error::argument(format!(
                "expected {width} numbers for each of 256 bytes, got {count}"
            )));
        };
        let mut kernel = Self {
            letters: letters.clone(),
            one,
            rows,
            differs: [false; 256],
            has_differences: false,
            channels_first,
        };
        for byte in 0..=u8::MAX {
            kernel.differs[usize::from(byte)] = kernel.is_special_byte(byte);
        }
        kernel.has_differences = kernel.differs.contains(&true);
        Ok(kernel)
    }

    fn is_special_byte(&self, byte: u8) -> bool {
        let upper = self.letters.to_upper(&[byte; CHUNK_RESIDUES])[0];
        let by_comparison = |member: &u8| {
            if *member == upper {
                self.one
            } else {
                T::from_bits(0)
            }
        };
        let members = self.letters.residues().iter();
        !members
            .map(by_comparison)
            .eq(self.byte_channels(byte).iter().copied())
    }

    #[inline(always)]
    fn channels(&self) -> usize {
        self.letters.residues().len()
    }

    #[inline(always)]
    fn byte_channels(&self, byte: u8) -> &[T] {
        let width = self.channels();
        &self.rows[usize::from(byte) * width..][..width]
    }
}

impl<T: ElementBits> RowKernel<T> for OneHot<T> {
    #[inline(always)]
    fn row_len(&self, letters: usize) -> usize {
        letters * self.channels()
    }

    #[inline(always)]
    fn encode(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        if !self.channels_first {
            self.fill_positions(letters, row);
            return checker.check(letters).map(drop);
        }
        let flags = self.fill_channels(letters, row);
        let is_plain = checker.check_flags(letters, &flags)?;
        if self.has_differences && !is_plain {
            self.fill_special_residues(letters, row);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
