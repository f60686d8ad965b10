//! Encodes each residue as a number, with a table of 256 numbers.

use seqloom_core::{Error, Result};

use crate::{ElementBits, TokenFrame, fill::RowKernel, letters::LetterChecker};

/// A kernel that writes one number for each residue.
#[derive(Clone, Debug)]
pub struct Lookup<T> {
    values: [T; 256],
    frame: TokenFrame<T>,
}

impl<T: ElementBits> Lookup<T> {
    /// Creates the kernel. `values` contains a number for each of the 256 bytes.
    pub fn new(values: &[T], frame: TokenFrame<T>) -> Result<Self> {
        let count = values.len();
        let values = values.try_into().map_err(|_| {
            Error::argument(format!(
                "expected 256 numbers, one for each byte, got {count}"
            ))
        })?;
        Ok(Self { values, frame })
    }
}

impl<T: ElementBits> RowKernel<T> for Lookup<T> {
    fn row_len(&self, letters: usize) -> usize {
        self.frame.row_length(letters)
    }

    #[inline(always)]
    fn encode(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        let tokens = self.frame.write_frame(row, letters.len());
        for (token, letter) in tokens.iter_mut().zip(letters) {
            *token = self.values[usize::from(*letter)];
        }
        checker.check(letters).map(drop)
    }
}
