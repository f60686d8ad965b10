//! Sequences to one-hot arrays.

use rayon::prelude::*;
use seqloom_core::{Error, Ragged, Result};

use super::Layout;
use super::layout::Channels;
use super::table::{AMBIGUOUS, FOREIGN, LOWER, STOP, Table};

/// Below this many output numbers, waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 16;

/// How many letters were not plain members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ambiguity codes.
    pub ambiguous: usize,
    /// Lower-case letters, folded or masked.
    pub lower: usize,
}

impl Counts {
    /// The counts as Python's array holds them; foreign letters never get so far.
    pub fn to_array(self) -> [i64; 3] {
        [self.ambiguous, self.lower, 0].map(|count| i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn plus(self, other: Self) -> Self {
        Self {
            ambiguous: self.ambiguous + other.ambiguous,
            lower: self.lower + other.lower,
        }
    }
}

/// A number that a one-hot array may hold.
pub trait Number: Copy + Send {
    /// Nothing of a letter.
    const ZERO: Self;
    /// All of a letter.
    const ONE: Self;
    /// Whether it can hold a part of a letter.
    const HAS_FRACTIONS: bool;
    /// A part of a letter, rounded to what the type can hold.
    fn part(share: f64) -> Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const HAS_FRACTIONS: bool = true;

    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is what it is for"
    )]
    fn part(share: f64) -> Self {
        share as Self
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const HAS_FRACTIONS: bool = true;

    fn part(share: f64) -> Self {
        share
    }
}

impl Number for u8 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const HAS_FRACTIONS: bool = false;

    fn part(share: f64) -> Self {
        Self::from(share >= 1.0)
    }
}

impl Table {
    /// Writes all sequences into `out`, a C-contiguous array; places beyond a
    /// sequence's end become 0.
    ///
    /// Inside a rayon pool the rows are shared among its threads.
    pub fn fill<T: Number>(
        &self,
        sequences: &Ragged<'_>,
        out: &mut [T],
        layout: Layout,
    ) -> Result<Counts> {
        layout.check(sequences.len(), self.width(), out.len())?;
        check_lengths(sequences, layout.length())?;
        self.check_fractions::<T>()?;
        let row = layout.length() * self.width();
        if row == 0 {
            return Ok(Counts::default());
        }
        let one = |(index, out): (usize, &mut [T])| {
            self.fill_one(sequences.get(index), out, layout.channels())
        };
        // Outside a pool rayon would build its global one.
        let filled = if out.len() < WORTH_SHARING || rayon::current_thread_index().is_none() {
            out.chunks_exact_mut(row)
                .enumerate()
                .map(one)
                .try_fold(Counts::default(), add)
        } else {
            let rows = out.par_chunks_exact_mut(row).enumerate().map(one);
            rows.try_fold(Counts::default, add)
                .try_reduce(Counts::default, |a, b| Some(a.plus(b)))
        };
        filled.ok_or_else(|| self.first_foreign(sequences))
    }

    fn check_fractions<T: Number>(&self) -> Result<()> {
        if self.has_fractions() && !T::HAS_FRACTIONS {
            return Err(Error::argument(
                "unknown='uniform' and 'fractional' need a floating-point dtype, got uint8",
            ));
        }
        Ok(())
    }

    /// Writes one sequence, unless a letter is foreign.
    fn fill_one<T: Number>(
        &self,
        letters: &[u8],
        out: &mut [T],
        channels: Channels,
    ) -> Option<Counts> {
        let counts = self.judge_all(letters)?;
        match channels {
            Channels::First => self.fill_channels(letters, out),
            Channels::Last => self.fill_places(letters, out),
        }
        if counts.ambiguous > 0 && self.has_fractions() {
            self.fill_codes(letters, out, channels);
        }
        Some(counts)
    }

    /// Counts what is met; nothing if a letter is foreign.
    fn judge_all(&self, letters: &[u8]) -> Option<Counts> {
        let (mut met, mut counts) = (0, Counts::default());
        for &letter in letters {
            let verdict = self.verdict(letter);
            met |= verdict;
            counts.ambiguous += usize::from(verdict & AMBIGUOUS);
            counts.lower += usize::from((verdict & LOWER) / LOWER);
        }
        if met & FOREIGN != 0 || met & STOP != 0 && self.foreign(letters).is_some() {
            return None;
        }
        Some(counts)
    }

    /// The position of the first letter that is not taken.
    fn foreign(&self, letters: &[u8]) -> Option<usize> {
        let last = letters.len().saturating_sub(1);
        letters.iter().enumerate().position(|(position, &letter)| {
            let verdict = self.verdict(letter);
            verdict & FOREIGN != 0 || verdict & STOP != 0 && position < last
        })
    }

    /// Looks again, in order, so that every thread count names the same letter.
    fn first_foreign(&self, sequences: &Ragged<'_>) -> Error {
        let mut found = (0..sequences.len()).filter_map(|record| {
            let letters = sequences.get(record);
            self.foreign(letters)
                .map(|position| (record, position, letters[position]))
        });
        let (record, position, letter) = found.next().unwrap_or_default();
        Error::Letter {
            record,
            position,
            letter,
            expected: self.expected(letter).into(),
        }
    }

    /// Channel by channel: each is one comparison per letter, which the
    /// compiler turns into vector instructions.
    fn fill_channels<T: Number>(&self, letters: &[u8], out: &mut [T]) {
        let length = out.len() / self.width();
        for (&member, channel) in self.letters().iter().zip(out.chunks_exact_mut(length)) {
            let [upper, lower] = self.forms(member);
            let (filled, rest) = channel.split_at_mut(letters.len());
            for (number, &letter) in filled.iter_mut().zip(letters) {
                *number = if letter == upper || letter == lower {
                    T::ONE
                } else {
                    T::ZERO
                };
            }
            rest.fill(T::ZERO);
        }
    }

    /// Place by place: zeros, and one store per letter that has a channel.
    fn fill_places<T: Number>(&self, letters: &[u8], out: &mut [T]) {
        out.fill(T::ZERO);
        for (place, &letter) in out.chunks_exact_mut(self.width()).zip(letters) {
            if let Some(number) = place.get_mut(self.channel(letter)) {
                *number = T::ONE;
            }
        }
    }

    /// Overwrites the places of ambiguity codes with their shares.
    #[cold]
    fn fill_codes<T: Number>(&self, letters: &[u8], out: &mut [T], channels: Channels) {
        let width = self.width();
        let length = out.len() / width;
        let codes = letters
            .iter()
            .enumerate()
            .filter(|(_, letter)| self.verdict(**letter) & AMBIGUOUS != 0);
        for (place, &code) in codes {
            for (channel, &member) in self.letters().iter().enumerate() {
                let at = match channels {
                    Channels::First => channel * length + place,
                    Channels::Last => place * width + channel,
                };
                out[at] = T::part(self.share(code, member));
            }
        }
    }
}

fn check_lengths(sequences: &Ragged<'_>, length: usize) -> Result<()> {
    match sequences.iter().position(|letters| letters.len() > length) {
        None => Ok(()),
        Some(index) => Err(Error::argument(format!(
            "sequence {index} has {} letters, more than the {length} places of the array",
            sequences.get(index).len()
        ))),
    }
}

fn add(sum: Counts, one: Option<Counts>) -> Option<Counts> {
    one.map(|one| sum.plus(one))
}
