use super::{FeedForward, LinearLayer, Rotation, linear, linear_then_rotate};
use crate::machine::tests::run_on_every_machine;
use crate::norm::NormRule;
use crate::product::tests::random_numbers;

const WIDTH: usize = 40;
const HIDDEN: usize = 700;

/// Returns random weights and biases for a layer.
fn random_layer(outputs: usize, inputs: usize, seed: u32) -> (Vec<f64>, Vec<f64>) {
    (
        random_numbers(outputs * inputs, seed),
        random_numbers(outputs, seed + 1),
    )
}

fn new_layer((weight, bias): &(Vec<f64>, Vec<f64>), inputs: usize) -> LinearLayer<'_, f64> {
    LinearLayer {
        weight,
        bias: Some(bias),
        inputs,
    }
}

/// Returns the output of a linear layer for one row, computed from the definition.
fn reference_linear(layer: LinearLayer<'_, f64>, row: &[f64]) -> Vec<f64> {
    let lines = layer.weight.chunks(layer.inputs).zip(layer.bias.unwrap());
    let product = |line: &[f64]| -> f64 { line.iter().zip(row).map(|(w, x)| w * x).sum() };
    lines.map(|(line, bias)| product(line) + bias).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-11,
            "{found} is not {expected}"
        );
    }
}

#[test]
fn a_layer_equals_the_definition_plus_the_residual() {
    let parts = random_layer(70, WIDTH, 1);
    let layer = new_layer(&parts, WIDTH);
    run_on_every_machine(|_| {
        for count in [1, 5, 50, 250] {
            let (x, residual) = (
                random_numbers(count * WIDTH, 5),
                random_numbers::<f64>(count * 70, 6),
            );
            let expected: Vec<f64> = x
                .chunks(WIDTH)
                .flat_map(|row| reference_linear(layer, row))
                .collect();
            let mut out = vec![f64::NAN; count * 70];
            linear(layer, &x, None, &mut out, 1);
            assert_near(&out, &expected);
            linear(layer, &x, Some(&residual), &mut out, 1);
            let sums: Vec<f64> = expected.iter().zip(&residual).map(|(a, b)| a + b).collect();
            assert_near(&out, &sums);
        }
    });
}

#[test]
fn the_first_heads_are_rotated_by_their_angles() {
    run_on_every_machine(|_| {
        for half in [2, 3, 8, 16] {
            let (heads, width) = (2, 3 * 2 * half);
            let parts = random_layer(width, WIDTH, 1);
            let layer = new_layer(&parts, WIDTH);
            let x = random_numbers::<f64>(30 * WIDTH, 3);
            let angles = random_numbers::<f64>(30 * half, 4);
            let cosines: Vec<f64> = angles.iter().map(|angle| angle.cos()).collect();
            let sines: Vec<f64> = angles.iter().map(|angle| angle.sin()).collect();
            let rotation = Rotation {
                cosines: &cosines,
                sines: &sines,
                half,
                heads,
            };
            let mut out = vec![f64::NAN; 30 * width];
            linear_then_rotate(layer, rotation, &x, &mut out, 1);
            let rows = x.chunks(WIDTH).zip(angles.chunks(half));
            for ((row, angles), found) in rows.zip(out.chunks(width)) {
                let mut expected = reference_linear(layer, row);
                let turned = expected.chunks_mut(2 * half).take(heads);
                turned.for_each(|head| rotate_head(head, angles));
                assert_near(found, &expected);
            }
        }
    });
}

/// Rotates a head by its angles.
fn rotate_head(head: &mut [f64], angles: &[f64]) {
    let (first, second) = head.split_at_mut(angles.len());
    for (at, angle) in angles.iter().enumerate() {
        let ((x, y), (sine, cosine)) = ((first[at], second[at]), angle.sin_cos());
        (first[at], second[at]) = (x * cosine - y * sine, y * cosine + x * sine);
    }
}

/// Calls `test` with a feed-forward block and its input.
fn with_feed_forward(test: impl FnOnce(FeedForward<'_, f64>)) {
    let (inner, outer) = (
        random_layer(HIDDEN, WIDTH, 1),
        random_layer(WIDTH, HIDDEN, 3),
    );
    let (weight, bias) = random_layer(WIDTH, 1, 7);
    test(FeedForward {
        norm: NormRule {
            weight: &weight,
            bias: Some(&bias),
            epsilon: 1e-5,
        },
        inner: new_layer(&inner, WIDTH),
        outer: new_layer(&outer, HIDDEN),
    });
}

/// Returns the output of a feed-forward block for one row, computed layer by layer.
fn reference_feed_forward(part: FeedForward<'_, f64>, row: &[f64]) -> Vec<f64> {
    let mut normal = vec![0.0; WIDTH];
    crate::norm::normalise(part.norm, row, [&mut normal, &mut [0.0], &mut [0.0]], 1);
    let hidden = reference_linear(part.inner, &normal);
    let mut bent = hidden.clone();
    crate::activation::gelu(&hidden, &mut bent, 1);
    let sums = reference_linear(part.outer, &bent);
    sums.iter().zip(row).map(|(sum, x)| sum + x).collect()
}

#[test]
fn a_feed_forward_block_equals_its_layers_in_sequence() {
    with_feed_forward(|part| {
        run_on_every_machine(|_| {
            for count in [1, 7, 300] {
                let x = random_numbers::<f64>(count * WIDTH, 9);
                let expected: Vec<f64> = x
                    .chunks(WIDTH)
                    .flat_map(|row| reference_feed_forward(part, row))
                    .collect();
                let mut out = vec![f64::NAN; x.len()];
                part.apply(&x, &mut out, 1);
                assert_near(&out, &expected);
            }
        });
    });
}

#[test]
fn a_row_does_not_depend_on_other_rows_or_threads() {
    with_feed_forward(|part| {
        let x = random_numbers::<f64>(500 * WIDTH, 9);
        let mut together = vec![0.0; x.len()];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let pool = pool.build().unwrap();
        pool.install(|| part.apply(&x, &mut together, 3));
        for (row, expected) in x.chunks(WIDTH).zip(together.chunks(WIDTH)) {
            let mut alone = vec![0.0; WIDTH];
            part.apply(row, &mut alone, 1);
            assert_eq!(alone, expected);
        }
    });
}
