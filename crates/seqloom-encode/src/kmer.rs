//! Words of k letters, as numbers in base of the alphabet's size.

mod four;

use four::{Four, NONE};
use seqloom_core::{Error, Result};

use crate::fill::RowKernel;
use crate::letters::{LetterChecker, LetterTable};
use crate::{Frame, Word};

/// Which words of a sequence are encoded, and how they are numbered.
#[derive(Clone, Debug)]
pub struct KmerWords {
    digits: [u8; 256],
    base: u64,
    k: usize,
    stride: usize,
    is_canonical: bool,
    /// The weight of a word's first letter.
    highest: u64,
    /// A faster way, where there are four members and words are short.
    four: Option<Four>,
}

impl KmerWords {
    /// Words of `k` letters, one at each `stride`-th position. A canonical word counts as the
    /// lesser of itself and its reverse complement.
    pub fn new(letters: &LetterTable, k: usize, stride: usize, is_canonical: bool) -> Result<Self> {
        let members = letters.members();
        let base = members.len() as u64;
        let pairs_up = matches!(members, b"ACGT" | b"ACGU");
        let highest = u32::try_from(k.wrapping_sub(1)).ok();
        let highest = highest.and_then(|power| base.checked_pow(power));
        let Some(highest) = highest.filter(|highest| fits(*highest, base) && stride > 0) else {
            return Err(Error::argument(format!(
                "k must be 1 or more and its words fewer than 2**62, stride 1 or more, got k={k} \
                 and stride={stride} for {base} letters"
            )));
        };
        if is_canonical && !pairs_up {
            return Err(Error::argument(
                "canonical words need the complements of alphabet 'dna' or 'rna'",
            ));
        }
        let digits = digits(letters);
        Ok(Self {
            four: Four::new(members, &digits, (k, stride), is_canonical),
            digits,
            base,
            k,
            stride,
            is_canonical,
            highest,
        })
    }

    /// The number of different words.
    pub fn different(&self) -> u64 {
        self.highest * self.base
    }

    /// The number of words in so many letters.
    pub fn count(&self, letters: usize) -> usize {
        let starts = (letters + 1).saturating_sub(self.k);
        starts.div_ceil(self.stride)
    }

    /// Gives the number of each word, one after another; nothing for a word that is not all members.
    #[inline(always)]
    fn each(&self, (letters, is_plain): (&[u8], bool), mut give: impl FnMut(Option<u64>)) {
        if let Some(four) = self.four.filter(|_| is_plain) {
            return four.each(letters, |numbers| {
                for number in numbers {
                    give(Some(u64::from(*number)));
                }
            });
        }
        let mut rolling = Rolling::default();
        let mut wait = self.k;
        for (position, letter) in letters.iter().enumerate() {
            let gone = position
                .checked_sub(self.k)
                .map_or(0, |first| letters[first]);
            rolling.push(
                self,
                self.digits[usize::from(*letter)],
                self.digits[usize::from(gone)],
            );
            wait -= 1;
            if wait == 0 {
                wait = self.stride;
                give(rolling.number(self));
            }
        }
    }
}

/// The word that ends at the present letter.
#[derive(Default)]
struct Rolling {
    forward: u64,
    backward: u64,
    members: usize,
}

impl Rolling {
    /// Takes a digit in, and the one before the word out.
    #[inline(always)]
    fn push(&mut self, words: &KmerWords, digit: u8, gone: u8) {
        let is_member = digit != NONE;
        let digit = if is_member { u64::from(digit) } else { 0 };
        let gone = if gone == NONE { 0 } else { u64::from(gone) };
        self.members = if is_member { self.members + 1 } else { 0 };
        self.forward = (self.forward - gone * words.highest) * words.base + digit;
        if words.is_canonical {
            self.backward = self.backward / words.base + (words.base - 1 - digit) * words.highest;
        }
    }

    #[inline(always)]
    fn number(&self, words: &KmerWords) -> Option<u64> {
        let least = if words.is_canonical {
            self.forward.min(self.backward)
        } else {
            self.forward
        };
        (self.members >= words.k).then_some(least)
    }
}

/// Whether all words have a number below 2**62.
fn fits(highest: u64, base: u64) -> bool {
    highest
        .checked_mul(base)
        .is_some_and(|different| different <= 1 << 62)
}

/// The position of each byte among the members.
fn digits(letters: &LetterTable) -> [u8; 256] {
    let members = letters.members();
    letters.normal().map(|normal| {
        let position = members.iter().position(|member| *member == normal);
        position
            .and_then(|position| u8::try_from(position).ok())
            .unwrap_or(NONE)
    })
}

/// One token for each word.
#[derive(Clone, Debug)]
pub struct Kmers<T> {
    /// Which words.
    pub words: KmerWords,
    /// The token of the first word.
    pub first: u64,
    /// The token of a word that is not all members.
    pub unknown: T,
    /// What stands around them.
    pub frame: Frame<T>,
}

impl<T: Word> RowKernel<T> for Kmers<T> {
    fn size(&self, letters: usize) -> usize {
        self.frame.size(self.words.count(letters))
    }

    #[inline(always)]
    fn fill(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        let is_plain = checker.check(letters)?;
        let tokens = self.frame.around(row, self.words.count(letters.len()));
        if let Some(four) = self.words.four.filter(|_| is_plain) {
            self.fill_of_four(four, letters, tokens);
            return Some(());
        }
        let mut positions = tokens.iter_mut();
        self.words.each((letters, is_plain), |number| {
            if let Some(position) = positions.next() {
                *position = number.map_or(self.unknown, |number| T::cut(self.first + number));
            }
        });
        Some(())
    }
}

impl<T: Word> Kmers<T> {
    #[inline(always)]
    fn fill_of_four(&self, four: Four, letters: &[u8], mut tokens: &mut [T]) {
        four.each(letters, |numbers| {
            let positions = tokens.split_off_mut(..numbers.len()).unwrap_or_default();
            for (position, number) in positions.iter_mut().zip(numbers) {
                *position = T::cut(self.first + u64::from(*number));
            }
        });
    }
}

/// How often each word occurs.
#[derive(Clone, Debug)]
pub struct KmerCounts {
    /// Which words.
    pub words: KmerWords,
    /// Whether the counts are floats.
    pub is_float: bool,
}

impl<T: Word> RowKernel<T> for KmerCounts {
    fn size(&self, _: usize) -> usize {
        usize::try_from(self.words.different()).unwrap_or(usize::MAX)
    }

    #[inline(always)]
    fn fill(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        let is_plain = checker.check(letters)?;
        row.fill(T::cut(0));
        self.words.each((letters, is_plain), |number| {
            let position = number.and_then(|number| usize::try_from(number).ok());
            if let Some(count) = position.and_then(|position| row.get_mut(position)) {
                *count = count.next();
            }
        });
        if self.is_float {
            for count in row {
                *count = count.to_float();
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
