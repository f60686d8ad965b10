//! A group of queries, one per vector lane. The group processes one tile of keys at a
//! time.
//!
//! As in Milakov and Gimelshein (2018), an attention weight is 2 to the power of the
//! score minus a shift. The shift is set to the highest score only when weights would
//! become large, so that sums rarely need to be rescaled.

use pulp::Simd;

use crate::{Float, lanes::Lanes, special};

/// The attention scores of `K` keys. The scores are converted into weights in place.
type ScoreTile<S, T, const K: usize, const V: usize> = [[Lanes<S, T>; V]; K];

/// A group of queries, one per lane of `V` vector registers.
pub(super) struct QuerySet<'a, S: Simd, T: Float, const V: usize> {
    simd: S,
    /// The queries, column by column, scaled so that scores are base-2 logarithms of
    /// the weights.
    queries: &'a [[T::Vector<S>; V]],
    /// The sums of weighted values, column by column.
    outputs: &'a mut [[T::Vector<S>; V]],
    totals: [Lanes<S, T>; V],
    /// The negated shift of the scores of each query.
    offsets: [Lanes<S, T>; V],
    /// The limit of the difference between score and shift. If a difference exceeds the
    /// limit, the shift is raised. The limits are minus infinity until the first tile
    /// is processed.
    limits: [Lanes<S, T>; V],
}

impl<'a, S: Simd, T: Float, const V: usize> QuerySet<'a, S, T, V> {
    /// Creates a group that has processed no keys.
    #[inline(always)]
    pub(super) fn new(simd: S, queries: &'a [T], outputs: &'a mut [T]) -> Self {
        outputs.fill(T::ZERO);
        let zero = Lanes::splat(simd, T::ZERO);
        Self {
            simd,
            queries: T::split::<S>(queries).0.as_chunks().0,
            outputs: T::split_mut::<S>(outputs).0.as_chunks_mut().0,
            totals: [zero; V],
            offsets: [zero; V],
            limits: [zero.like(T::NEG_INF); V],
        }
    }

    /// Adds the values of the first `len` keys of a tile, weighted by their attention
    /// weights.
    #[inline(always)]
    pub(super) fn push<const K: usize>(&mut self, keys: &[[T; K]], values: &[[T; K]], len: usize) {
        let mut tile = self.score(keys);
        for (key, scores) in tile.iter_mut().enumerate() {
            if key >= len {
                *scores = [Lanes::splat(self.simd, T::NEG_INF); V];
            }
        }
        let highest = highest_scores(&tile);
        if (0..V).any(|v| self.limits[v].is_any_less(highest[v])) {
            self.raise_shifts(highest, &mut tile);
        }
        self.compute_weights(&mut tile);
        self.add_values(&tile, values);
    }

    /// Returns the scores of the keys of a tile, minus the shifts.
    #[inline(always)]
    fn score<const K: usize>(&self, keys: &[[T; K]]) -> ScoreTile<S, T, K, V> {
        let mut tile = [self.offsets; K];
        for (queries, keys) in self.queries.iter().zip(keys) {
            let queries = queries.map(|vector| Lanes::new(self.simd, vector));
            for (scores, &key) in tile.iter_mut().zip(keys) {
                let key = Lanes::splat(self.simd, key);
                for (score, query) in scores.iter_mut().zip(queries) {
                    *score = key.mul_add(query, *score);
                }
            }
        }
        tile
    }

    /// Converts attention scores into weights and adds the weights to the totals.
    #[inline(always)]
    fn compute_weights<const K: usize>(&mut self, tile: &mut ScoreTile<S, T, K, V>) {
        for weights in tile {
            for (weight, total) in weights.iter_mut().zip(&mut self.totals) {
                *weight = special::exp2_of_negative(*weight);
                *total = *total + *weight;
            }
        }
    }

