//! Random bits, uniform numbers and Bernoulli variables.

use seqloom_core::key::Key;
use seqloom_macros::compiled_once;

use super::words;
use crate::{Float, Instances, parallel, tuned};

/// Fills `out` with random 32-bit words.
pub fn random_bits(key: Key, out: &mut [u32], threads: usize) {
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        words::fill_u32(key, chunk_start(number), out);
    });
}

/// Fills `out` with random numbers from 0 (included) to 1 (excluded). The numbers are
/// multiples of the spacing of floats between 1 and 2.
#[compiled_once]
pub fn uniform<T: UniformFloat>(key: Key, out: &mut [T], threads: usize) {
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        T::uniform(key, chunk_start(number), out);
    });
}

/// Fills `out` with random booleans; each is true with the given probability.
pub fn bernoulli(key: Key, probability: f64, out: &mut [bool], threads: usize) {
    let bound = bernoulli_bound(probability);
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        let starts = (chunk_start(number)..).step_by(tuned::RANDOM_WORDS);
        for (start, out) in starts.zip(out.chunks_mut(tuned::RANDOM_WORDS)) {
            let mut words = [0; tuned::RANDOM_WORDS];
            words::fill_u32(key, start, &mut words);
            for (out, word) in out.iter_mut().zip(words) {
                *out = word >> 9 < bound;
            }
        }
    });
}

/// Returns the bound for a random boolean: the boolean is true if a random word without
/// its lowest nine bits is below the bound. The result is the same as if a uniform
/// number of 23 bits were compared with the probability in single precision.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a probability is between 0 and 1, and is rounded to single precision"
)]
pub(crate) fn bernoulli_bound(probability: f64) -> u32 {
    (f64::from(probability as f32) * 2_f64.powi(23)).ceil() as u32
}

fn chunk_start(chunk: usize) -> u64 {
    (chunk * tuned::CHUNK_VALUES) as u64
}

/// A float type for which uniform random numbers can be computed.
pub trait UniformFloat: Float {
    /// Fills `out` with uniform random numbers. `start` is the position of the first
    /// number in the random sequence.
    fn uniform(key: Key, start: u64, out: &mut [Self]);
}

impl UniformFloat for f32 {
    fn uniform(key: Key, start: u64, out: &mut [Self]) {
        let words = bytemuck::cast_slice_mut::<_, u32>(out);
        words::fill_u32(key, start, words);
        for word in words {
            *word = *word >> 9 | 1.0_f32.to_bits();
        }
        for value in out {
            *value -= 1.0;
        }
    }
}

impl UniformFloat for f64 {
    fn uniform(key: Key, start: u64, out: &mut [Self]) {
        let words = bytemuck::cast_slice_mut::<_, u64>(out);
        words::fill_u64(key, start, words);
        for word in words {
            *word = *word >> 12 | 1.0_f64.to_bits();
        }
        for value in out {
            *value -= 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_uniform_numbers_match_jax() {
        // The values of `jax.random.uniform(jax.random.key(7), (3,))` in jax 0.10.
        let mut out = [0.0_f32; 3];
        uniform(Key([0, 7]), &mut out, 1);
        assert_eq!(out.map(f32::to_bits), JAX_UNIFORM_NUMBERS);
    }

    const JAX_UNIFORM_NUMBERS: [u32; 3] = [0x3f2c_9128, 0x3f79_807e, 0x3e9b_0e50];

    #[test]
    fn a_bernoulli_variable_is_true_if_a_uniform_number_is_small() {
        let key = Key([1, 2]);
        let (mut numbers, mut coins) = ([0.0_f32; 1000], [false; 1000]);
        uniform(key, &mut numbers, 1);
        for probability in [0.0, 0.1, 0.5, 0.9, 1.0] {
            bernoulli(key, probability, &mut coins, 1);
            let below = |number: &f32| *number < f32::from_f64(probability);
            assert!(numbers.iter().map(below).eq(coins));
        }
    }
}
