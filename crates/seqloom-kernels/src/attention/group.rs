//! A group of queries, one in each lane, that is shown one tile of keys after the other.
//!
//! As Milakov and Gimelshein (2018) do, weights are powers of the scores less a shift. It
//! moves to the highest score only where weights would become large: what was summed is
//! seldom scaled.

use pulp::Simd;

use crate::lanes::Lanes;
use crate::{Float, special};

/// Scores, and then weights, of `K` keys.
type ScoreTile<S, T, const K: usize, const V: usize> = [[Lanes<S, T>; V]; K];

/// Queries in `V` registers.
pub(super) struct Group<'a, S: Simd, T: Float, const V: usize> {
    simd: S,
    /// The numbers of each column. A query's product with a key is the logarithm by two of
    /// a weight, but for the shift.
    queries: &'a [[T::Vector<S>; V]],
    /// The sums of weighted values, of each column.
    answers: &'a mut [[T::Vector<S>; V]],
    totals: [Lanes<S, T>; V],
    /// The shifts with the other sign.
    minus: [Lanes<S, T>; V],
    /// What scores may be beyond the shift; at first it is minus infinity.
    limits: [Lanes<S, T>; V],
}

impl<'a, S: Simd, T: Float, const V: usize> Group<'a, S, T, V> {
    /// Queries without any key.
    #[inline(always)]
    pub(super) fn new(simd: S, queries: &'a [T], answers: &'a mut [T]) -> Self {
        answers.fill(T::ZERO);
        let zero = Lanes::splat(simd, T::ZERO);
        Self {
            simd,
            queries: T::split::<S>(queries).0.as_chunks().0,
            answers: T::split_mut::<S>(answers).0.as_chunks_mut().0,
            totals: [zero; V],
            minus: [zero; V],
            limits: [zero.like(T::LOWEST); V],
        }
    }

    /// Adds the values of the first `len` keys of a tile, times their weights.
    #[inline(always)]
    pub(super) fn show<const K: usize>(&mut self, keys: &[[T; K]], values: &[[T; K]], len: usize) {
        let mut tile = self.score(keys);
        for (key, scores) in tile.iter_mut().enumerate() {
            if key >= len {
                *scores = [Lanes::splat(self.simd, T::LOWEST); V];
            }
        }
        let highest = highest(&tile);
        if (0..V).any(|v| self.limits[v].is_any_less(highest[v])) {
            self.move_shifts(highest, &mut tile);
        }
        self.weigh(&mut tile);
        self.add(&tile, values);
    }

    /// The scores of a tile's keys, less the shifts.
    #[inline(always)]
    fn score<const K: usize>(&self, keys: &[[T; K]]) -> ScoreTile<S, T, K, V> {
        let mut tile = [self.minus; K];
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

    /// Turns scores into weights and adds them up.
    #[inline(always)]
    fn weigh<const K: usize>(&mut self, tile: &mut ScoreTile<S, T, K, V>) {
        for weights in tile {
            for (weight, total) in weights.iter_mut().zip(&mut self.totals) {
                *weight = special::exp2_of_negative(*weight);
                *total = *total + *weight;
            }
        }
    }

    /// Adds values, times their weights, to the answers.
    #[inline(always)]
    fn add<const K: usize>(&mut self, tile: &ScoreTile<S, T, K, V>, values: &[[T; K]]) {
        for (answers, values) in self.answers.iter_mut().zip(values) {
            let mut sums = answers.map(|vector| Lanes::new(self.simd, vector));
            for (weights, &value) in tile.iter().zip(values) {
                let value = Lanes::splat(self.simd, value);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = value.mul_add(*weight, *sum);
                }
            }
            *answers = sums.map(|sum| sum.vector);
        }
    }

