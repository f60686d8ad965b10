//! A group of queries, one in each lane, and all keys.

#[cfg_attr(
    not(test),
    expect(
        clippy::wildcard_imports,
        reason = "instructions, whose names say where they are from"
    )
)]
use std::arch::x86_64::*;

use super::LANES;
use super::functions::{exp2, log2};
use super::numbers::{add_products, join, load_pairs, load_wide, store_wide};
use crate::bfloat16::Machine;
use crate::bfloat16::attention::KEYS;

/// Some queries, and what they see.
pub(crate) struct Group<'a> {
    /// Pairs of queries: a line of one or two registers for each pair of a row.
    pub(crate) queries: &'a [u32],
    /// Rows of keys, up to the end of a tile.
    pub(crate) keys: &'a [u32],
    /// For each two keys a row of pairs, which their values make.
    pub(crate) values: &'a [u32],
    /// Keys that there are.
    pub(crate) count: usize,
    /// Makes scores powers of two.
    pub(crate) scale: f32,
    /// Answers: a line of all queries for each number of a row.
    pub(crate) answers: &'a mut [f32],
    /// The logarithms of the queries' sums of exponentials.
    pub(crate) sums: &'a mut [f32],
}

/// Answers the queries of a group.
pub(crate) fn attend(_: Machine, group: Group<'_>) {
    // SAFETY: whoever has a `Machine` has asked for the instructions.
    #[expect(unsafe_code, reason = "the machine was asked")]
    unsafe {
        match group.sums.len() / LANES {
            1 => group.answer::<1>(),
            _ => group.answer::<2>(),
        }
    }
}

impl Group<'_> {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    fn answer<const V: usize>(self) {
        self.answers.fill(0.0);
        let depth = self.queries.len() / (V * LANES);
        let mut seen = Seen::<V> {
            shifts: [_mm512_set1_ps(f32::NEG_INFINITY); V],
            totals: [_mm512_setzero_ps(); V],
        };
        let keys = self.keys.chunks_exact(KEYS * depth);
        let values = self.values.chunks_exact(KEYS * depth);
        for (number, (keys, values)) in keys.zip(values).enumerate() {
            let count = self.count - number * KEYS;
            let tile = (self.queries, keys, values);
            if count >= KEYS {
                seen.take::<true>(tile, self.scale, KEYS, self.answers);
            } else {
                seen.take::<false>(tile, self.scale, count, self.answers);
            }
        }
        seen.finish(self.answers, self.sums);
    }
}

/// What a group has seen so far: for each query what is subtracted from its scores, and the
/// sum of its weights.
struct Seen<const V: usize> {
    shifts: [__m512; V],
    totals: [__m512; V],
}

impl<const V: usize> Seen<V> {
    /// Takes in a tile of so many keys.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    #[inline]
    fn take<const WHOLE: bool>(
        &mut self,
        (queries, keys, values): (&[u32], &[u32], &[u32]),
        scale: f32,
        count: usize,
        answers: &mut [f32],
    ) {
        let mut scores = score::<V>(queries, keys);
        if !WHOLE {
            let first = scores[0];
            scores[count..].fill(first);
        }
        self.raise(&scores, scale, answers);
        let weights = self.weigh::<WHOLE>(&scores, scale, count);
        add_values(&weights, values, answers);
    }

