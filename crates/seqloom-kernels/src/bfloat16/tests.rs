use super::panels::wide;
use super::{Attention, FeedForward, Heads, Layer, Machine, Norm, linear, linear_then_rotate};
use crate::dense::Rotation;
use crate::product::tests::numbers;

/// Numbers that bfloat16 has.
fn bits(count: usize, seed: u32) -> Vec<u16> {
    let upper = |x: f32| (x.to_bits() >> 16) as u16;
    numbers::<f32>(count, seed).into_iter().map(upper).collect()
}

fn all_wide(bits: &[u16]) -> Vec<f64> {
    bits.iter().map(|&bits| f64::from(wide(bits))).collect()
}

/// A layer's weights and biases.
fn weights(outputs: usize, inputs: usize, seed: u32) -> (Vec<u16>, Vec<u16>) {
    (bits(outputs * inputs, seed), bits(outputs, seed + 1))
}

fn layer(machine: Machine, (weight, bias): &(Vec<u16>, Vec<u16>), inputs: usize) -> Layer<'_> {
    Layer {
        machine,
        weight,
        bias: Some(bias),
        inputs,
    }
}

/// What a layer gives for one row, by the definition.
fn plain(layer: Layer<'_>, row: &[f64]) -> Vec<f64> {
    let (weight, bias) = (all_wide(layer.weight), all_wide(layer.bias.unwrap()));
    let lines = weight.chunks(layer.inputs).zip(bias);
    let product = |line: &[f64]| -> f64 { line.iter().zip(row).map(|(w, x)| w * x).sum() };
    lines.map(|(line, bias)| product(line) + bias).collect()
}

/// Compares with what is expected; the tolerance is a part of the greatest number.
fn assert_near(found: &[u16], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let greatest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    for (found, expected) in all_wide(found).iter().zip(expected) {
        let error = (found - expected).abs();
        assert!(error <= tolerance * greatest, "{found} is not {expected}");
    }
}

/// Half a unit in the last place.
const ROUNDING: f64 = 1.0 / 256.0;

#[test]
fn a_layer_is_the_definition_plus_the_residual() {
    let Some(machine) = Machine::find() else {
        return;
    };
    for (outputs, inputs, count) in [(70, 40, 1), (96, 2, 9), (16, 330, 50), (7, 64, 250)] {
        let parts = weights(outputs, inputs, 1);
        let layer = layer(machine, &parts, inputs);
        let (x, residual) = (bits(count * inputs, 5), bits(count * outputs, 6));
        let rows = all_wide(&x);
        let expected = rows.chunks(inputs).flat_map(|row| plain(layer, row));
        let expected: Vec<f64> = expected.collect();
        let mut out = vec![u16::MAX; count * outputs];
        linear(layer, &x, None, &mut out, 1);
        assert_near(&out, &expected, ROUNDING);
        linear(layer, &x, Some(&residual), &mut out, 1);
        let sums = expected.iter().zip(all_wide(&residual)).map(|(a, b)| a + b);
        assert_near(&out, &sums.collect::<Vec<_>>(), ROUNDING);
    }
}

#[test]
fn the_first_heads_are_turned_by_their_angles() {
    let Some(machine) = Machine::find() else {
        return;
    };
    for half in [2, 8, 12, 40] {
        let (heads, inputs, width) = (2, 40, 3 * 2 * half);
        let parts = weights(width, inputs, 1);
        let (layer, x) = (layer(machine, &parts, inputs), bits(30 * inputs, 3));
        let angles = numbers::<f32>(30 * half, 4);
        let cosines: Vec<f32> = angles.iter().map(|angle| angle.cos()).collect();
        let sines: Vec<f32> = angles.iter().map(|angle| angle.sin()).collect();
        let rotation = Rotation {
            cosines: &cosines,
            sines: &sines,
            half,
            heads,
        };
        let mut out = vec![u16::MAX; 30 * width];
        linear_then_rotate(layer, rotation, &x, &mut out, 1);
        let rows = all_wide(&x);
        let rows = rows.chunks(inputs).zip(angles.chunks(half));
        for ((row, angles), found) in rows.zip(out.chunks(width)) {
            let mut expected = plain(layer, row);
            let turned = expected.chunks_mut(2 * half).take(heads);
            turned.for_each(|head| turn(head, angles));
            assert_near(found, &expected, 2.0 * ROUNDING);
        }
    }
}

/// Turns a head by its angles.
fn turn(head: &mut [f64], angles: &[f32]) {
    let (first, second) = head.split_at_mut(angles.len());
    for (at, &angle) in angles.iter().enumerate() {
        let ((x, y), (sine, cosine)) = ((first[at], second[at]), f64::from(angle).sin_cos());
        (first[at], second[at]) = (x * cosine - y * sine, y * cosine + x * sine);
    }
}

const WIDTH: usize = 40;
const HIDDEN: usize = 100;

