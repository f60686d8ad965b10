//! Tests that compare attention with a direct implementation of its definition.

use super::*;
use crate::dropout::Dropout;
use crate::machine::tests::run_on_every_machine;
use crate::tuned;
use seqloom_core::key::Key;

const QUERY_SHAPE: [usize; 4] = [2, 3, 9, 4];
const KEY_SHAPE: [usize; 4] = [2, 3, 21, 4];
/// A shape with more keys than fit in one block.
const MANY_KEYS_SHAPE: [usize; 4] = [2, 3, 2 * tuned::MAX_BLOCK_KEYS + 99, 4];

fn random_numbers(seed: u32, [a, b, c, d]: [usize; 4]) -> Vec<f64> {
    let words = (0..).map(|count| Key([0, seed]).random_words([0, count])[0]);
    let words = words.take(a * b * c * d);
    words
        .map(|word| f64::from(word) / f64::from(u32::MAX) * 4.0 - 2.0)
        .collect()
}

fn new_heads(data: &[f64], shape: [usize; 4]) -> Heads<'_, f64> {
    let [_, heads, rows, columns] = shape;
    let steps = [heads * rows * columns, rows * columns, columns];
    Heads::new(data, shape, steps).unwrap()
}

fn new_heads_mut(data: &mut [f64], shape: [usize; 4]) -> HeadsMut<'_, f64> {
    let [_, heads, rows, columns] = shape;
    let steps = [heads * rows * columns, rows * columns, columns];
    HeadsMut::new(data, shape, steps).unwrap()
}

/// Returns the sum of the attention output times `grad`.
fn weighted_output_sum(inputs: &AttentionInputs<'_, f64>, grad: &[f64]) -> f64 {
    let (mut out, mut lse) = (vec![0.0; grad.len()], vec![0.0; 2 * 3 * 9]);
    forward(inputs, new_heads_mut(&mut out, QUERY_SHAPE), &mut lse, 1);
    out.iter().zip(grad).map(|(out, grad)| out * grad).sum()
}

fn reference_output(inputs: &AttentionInputs<'_, f64>, number: usize, query: usize) -> Vec<f64> {
    let head = inputs.head(number);
    let q = head.queries.row(query);
    let scores = (0..head.visible_keys(query)).map(|key| {
        let k = head.keys.row(key);
        (q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * head.rule.scale).exp()
    });
    let weights: Vec<f64> = scores.collect();
    let total: f64 = weights.iter().sum();
    let value = |column: usize| {
        let terms = weights.iter().enumerate();
        terms
            .map(|(key, weight)| weight / total * head.values.row(key)[column])
            .sum()
    };
    (0..4).map(value).collect()
}