    /// Moves shifts to the highest scores, where these are beyond the limits.
    #[inline(always)]
    fn move_shifts<const K: usize>(
        &mut self,
        highest: [Lanes<S, T>; V],
        tile: &mut ScoreTile<S, T, K, V>,
    ) {
        for (v, highest) in highest.into_iter().enumerate() {
            let (zero, one) = (highest.like(T::ZERO), highest.like(T::ONE));
            let before = self.limits[v];
            let step = before.if_less(highest, highest, zero);
            let factor = special::exp2_of_negative(zero - step);
            // What is below zero is the first limit: nothing was summed, whatever the step.
            let factor = before.if_less(zero, one, factor);
            self.limits[v] = before.if_less(highest, zero.like(T::of(LIMIT)), before);
            self.minus[v] = self.minus[v] - step;
            self.totals[v] = self.totals[v] * factor;
            for scores in tile.iter_mut() {
                scores[v] = scores[v] - step;
            }
            for answers in &mut *self.answers {
                answers[v] = (factor.with(answers[v]) * factor).vector;
            }
        }
    }

    /// Divides the answers by the totals, and writes down shifts, then totals.
    #[inline(always)]
    pub(super) fn finish(self, ends: &mut [T]) {
        let (ends, _) = T::split_mut::<S>(ends);
        for (v, total) in self.totals.into_iter().enumerate() {
            let (zero, one) = (total.like(T::ZERO), total.like(T::ONE));
            // The highest score of all weighs at least one, except for rounding, unless a query
            // saw nothing. A NaN is not less, and stays one.
            let inverse = total.if_less(total.like(T::of(0.5)), zero, one / total);
            for answers in &mut *self.answers {
                answers[v] = (total.with(answers[v]) * inverse).vector;
            }
            ends[v] = (zero - self.minus[v]).vector;
            ends[V + v] = total.vector;
        }
    }
}

/// The highest score of each query.
#[inline(always)]
fn highest<S: Simd, T: Float, const K: usize, const V: usize>(
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

/// The logarithm by two of what a weight may be.
const LIMIT: f64 = 8.0;

#[cfg(test)]
mod tests {
    use crate::attention::{AttentionInputs, AttentionRule, Heads, HeadsMut, forward};
    use crate::machine::tests::on_every_machine;

    /// The answers and the sums' logarithms of one-column queries to keys, whose values are
    /// their numbers.
    fn ask(queries: &[f32], keys: &[f32]) -> [Vec<f32>; 2] {
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
    fn scores_that_rise_and_fall_far_are_weighed_as_one() {
        // The highest comes late, after many that are far below or were hidden.
        let mut keys: Vec<f32> = (0..60_u8).map(|key| f32::from(key) * 10.0).collect();
        keys.extend((0..60_u8).map(|key| -f32::from(key)));
        on_every_machine(|_| {
            let [out, lse] = ask(&[1.0, -1.0, 0.0], &keys);
            assert!((out[0] - 59.0).abs() < 0.01);
            assert!((lse[0] - 590.0).abs() < 1e-3);
            assert!((out[1] - 118.418).abs() < 0.01, "{out:?}");
            assert!((out[2] - 59.5).abs() < 1e-4);
        });
    }

    #[test]
    fn a_query_that_is_no_number_leaves_its_neighbours_alone() {
        let keys: Vec<f32> = (0..20_u8).map(|key| f32::from(key) / 9.0).collect();
        on_every_machine(|_| {
            let clean = ask(&[0.5, 1.0, 2.0], &keys);
            let mixed = ask(&[0.5, f32::NAN, 2.0], &keys);
            for (clean, mixed) in clean.iter().zip(&mixed) {
                let bits = |row: &[f32]| [row[0].to_bits(), row[2].to_bits()];
                assert_eq!(bits(clean), bits(mixed));
                assert!(mixed[1].is_nan());
            }
        });
    }

    #[test]
    fn a_query_whose_keys_are_all_infinitely_far_answers_zero() {
        on_every_machine(|_| {
            let [out, lse] = ask(&[1.0], &[f32::NEG_INFINITY; 9]);
            assert_eq!((out[0], lse[0]), (0.0, f32::NEG_INFINITY));
            let mut keys = vec![f32::NEG_INFINITY; 9];
            keys.push(-300.0);
            assert_eq!(ask(&[1.0], &keys), [vec![9.0], vec![-300.0]]);
        });
    }
}
