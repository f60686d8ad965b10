//! Probabilities as thresholds.

use seqloom_core::{Error, Result};

/// A probability, as how many of 2^32 numbers say yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// A probability from 0 to 1, rounded to a multiple of 2^-32.
    pub fn new(name: &str, probability: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::argument(format!(
                "{name} must lie from 0 to 1, got {probability}"
            )));
        }
        Ok(Self::rounded(probability))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 2^32, and whole"
    )]
    fn rounded(probability: f64) -> Self {
        Self((probability * 4_294_967_296.0).round_ties_even() as u64)
    }

    /// A threshold by itself.
    pub(super) const fn of(threshold: u32) -> Self {
        Self(threshold as u64)
    }

    /// The first number that says no.
    pub(super) const fn end(self) -> u64 {
        self.0
    }

    /// Either of two things that never happen together.
    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// Whether this number says yes.
    pub(super) fn holds(self, number: u32) -> bool {
        u64::from(number) < self.0
    }

    /// The largest first byte of a number that may say yes.
    pub(super) fn highest_byte(self) -> Option<u8> {
        let last = self.0.checked_sub(1)?;
        Some(u8::try_from(last >> 24).unwrap_or(u8::MAX))
    }
}
