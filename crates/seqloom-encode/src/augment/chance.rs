//! Probabilities as thresholds for random numbers.

use seqloom_core::{Error, Result};

/// A probability as a threshold: an event occurs if a random 32-bit number is below the
/// threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// Creates a probability from 0 to 1, rounded to a multiple of 2^-32.
    pub fn new(name: &str, probability: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::argument(format!(
                "{name} must be from 0 to 1, got {probability}"
            )));
        }
        Ok(Self::from_rounded(probability))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an integer from 0 to 2^32"
    )]
    fn from_rounded(probability: f64) -> Self {
        Self((probability * 4_294_967_296.0).round_ties_even() as u64)
    }

    /// Creates a probability from a threshold between 0 and 2^32.
    pub(super) const fn from_threshold(threshold: u32) -> Self {
        Self(threshold as u64)
    }

    /// Returns the threshold, between 0 and 2^32.
    pub(super) const fn threshold(self) -> u64 {
        self.0
    }

    /// Returns the sum of two probabilities, which is the probability that one of two
    /// exclusive events occurs.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// Returns whether the event occurs for the given random number.
    pub(super) fn occurs(self, number: u32) -> bool {
        u64::from(number) < self.0
    }

    /// Returns the highest byte of the largest 32-bit number below the threshold.
    pub(super) fn highest_byte(self) -> Option<u8> {
        let last = self.0.checked_sub(1)?;
        Some(u8::try_from(last >> 24).unwrap_or(u8::MAX))
    }
}
