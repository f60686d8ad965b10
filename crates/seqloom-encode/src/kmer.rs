//! Encodes k-mers as numbers whose digits are the residues. The base of the numbers is
//! the size of the alphabet.

mod four_bases;

use four_bases::{FourBaseKmers, NO_DIGIT};
use seqloom_core::{Error, Result};

use crate::fill::RowKernel;
use crate::letters::{LetterChecker, LetterTable};
use crate::{ElementBits, TokenFrame};

/// The selection of k-mers to encode, and the digits of the residues.
#[derive(Clone, Debug)]
pub struct KmerNumbering {
    digits: [u8; 256],
    base: u64,
    k: usize,
    stride: usize,
    is_canonical: bool,
    /// The weight of the first residue in the number of a k-mer.
    highest: u64,
    /// A faster encoder for short k-mers and alphabets of four bases.
    four_bases: Option<FourBaseKmers>,
}

impl KmerNumbering {
    /// Selects the k-mers at every `stride`-th position. If k-mers are canonical, a
    /// k-mer and its reverse complement both get the smaller of their two numbers.
    pub fn new(letters: &LetterTable, k: usize, stride: usize, is_canonical: bool) -> Result<Self> {
        let members = letters.residues();
        let base = members.len() as u64;
        let pairs_up = matches!(members, b"ACGT" | b"ACGU");
        let highest = u32::try_from(k.wrapping_sub(1)).ok();
        let highest = highest.and_then(|power| base.checked_pow(power));
        let Some(highest) = highest.filter(|highest| fits_in_62_bits(*highest, base) && stride > 0)
        else {
            return Err(Error::argument(format!(
                "k must be 1 or more, with at most 2**62 k-mers, and stride 1 or more, got k={k} \
                 and stride={stride} for {base} residues"
            )));
        };
        if is_canonical && !pairs_up {
            return Err(Error::argument(
                "canonical k-mers need an alphabet with complements: 'dna' or 'rna'",
            ));
        }
        let digits = residue_digits(letters);
        Ok(Self {
            four_bases: FourBaseKmers::new(members, &digits, (k, stride), is_canonical),
            digits,
            base,
            k,
            stride,
            is_canonical,
            highest,
        })
    }

    /// Returns the number of distinct k-mers.
    pub fn distinct_count(&self) -> u64 {
        self.highest * self.base
    }

    /// Returns the number of k-mers in a sequence of this length.
    pub fn kmer_count(&self, letters: usize) -> usize {
        let starts = (letters + 1).saturating_sub(self.k);
        starts.div_ceil(self.stride)
    }

    /// Calls `act` with the number of each k-mer, or with `None` if a residue of the
    /// k-mer is not in the alphabet.
    #[inline(always)]
    fn for_each(&self, (letters, is_plain): (&[u8], bool), mut act: impl FnMut(Option<u64>)) {
        if let Some(four_bases) = self.four_bases.filter(|_| is_plain) {
            return four_bases.for_each_chunk(letters, |numbers| {
                for number in numbers {
                    act(Some(u64::from(*number)));
                }
            });
        }
        let mut rolling = RollingKmer::default();
        let mut countdown = self.k;
        for (position, letter) in letters.iter().enumerate() {
            let removed = position
                .checked_sub(self.k)
                .map_or(0, |first| letters[first]);
            rolling.push(
                self,
                self.digits[usize::from(*letter)],
                self.digits[usize::from(removed)],
            );
            countdown -= 1;
            if countdown == 0 {
                countdown = self.stride;
                act(rolling.number(self));
            }
        }
    }
}

/// The number of the k-mer that ends at the current residue.
#[derive(Default)]
struct RollingKmer {
    forward: u64,
    backward: u64,
    members: usize,
}