fn run_with_inputs(
    [shape, keys]: [[usize; 4]; 2],
    causal: bool,
    dropout: Option<Dropout<f64>>,
    test: impl Fn(AttentionInputs<'_, f64>),
) {
    let (q, k, v) = (
        random_numbers(1, shape),
        random_numbers(2, keys),
        random_numbers(3, keys),
    );
    test(AttentionInputs {
        queries: new_heads(&q, shape),
        keys: new_heads(&k, keys),
        values: new_heads(&v, keys),
        mask: None,
        rule: AttentionRule {
            scale: 0.5,
            causal,
            dropout,
        },
    });
}

#[test]
fn the_output_is_the_weighted_mean_of_the_values() {
    let cases = [
        (KEY_SHAPE, false),
        (KEY_SHAPE, true),
        (MANY_KEYS_SHAPE, false),
    ];
    run_on_every_machine(|_| {
        for (keys, causal) in cases {
            run_with_inputs([QUERY_SHAPE, keys], causal, None, |inputs| {
                assert!(output_matches_definition(&inputs));
            });
        }
    });
}

#[test]
fn queries_and_keys_beyond_full_tiles_are_computed() {
    run_on_every_machine(|_| {
        for queries in [1, 15, 16, 17, 33, 65] {
            for keys in [1, 5, 6, 8, 9, 47] {
                let shapes = [[1, 1, queries, 4], [1, 1, keys, 4]];
                run_with_inputs(shapes, false, None, |inputs| {
                    assert!(output_matches_definition(&inputs), "{queries} by {keys}");
                });
            }
        }
    });
}

#[test]
fn attention_does_not_depend_on_the_number_of_threads() {
    let shape = [1, 1, 1100, 4];
    run_with_inputs([shape, shape], false, None, |inputs| {
        let outputs = [1, 2].map(|threads| {
            let (mut out, mut lse) = (vec![0.0; 4400], vec![0.0; 1100]);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let to = new_heads_mut(&mut out, shape);
            pool.build()
                .unwrap()
                .install(|| forward(&inputs, to, &mut lse, threads));
            [out, lse].concat()
        });
        assert_eq!(outputs[0], outputs[1]);
    });
}

#[test]
fn a_causal_query_attends_to_no_later_key() {
    let shape = [1, 1, tuned::MAX_BLOCK_KEYS + 40, 4];
    run_with_inputs([shape, shape], true, None, |inputs| {
        assert!(output_matches_definition(&inputs));
    });
}

/// Returns true if the attention output equals its definition.
fn output_matches_definition(inputs: &AttentionInputs<'_, f64>) -> bool {
    let [batch, heads, queries, width] = inputs.queries.shape();
    let rows = batch * heads * queries;
    let (mut out, mut lse) = (vec![0.0; rows * width], vec![0.0; rows]);
    let to = new_heads_mut(&mut out, inputs.queries.shape());
    forward(inputs, to, &mut lse, 1);
    let expected = (0..rows).flat_map(|row| reference_output(inputs, row / queries, row % queries));
    let mut pairs = out.iter().zip(expected);
    pairs.all(|(found, expected)| (found - expected).abs() < 1e-13)
}

#[test]
fn a_fully_masked_block_of_keys_has_no_weight() {
    let seen = |key: usize| key >= tuned::MAX_BLOCK_KEYS && key.is_multiple_of(3);
    let allowed: Vec<bool> = (0..MANY_KEYS_SHAPE[2]).map(seen).collect();
    let far = allowed.iter().map(|&seen| if seen { 0.0 } else { -1e9 });
    let added: Vec<f64> = far.collect();
    let (shape, steps) = ([2, 3, 9, MANY_KEYS_SHAPE[2]], [0, 0, 0, 1]);
    run_with_inputs([QUERY_SHAPE, MANY_KEYS_SHAPE], false, None, |inputs| {
        let masks = [
            AttentionMask::Allowed(BroadcastArray::new(&allowed, shape, steps).unwrap()),
            AttentionMask::Added(BroadcastArray::new(&added, shape, steps).unwrap()),
        ];
        let [one, other] = masks.map(|mask| {
            let mut masked = inputs;
            masked.mask = Some(mask);
            let (mut out, mut lse) = (vec![0.0; 216], vec![0.0; 54]);
            forward(&masked, new_heads_mut(&mut out, QUERY_SHAPE), &mut lse, 1);
            [out, lse].concat()
        });
        let mut pairs = one.iter().zip(other);
        assert!(pairs.all(|(one, other)| (one - other).abs() < 1e-13));
    });
}

#[test]
fn gradients_match_finite_differences() {
    let dropout = Some(Dropout::new(Key([5, 6]), 0.3));
    let cases = [
        (KEY_SHAPE, true, None),
        (KEY_SHAPE, true, dropout),
        (MANY_KEYS_SHAPE, false, dropout),
    ];
    for (keys, causal, dropout) in cases {
        run_with_inputs([QUERY_SHAPE, keys], causal, dropout, |inputs| {
            let grad = random_numbers(4, QUERY_SHAPE);
            let (mut out, mut lse) = (vec![0.0; 216], vec![0.0; 54]);
            forward(&inputs, new_heads_mut(&mut out, QUERY_SHAPE), &mut lse, 1);
            let size = keys.iter().product();
            let mut grads = [vec![0.0; 216], vec![0.0; size], vec![0.0; size]];
            let outputs = AttentionResults {
                grad: new_heads(&grad, QUERY_SHAPE),
                out: new_heads(&out, QUERY_SHAPE),
                lse: &lse,
            };
            let [q, k, v] = &mut grads;
            let outs = [
                new_heads_mut(q, QUERY_SHAPE),
                new_heads_mut(k, keys),
                new_heads_mut(v, keys),
            ];
            backward(&inputs, &outputs, outs, 1);
            assert!(match_finite_differences(&inputs, &grad, &grads));
        });
    }
}

/// Returns true if the attention gradients equal central differences.
fn match_finite_differences(
    inputs: &AttentionInputs<'_, f64>,
    grad: &[f64],
    grads: &[Vec<f64>; 3],
) -> bool {
    let keys = inputs.keys.shape();
    let mut parts = [(1, QUERY_SHAPE), (2, keys), (3, keys)]
        .into_iter()
        .enumerate();
    parts.all(|(part, (seed, shape))| {
        let mut positions = (0..grads[part].len()).step_by(grads[part].len() / 6);
        positions.all(|position| {
            let at = |step: f64| {
                let mut moved = random_numbers(seed, shape);
                moved[position] += step;
                let mut inputs = *inputs;
                let array = new_heads(&moved, shape);
                match part {
                    0 => inputs.queries = array,
                    1 => inputs.keys = array,
                    _ => inputs.values = array,
                }
                weighted_output_sum(&inputs, grad)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            (slope - grads[part][position]).abs() < 1e-7
        })
    })
}

#[test]
fn heads_of_one_array_are_split_correctly() {
    let mut data = vec![0.0_f32; 12];
    // The array (batch 1, heads 6, rows 1, columns 2) contains three arrays of two
    // heads.
    let all = HeadsMut::new(&mut data, [1, 6, 1, 2], [12, 2, 12]).unwrap();
    for (number, part) in (1_u8..).zip(all.split_in_three()) {
        assert_eq!(part.shape(), [1, 2, 1, 2]);
        for mut head in part.matrices {
            head.fill(f32::from(number));
        }
    }
    assert_eq!(data, [[1.0; 4], [2.0; 4], [3.0; 4]].concat());
}