/// A feed-forward part with the numbers that it lends.
fn with_feed_forward(machine: Machine, test: impl FnOnce(FeedForward<'_>)) {
    let (inner, outer) = (weights(HIDDEN, WIDTH, 1), weights(WIDTH, HIDDEN, 3));
    let (weight, bias) = weights(WIDTH, 1, 7);
    test(FeedForward {
        norm: Norm {
            machine,
            weight: &weight,
            bias: &bias,
            epsilon: 1e-5,
        },
        inner: layer(machine, &inner, WIDTH),
        outer: layer(machine, &outer, HIDDEN),
    });
}

/// One row, in double precision.
fn fed_forward(part: FeedForward<'_>, row: &[f64]) -> Vec<f64> {
    let [weight, bias] = [part.norm.weight, part.norm.bias].map(all_wide);
    let rule = crate::norm::Rule {
        weight: &weight,
        bias: Some(&bias),
        epsilon: part.norm.epsilon,
    };
    let mut normal = vec![0.0; WIDTH];
    crate::norm::normalise(rule, row, [&mut normal, &mut [0.0], &mut [0.0]], 1);
    let hidden = plain(part.inner, &normal);
    let mut bent = hidden.clone();
    crate::activation::gelu(&hidden, &mut bent, 1);
    let sums = plain(part.outer, &bent);
    sums.iter().zip(row).map(|(sum, x)| sum + x).collect()
}

#[test]
fn a_feed_forward_part_is_its_layers_one_after_the_other() {
    let Some(machine) = Machine::find() else {
        return;
    };
    with_feed_forward(machine, |part| {
        let x = bits(50 * WIDTH, 9);
        let rows = all_wide(&x);
        let expected: Vec<f64> = rows
            .chunks(WIDTH)
            .flat_map(|row| fed_forward(part, row))
            .collect();
        let mut out = vec![u16::MAX; x.len()];
        part.apply(&x, &mut out, 1);
        assert_near(&out, &expected, 3.0 * ROUNDING);
    });
}

#[test]
fn a_row_has_the_same_bits_alone_and_beside_others_on_any_number_of_threads() {
    let Some(machine) = Machine::find() else {
        return;
    };
    with_feed_forward(machine, |part| {
        let x = bits(300 * WIDTH, 9);
        let mut together = vec![0; x.len()];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let pool = pool.build().unwrap();
        pool.install(|| part.apply(&x, &mut together, 3));
        for (row, expected) in x.chunks(WIDTH).zip(together.chunks(WIDTH)) {
            let mut alone = vec![0; WIDTH];
            part.apply(row, &mut alone, 1);
            assert_eq!(alone, expected);
        }
    });
}

const HEADS: usize = 2;

/// Attends, with rows of queries, keys and values side by side.
fn attend(machine: Machine, qkv: &[u16], depth: usize, bounds: &[usize]) -> (Vec<u16>, Vec<f32>) {
    let width = 2 * depth * HEADS;
    let part = |number| Heads::new(&qkv[number * width..], 3 * width, 2 * depth).unwrap();
    let rows = qkv.len() / (3 * width);
    let (mut out, mut sums) = (vec![u16::MAX; rows * width], vec![0.0; rows * HEADS]);
    let attention = Attention {
        machine,
        parts: [part(0), part(1), part(2)],
        heads: HEADS,
        depth,
        scale: 0.7,
    };
    attention.answer(bounds, &mut out, &mut sums, 1);
    (out, sums)
}

/// The answer to one query, and the logarithm of the sum of exponentials, by the definition.
fn answer(
    qkv: &[f64],
    width: usize,
    head: std::ops::Range<usize>,
    query: usize,
) -> (Vec<f64>, f64) {
    let part = |row: usize, number: usize| &qkv[(3 * row + number) * width..][head.clone()];
    let rows = 0..qkv.len() / (3 * width);
    let weigh = |row| -> f64 {
        let products = part(query, 0).iter().zip(part(row, 1)).map(|(q, k)| q * k);
        (0.7 * products.sum::<f64>()).exp()
    };
    let weights: Vec<f64> = rows.clone().map(weigh).collect();
    let total: f64 = weights.iter().sum();
    let column = |column: usize| -> f64 {
        let values = rows.clone().map(|row| part(row, 2)[column]);
        values
            .zip(&weights)
            .map(|(value, weight)| value * weight / total)
            .sum()
    };
    ((0..head.len()).map(column).collect(), total.ln())
}

#[test]
fn each_sequence_attends_to_itself_as_the_definition_says() {
    let Some(machine) = Machine::find() else {
        return;
    };
    for (depth, bounds) in [
        (8, vec![0, 1, 1, 70, 83]),
        (3, vec![0, 16]),
        (32, vec![0, 9, 60]),
    ] {
        let width = 2 * depth * HEADS;
        let qkv = bits(bounds.last().unwrap() * 3 * width, 4);
        let (out, sums) = attend(machine, &qkv, depth, &bounds);
        for ends in bounds.windows(2) {
            let rows = all_wide(&qkv[ends[0] * 3 * width..ends[1] * 3 * width]);
            for (query, head) in (0..ends[1] - ends[0]).flat_map(|query| [(query, 0), (query, 1)]) {
                let columns = head * 2 * depth..(head + 1) * 2 * depth;
                let (expected, sum) = answer(&rows, width, columns, query);
                let place = (ends[0] + query) * HEADS + head;
                assert_near(&out[place * 2 * depth..][..2 * depth], &expected, 0.02);
                assert!((f64::from(sums[place]) - sum).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn a_sequence_has_the_same_bits_alone_and_beside_others_on_any_number_of_threads() {
    let Some(machine) = Machine::find() else {
        return;
    };
    let (depth, width) = (8, 32);
    let qkv = bits(700 * 3 * width, 4);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
    let pool = pool.build().unwrap();
    let (together, _) = pool.install(|| attend(machine, &qkv, depth, &[0, 300, 309, 700]));
    for (start, end) in [(0, 300), (300, 309), (309, 700)] {
        let rows = &qkv[start * 3 * width..end * 3 * width];
        let (alone, _) = attend(machine, rows, depth, &[0, end - start]);
        assert_eq!(alone, together[start * width..end * width]);
    }
}