    /// Adds the values, multiplied by their weights, to the output.
    #[inline(always)]
    fn add_values<const K: usize>(&mut self, tile: &ScoreTile<S, T, K, V>, values: &[[T; K]]) {
        for (outputs, values) in self.outputs.iter_mut().zip(values) {
            let mut sums = outputs.map(|vector| Lanes::new(self.simd, vector));
            for (weights, &value) in tile.iter().zip(values) {
                let value = Lanes::splat(self.simd, value);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = value.mul_add(*weight, *sum);
                }
            }
            *outputs = sums.map(|sum| sum.vector);
        }
    }

    /// Sets each shift to the highest score of its query if that score exceeds the
    /// limit.
    #[inline(always)]
    fn raise_shifts<const K: usize>(
        &mut self,
        highest: [Lanes<S, T>; V],
        tile: &mut ScoreTile<S, T, K, V>,
    ) {
        for (v, highest) in highest.into_iter().enumerate() {
            let (zero, one) = (highest.like(T::ZERO), highest.like(T::ONE));
            let before = self.limits[v];
            let step = before.if_less(highest, highest, zero);
            let factor = special::exp2_of_negative(zero - step);
            // A limit below zero means that this is the first tile. The sums are still
            // empty, so they need no scaling.
            let factor = before.if_less(zero, one, factor);
            self.limits[v] =
                before.if_less(highest, zero.like(T::from_f64(MAX_WEIGHT_LOG2)), before);
            self.offsets[v] = self.offsets[v] - step;
            self.totals[v] = self.totals[v] * factor;
            for scores in tile.iter_mut() {
                scores[v] = scores[v] - step;
            }
            for outputs in &mut *self.outputs {
                outputs[v] = (factor.with_vector(outputs[v]) * factor).vector;
            }
        }
    }

    /// Divides the output by the total weights. Writes the shifts to `ends`, followed
    /// by the totals.
    #[inline(always)]
    pub(super) fn store_output(self, ends: &mut [T]) {
        let (ends, _) = T::split_mut::<S>(ends);
        for (v, total) in self.totals.into_iter().enumerate() {
            let (zero, one) = (total.like(T::ZERO), total.like(T::ONE));
            // The highest score has a weight of about 1 or more, so a total below 0.5
            // means that all keys are masked. NaN compares as false, so the result for
            // NaN is NaN.
            let inverse = total.if_less(total.like(T::from_f64(0.5)), zero, one / total);
            for outputs in &mut *self.outputs {
                outputs[v] = (total.with_vector(outputs[v]) * inverse).vector;
            }
            ends[v] = (zero - self.offsets[v]).vector;
            ends[V + v] = total.vector;
        }
    }
}

/// Returns the highest score of each query in the tile.
#[inline(always)]
fn highest_scores<S: Simd, T: Float, const K: usize, const V: usize>(
    tile: &ScoreTile<S, T, K, V>,
) -> [Lanes<S, T>; V] {
    let mut highest = tile[0];
    for scores in &tile[1..] {
        for (highest, &score) in highest.iter_mut().zip(scores) {
            *highest = highest.max(score);
        }
    }
    highest
}

/// The base-2 logarithm of the largest allowed attention weight.
const MAX_WEIGHT_LOG2: f64 = 8.0;

#[cfg(test)]
mod tests {
    use crate::attention::{AttentionInputs, AttentionRule, Heads, HeadsMut, forward};
    use crate::machine::tests::run_on_every_machine;

    /// Returns the output and the `lse` of queries of size 1, where the value of each
    /// key is the index of the key.
    fn run_attention(queries: &[f32], keys: &[f32]) -> [Vec<f32>; 2] {
        let (asked, known) = ([1, 1, queries.len(), 1], [1, 1, keys.len(), 1]);
        let values: Vec<f32> = (0..200_u8).map(f32::from).take(keys.len()).collect();
        let view = |data, shape| Heads::new(data, shape, [0, 0, 1]).unwrap();
        let inputs = AttentionInputs {
            queries: view(queries, asked),
            keys: view(keys, known),
            values: view(&values, known),
            mask: None,
            rule: AttentionRule {
                scale: 1.0,
                causal: false,
                dropout: None,
            },
        };
        let (mut out, mut lse) = (vec![0.0; queries.len()], vec![0.0; queries.len()]);
        let to = HeadsMut::new(&mut out, asked, [0, 0, 1]).unwrap();
        forward(&inputs, to, &mut lse, 1);
        [out, lse]
    }

    #[test]
    fn scores_with_a_wide_range_match_a_single_softmax() {
        // The test places the highest score after many low or masked scores.
        let mut keys: Vec<f32> = (0..60_u8).map(|key| f32::from(key) * 10.0).collect();
        keys.extend((0..60_u8).map(|key| -f32::from(key)));
        run_on_every_machine(|_| {
            let [out, lse] = run_attention(&[1.0, -1.0, 0.0], &keys);
            assert!((out[0] - 59.0).abs() < 0.01);
            assert!((lse[0] - 590.0).abs() < 1e-3);
            assert!((out[1] - 118.418).abs() < 0.01, "{out:?}");
            assert!((out[2] - 59.5).abs() < 1e-4);
        });
    }

    #[test]
    fn a_nan_query_does_not_affect_other_queries() {
        let keys: Vec<f32> = (0..20_u8).map(|key| f32::from(key) / 9.0).collect();
        run_on_every_machine(|_| {
            let clean = run_attention(&[0.5, 1.0, 2.0], &keys);
            let mixed = run_attention(&[0.5, f32::NAN, 2.0], &keys);
            for (clean, mixed) in clean.iter().zip(&mixed) {
                let bits = |row: &[f32]| [row[0].to_bits(), row[2].to_bits()];
                assert_eq!(bits(clean), bits(mixed));
                assert!(mixed[1].is_nan());
            }
        });
    }

    #[test]
    fn a_query_with_only_minus_infinity_scores_gives_zero() {
        run_on_every_machine(|_| {
            let [out, lse] = run_attention(&[1.0], &[f32::NEG_INFINITY; 9]);
            assert_eq!((out[0], lse[0]), (0.0, f32::NEG_INFINITY));
            let mut keys = vec![f32::NEG_INFINITY; 9];
            keys.push(-300.0);
            assert_eq!(run_attention(&[1.0], &keys), [vec![9.0], vec![-300.0]]);
        });
    }
}
