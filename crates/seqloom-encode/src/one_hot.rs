//! Letters as channels, and back.

mod channels;
mod decode;
mod layout;
mod positions;

pub use decode::decode;
pub use layout::OneHotLayout;

use seqloom_core::{Error, Result};

use crate::Word;
use crate::fill::RowKernel;
use crate::letters::{CHUNK, LetterChecker, LetterTable};

/// Every letter is a column of zeros with a one in it, or what its row says.
#[derive(Clone, Debug)]
pub struct OneHot<T> {
    letters: LetterTable,
    one: T,
    /// What each byte puts into the channels.
    rows: Vec<T>,
    /// Bytes whose row is not what a comparison with the members gives.
    differs: [bool; 256],
    differs_somewhere: bool,
    channels_first: bool,
}

impl<T: Word> OneHot<T> {
    /// `rows` has a number for each of 256 bytes and each member.
    pub fn new(letters: &LetterTable, rows: Vec<T>, channels_first: bool) -> Result<Self> {
        let (members, count) = (letters.members(), rows.len());
        let width = members.len();
        let first = members.first().map(|member| usize::from(*member) * width);
        let one = first.and_then(|first| rows.get(first).copied());
        let Some(one) = one.filter(|_| count == 256 * width) else {
            return Err(Error::argument(format!(
                "expected {width} numbers for each of 256 bytes, got {count}"
            )));
        };
        let mut made = Self {
            letters: letters.clone(),
            one,
            rows,
            differs: [false; 256],
            differs_somewhere: false,
            channels_first,
        };
        for byte in 0..=u8::MAX {
            made.differs[usize::from(byte)] = made.differs_at(byte);
        }
        made.differs_somewhere = made.differs.contains(&true);
        Ok(made)
    }

    fn differs_at(&self, byte: u8) -> bool {
        let raised = self.letters.raised(&[byte; CHUNK])[0];
        let compared = |member: &u8| {
            if *member == raised {
                self.one
            } else {
                T::cut(0)
            }
        };
        let members = self.letters.members().iter();
        !members.map(compared).eq(self.row(byte).iter().copied())
    }

    #[inline(always)]
    fn width(&self) -> usize {
        self.letters.members().len()
    }

    #[inline(always)]
    fn row(&self, byte: u8) -> &[T] {
        let width = self.width();
        &self.rows[usize::from(byte) * width..][..width]
    }
}

impl<T: Word> RowKernel<T> for OneHot<T> {
    #[inline(always)]
    fn size(&self, letters: usize) -> usize {
        letters * self.width()
    }

    #[inline(always)]
    fn fill(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        if !self.channels_first {
            self.fill_positions(letters, row);
            return checker.check(letters).map(drop);
        }
        let flags = self.fill_channels(letters, row);
        let is_plain = checker.count_flags(letters, &flags)?;
        if self.differs_somewhere && !is_plain {
            self.fill_differing(letters, row);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
