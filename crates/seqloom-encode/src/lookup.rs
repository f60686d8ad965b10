//! Encodes each residue as a number, with a table of 256 numbers.

use seqloom_core::{Error, Result};

use crate::fill::RowKernel;
use crate::letters::LetterChecker;
use crate::{Frame, Word};

/// A kernel that writes one number for each residue.
#[derive(Clone, Debug)]
pub struct Lookup<T> {
    values: [T; 256],
    frame: Frame<T>,
}

impl<T: Word> Lookup<T> {
    /// Creates the kernel. `values` contains a number for each of the 256 bytes.
    pub fn new(values: &[T], frame: Frame<T>) -> Result<Self> {
        let count = values.len();
        let values = values.try_into().map_err(|_| {
            Error::argument(format!(
                "expected 256 numbers, one for each byte, got {count}"
            ))
        })?;
        Ok(Self { values, frame })
    }
}

impl<T: Word> RowKernel<T> for Lookup<T> {
    fn size(&self, letters: usize) -> usize {
        self.frame.size(letters)
    }

    #[inline(always)]
    fn fill(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        let tokens = self.frame.write_ends(row, letters.len());
        for (token, letter) in tokens.iter_mut().zip(letters) {
            *token = self.values[usize::from(*letter)];
        }
        checker.check(letters).map(drop)
    }
}