    /// Raises what is subtracted where scores exceed it by so much that weights would become
    /// too great, and makes what was summed before smaller.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn raise(&mut self, scores: &[[__m512; V]; KEYS], scale: f32, answers: &mut [f32]) {
        let (scale, slack) = (_mm512_set1_ps(scale), _mm512_set1_ps(SLACK));
        let (mut tops, mut exceeds) = (scores[0], 0);
        for (v, top) in tops.iter_mut().enumerate() {
            for scores in &scores[1..] {
                *top = _mm512_max_ps(*top, scores[v]);
            }
            *top = _mm512_mul_ps(*top, scale);
            let bound = _mm512_add_ps(self.shifts[v], slack);
            exceeds |= _mm512_cmp_ps_mask::<_CMP_GT_OQ>(*top, bound);
        }
        if exceeds != 0 {
            self.shrink(&tops, answers);
        }
    }

    /// Subtracts the top scores from now on where they are greater, and multiplies what was
    /// summed before accordingly.
    #[target_feature(enable = "avx512f")]
    #[cold]
    fn shrink(&mut self, tops: &[__m512; V], answers: &mut [f32]) {
        let mut factors = [_mm512_setzero_ps(); V];
        for (v, factor) in factors.iter_mut().enumerate() {
            let shift = self.shifts[v];
            let lanes = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(tops[v], shift);
            self.shifts[v] = _mm512_mask_mov_ps(shift, lanes, tops[v]);
            let fall = _mm512_sub_ps(shift, self.shifts[v]);
            *factor = exp2(_mm512_max_ps(_mm512_set1_ps(LOWEST), fall));
            self.totals[v] = _mm512_mul_ps(self.totals[v], *factor);
        }
        multiply(answers, &factors);
    }

    /// Turns the scores of so many keys into weights, in pairs of keys; the others weigh nothing.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    #[inline]
    fn weigh<const WHOLE: bool>(
        &mut self,
        scores: &[[__m512; V]; KEYS],
        scale: f32,
        count: usize,
    ) -> [[__m512i; V]; KEYS / 2] {
        let (scale, mut powers) = (_mm512_set1_ps(scale), *scores);
        for powers in &mut powers {
            for (power, &shift) in powers.iter_mut().zip(&self.shifts) {
                *power = exp2(_mm512_fmsub_ps(*power, scale, shift));
            }
        }
        if !WHOLE {
            powers[count..].fill([_mm512_setzero_ps(); V]);
        }
        let mut weights = [[_mm512_setzero_si512(); V]; KEYS / 2];
        let (pairs, _) = powers.as_chunks::<2>();
        for (weights, [first, second]) in weights.iter_mut().zip(pairs) {
            for (v, weight) in weights.iter_mut().enumerate() {
                let sum = _mm512_add_ps(self.totals[v], first[v]);
                self.totals[v] = _mm512_add_ps(sum, second[v]);
                *weight = join(first[v], second[v]);
            }
        }
        weights
    }

    /// Divides the answers by the sums of weights, whose logarithms are kept.
    #[target_feature(enable = "avx512f")]
    fn finish(&self, answers: &mut [f32], sums: &mut [f32]) {
        let one = _mm512_set1_ps(1.0);
        let mut inverses = [one; V];
        for (v, (inverse, sums)) in inverses.iter_mut().zip(sums.chunks_mut(LANES)).enumerate() {
            *inverse = _mm512_div_ps(one, self.totals[v]);
            let powers = _mm512_add_ps(self.shifts[v], log2(self.totals[v]));
            let ln_2 = _mm512_set1_ps(std::f32::consts::LN_2);
            store_wide(_mm512_mul_ps(powers, ln_2), sums);
        }
        multiply(answers, &inverses);
    }
}

/// Weights are at most two to this power, which float32 and bfloat16 hold with room to add.
const SLACK: f32 = 8.0;

/// Two to this power is zero.
const LOWEST: f32 = -300.0;

/// Multiplies the numbers of each query.
#[target_feature(enable = "avx512f")]
fn multiply<const V: usize>(answers: &mut [f32], factors: &[__m512; V]) {
    for line in answers.chunks_exact_mut(V * LANES) {
        for (values, &factor) in line.chunks_exact_mut(LANES).zip(factors) {
            store_wide(_mm512_mul_ps(load_wide(values), factor), values);
        }
    }
}

/// The products of queries and a tile of keys.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
fn score<const V: usize>(queries: &[u32], keys: &[u32]) -> [[__m512; V]; KEYS] {
    let (registers, _) = queries.as_chunks::<LANES>();
    let (registers, _) = registers.as_chunks::<V>();
    let depth = registers.len();
    assert!(keys.len() >= KEYS * depth, "a tile of keys");
    let mut scores = [[_mm512_setzero_ps(); V]; KEYS];
    for (pair, queries) in registers.iter().enumerate() {
        let mut lanes = [_mm512_setzero_si512(); V];
        for (lanes, words) in lanes.iter_mut().zip(queries) {
            *lanes = load_pairs(words);
        }
        for (key, scores) in scores.iter_mut().enumerate() {
            // SAFETY: there are so many keys of so many pairs.
            #[expect(unsafe_code, reason = "the checks are a part of the loop's work")]
            let key = unsafe { *keys.get_unchecked(key * depth + pair) };
            let key = _mm512_set1_epi32(key.cast_signed());
            for (score, &queries) in scores.iter_mut().zip(&lanes) {
                *score = add_products(*score, key, queries);
            }
        }
    }
    scores
}

/// Adds a tile of values, times their weights.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
fn add_values<const V: usize>(
    weights: &[[__m512i; V]; KEYS / 2],
    values: &[u32],
    answers: &mut [f32],
) {
    let width = 2 * values.len() / KEYS;
    let lines = answers.chunks_exact_mut(V * LANES).take(width);
    for (number, answers) in lines.enumerate() {
        for (v, answers) in answers.chunks_exact_mut(LANES).enumerate() {
            let mut sum = load_wide(answers);
            for (pair, weights) in weights.iter().enumerate() {
                // SAFETY: the number is less than the width of so many rows.
                #[expect(unsafe_code, reason = "the checks are a part of the loop's work")]
                let pair = unsafe { *values.get_unchecked(pair * width + number) };
                sum = add_products(sum, _mm512_set1_epi32(pair.cast_signed()), weights[v]);
            }
            store_wide(sum, answers);
        }
    }
}