impl RollingKmer {
    /// Appends a digit to the k-mer, and removes the first digit.
    #[inline(always)]
    fn push(&mut self, words: &KmerNumbering, digit: u8, removed: u8) {
        let is_member = digit != NO_DIGIT;
        let digit = if is_member { u64::from(digit) } else { 0 };
        let removed = if removed == NO_DIGIT {
            0
        } else {
            u64::from(removed)
        };
        self.members = if is_member { self.members + 1 } else { 0 };
        self.forward = (self.forward - removed * words.highest) * words.base + digit;
        if words.is_canonical {
            self.backward = self.backward / words.base + (words.base - 1 - digit) * words.highest;
        }
    }

    #[inline(always)]
    fn number(&self, words: &KmerNumbering) -> Option<u64> {
        let smaller = if words.is_canonical {
            self.forward.min(self.backward)
        } else {
            self.forward
        };
        (self.members >= words.k).then_some(smaller)
    }
}

/// Returns true if the numbers of all k-mers are below 2**62.
fn fits_in_62_bits(highest: u64, base: u64) -> bool {
    highest
        .checked_mul(base)
        .is_some_and(|count| count <= 1 << 62)
}

/// Returns the digit of each byte, which is the index of the residue in the alphabet.
fn residue_digits(letters: &LetterTable) -> [u8; 256] {
    let members = letters.residues();
    letters.residue_by_byte().map(|normal| {
        let position = members.iter().position(|member| *member == normal);
        position
            .and_then(|position| u8::try_from(position).ok())
            .unwrap_or(NO_DIGIT)
    })
}

/// A kernel that writes one token for each k-mer.
#[derive(Clone, Debug)]
pub struct Kmers<T> {
    /// The selection of k-mers to encode.
    pub words: KmerNumbering,
    /// The token of the k-mer with number 0.
    pub first: u64,
    /// The token of a k-mer with a residue that is not in the alphabet.
    pub unknown: T,
    /// The special tokens and the padding.
    pub frame: TokenFrame<T>,
}

impl<T: ElementBits> RowKernel<T> for Kmers<T> {
    fn row_len(&self, letters: usize) -> usize {
        self.frame.row_length(self.words.kmer_count(letters))
    }

    #[inline(always)]
    fn encode(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        let is_plain = checker.check(letters)?;
        let tokens = self
            .frame
            .write_frame(row, self.words.kmer_count(letters.len()));
        if let Some(four_bases) = self.words.four_bases.filter(|_| is_plain) {
            self.fill_four_bases(four_bases, letters, tokens);
            return Some(());
        }
        let mut positions = tokens.iter_mut();
        self.words.for_each((letters, is_plain), |number| {
            if let Some(position) = positions.next() {
                *position = number.map_or(self.unknown, |number| T::from_bits(self.first + number));
            }
        });
        Some(())
    }
}

impl<T: ElementBits> Kmers<T> {
    #[inline(always)]
    fn fill_four_bases(&self, four_bases: FourBaseKmers, letters: &[u8], mut tokens: &mut [T]) {
        four_bases.for_each_chunk(letters, |numbers| {
            let positions = tokens.split_off_mut(..numbers.len()).unwrap_or_default();
            for (position, number) in positions.iter_mut().zip(numbers) {
                *position = T::from_bits(self.first + u64::from(*number));
            }
        });
    }
}

/// A kernel that counts each k-mer.
#[derive(Clone, Debug)]
pub struct KmerCounts {
    /// The selection of k-mers to encode.
    pub words: KmerNumbering,
    /// True if the output elements are floats.
    pub is_float: bool,
}

impl<T: ElementBits> RowKernel<T> for KmerCounts {
    fn row_len(&self, _: usize) -> usize {
        usize::try_from(self.words.distinct_count()).unwrap_or(usize::MAX)
    }

    #[inline(always)]
    fn encode(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()> {
        let is_plain = checker.check(letters)?;
        row.fill(T::from_bits(0));
        self.words.for_each((letters, is_plain), |number| {
            let position = number.and_then(|number| usize::try_from(number).ok());
            if let Some(count) = position.and_then(|position| row.get_mut(position)) {
                *count = count.increment();
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
