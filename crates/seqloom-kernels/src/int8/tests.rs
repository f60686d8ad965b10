use proptest::prelude::*;

use super::linear::linear_with_tile;
use super::tile::{self, Int8Tile};
use super::*;
use crate::dense::Rotation;
use crate::machine::tests::run_on_every_machine;
use crate::norm::{self, NormRule};
use crate::product::tests::random_numbers;
use crate::{activation, dense};

/// Returns the tiles that this machine supports.
fn supported_tiles() -> Vec<Int8Tile> {
    #[cfg(target_arch = "x86_64")]
    let supported_tiles = x86::supported_tiles().into_iter().flatten();
    #[cfg(not(target_arch = "x86_64"))]
    let supported_tiles = std::iter::empty();
    supported_tiles.chain([tile::PORTABLE_TILE]).collect()
}

/// The arrays of a layer.
struct LayerArrays {
    weight: Vec<i8>,
    scales: Vec<f32>,
    factors: Vec<f32>,
    bias: Vec<f32>,
}

impl LayerArrays {
    fn new(outputs: usize, inputs: usize, seed: u32) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "values are -128 to 127")]
        let whole = |value: f64| (value * 128.0).floor() as i8;
        let weight = random_numbers(outputs * inputs, seed)
            .into_iter()
            .map(whole);
        let factors = random_numbers(inputs, seed + 2).into_iter();
        Self {
            weight: weight.collect(),
            scales: random_numbers(outputs, seed + 1),
            factors: factors.map(|factor: f32| factor.abs() + 0.1).collect(),
            bias: random_numbers(outputs, seed + 3),
        }
    }

    fn layer(&self) -> Int8Layer<'_> {
        Int8Layer {
            weight: &self.weight,
            scales: &self.scales,
            factors: &self.factors,
            bias: Some(&self.bias),
        }
    }
}

/// Returns the quantized values of a row and their scale, computed with scalar
/// arithmetic.
fn quantize_reference(row: &[f32], factors: &[f32]) -> (Vec<i64>, f32) {
    let x: Vec<f32> = row.iter().zip(factors).map(|(x, f)| x * f).collect();
    let high = x.iter().copied().fold(0.0, f32::max);
    let low = x.iter().copied().fold(0.0, f32::min);
    let scale = high / 254.0 - low / 254.0;
    let inverse = 1.0 / scale;
    if !inverse.is_finite() {
        return (vec![0; x.len()], 0.0);
    }
    let zero = f64::from(-low * inverse).round_ties_even();
    let whole = |&x: &f32| (f64::from(x * inverse) + zero).round_ties_even() - zero;
    #[expect(clippy::cast_possible_truncation, reason = "values are at most 255")]
    let wholes = x.iter().map(|x| whole(x) as i64).collect();
    (wholes, scale)
}

/// Returns the output of a layer, computed with 64-bit sums.
fn reference_output(layer: Int8Layer<'_>, x: &[f32]) -> Vec<f32> {
    let inputs = layer.factors.len();
    let rows = x
        .chunks(inputs)
        .map(|row| quantize_reference(row, layer.factors));
    let row = |(x, scale): (Vec<i64>, f32)| -> Vec<f32> {
        let columns = layer.weight.chunks(inputs).zip(layer.scales);
        let number = |((column, factor), bias): ((&[i8], &f32), &f32)| {
            let sum: i64 = x.iter().zip(column).map(|(x, &y)| x * i64::from(y)).sum();
            #[expect(clippy::cast_precision_loss, reason = "the sum is rounded once")]
            let sum = sum as f32;
            sum * (scale * factor) + bias
        };
        columns.zip(layer.bias.unwrap()).map(number).collect()
    };
    rows.flat_map(row).collect()
}

fn float_bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 24 }))]

    #[test]
    fn every_instruction_set_matches_integer_sums(
        rows in 1_usize..40, inputs in 1_usize..150, outputs in 1_usize..80, power in -3..3,
    ) {
        let arrays = LayerArrays::new(outputs, inputs, 3);
        let mut x = random_numbers::<f32>(rows * inputs, 1);
        for x in &mut x {
            *x = (*x + 0.3) * 10_f32.powi(power);
        }
        let expected = float_bits(&reference_output(arrays.layer(), &x));
        for tile in supported_tiles() {
            run_on_every_machine(|_| {
                let mut out = vec![f32::NAN; rows * outputs];
                linear_with_tile(tile, arrays.layer(), (&x, None), &mut out, 1);
                assert_eq!(float_bits(&out), expected, "{tile:?}");
            });
        }
    }
}

#[test]
fn the_largest_sums_do_not_overflow() {
    let (x, weight) = (vec![1.0; MAX_INPUTS], vec![-128; MAX_INPUTS]);
    let mut mixed = x.clone();
    mixed[0] = -1.0;
    let layer = Int8Layer {
        weight: &weight,
        scales: &[1.0],
        factors: &x,
        bias: Some(&[0.0]),
    };
    for tile in supported_tiles() {
        for x in [&x, &mixed] {
            let mut out = [0.0];
            linear_with_tile(tile, layer, (x, None), &mut out, 1);
            assert_eq!(float_bits(&out), float_bits(&reference_output(layer, x)));
        }
    }
}

#[test]
fn a_row_with_nan_or_infinity_gives_nan_in_that_row_only() {
    let arrays = LayerArrays::new(5, 3, 3);
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let x = [1.0, 2.0, -3.0, 0.5, bad, 4.0, 1.0, 2.0, -3.0];
        let mut out = [0.0; 15];
        linear(arrays.layer(), &x, None, &mut out, 1);
        assert!(out[5..10].iter().all(|number| number.is_nan()));
        assert_eq!(
            float_bits(&out[..5]),
            float_bits(&reference_output(arrays.layer(), &x[..3]))
        );
        assert_eq!(float_bits(&out[..5]), float_bits(&out[10..]));
    }
}

#[test]
fn rows_of_zeros_or_tiny_values_give_the_bias() {
    let arrays = LayerArrays::new(3, 2, 3);
    let mut out = [0.0; 6];
    linear(
        arrays.layer(),
        &[0.0, -0.0, 1e-40, -1e-39],
        None,
        &mut out,
        1,
    );
    assert_eq!(float_bits(&out), float_bits(&arrays.bias.repeat(2)));
}

#[test]
fn the_largest_floats_are_quantized() {
    let factors = [1.0; 2];
    let layer = Int8Layer {
        weight: &[100, 0],
        scales: &[1e-3],
        factors: &factors,
        bias: None,
    };
    let mut out = [0.0];
    linear(layer, &[f32::MAX, -f32::MAX], None, &mut out, 1);
    assert!((out[0] / (f32::MAX / 10.0) - 1.0).abs() < 1e-6);
}

#[test]
fn residual_and_rotation_match_the_float_layers() {
    let (rows, half, heads) = (50, 3, 4);
    let outputs = 3 * half * heads;
    let arrays = LayerArrays::new(outputs, 20, 1);
    let (x, residual) = (
        random_numbers(rows * 20, 7),
        random_numbers::<f32>(rows * outputs, 8),
    );
    let (cosines, sines) = (
        &random_numbers(rows * half, 9)[..],
        &random_numbers(rows * half, 10)[..],
    );
    let rotation = Rotation {
        cosines,
        sines,
        half,
        heads,
    };
    run_on_every_machine(|_| {
        let expected = reference_output(arrays.layer(), &x);
        let mut out = vec![0.0; rows * outputs];
        linear(arrays.layer(), &x, Some(&residual), &mut out, 1);
        let sums: Vec<f32> = expected.iter().zip(&residual).map(|(a, b)| a + b).collect();
        assert_eq!(float_bits(&out), float_bits(&sums));
        linear_then_rotate(arrays.layer(), rotation, &x, &mut out, 1);
        let mut turned = expected;
        dense::rotate_heads(rotation, outputs, &mut turned);
        assert_eq!(float_bits(&out), float_bits(&turned));
    });
}

/// Calls `test` with a feed-forward block.
fn with_feed_forward(test: impl FnOnce(Int8FeedForward<'_>)) {
    let (inner, outer) = (
        LayerArrays::new(HIDDEN, WIDTH, 1),
        LayerArrays::new(WIDTH, HIDDEN, 5),
    );
    let (weight, bias) = (
        random_numbers::<f32>(WIDTH, 9),
        random_numbers::<f32>(WIDTH, 10),
    );
    test(Int8FeedForward {
        norm: NormRule {
            weight: &weight,
            bias: Some(&bias),
            epsilon: 1e-5,
        },
        inner: inner.layer(),
        outer: outer.layer(),
    });
}

const WIDTH: usize = 37;
const HIDDEN: usize = 130;

#[test]
fn a_feed_forward_block_equals_its_layers_in_sequence() {
    with_feed_forward(|part| {
        run_on_every_machine(|_| {
            for rows in [1, 7, 300] {
                let x = random_numbers::<f32>(rows * WIDTH, 11);
                let mut normal = vec![0.0; x.len()];
                let mut moments = vec![0.0; 2 * rows];
                let (means, inverses) = moments.split_at_mut(rows);
                norm::normalise(part.norm, &x, [&mut normal, means, inverses], 1);
                let hidden = reference_output(part.inner, &normal);
                let mut bent = hidden.clone();
                activation::gelu(&hidden, &mut bent, 1);
                let mut expected = reference_output(part.outer, &bent);
                expected.iter_mut().zip(&x).for_each(|(out, x)| *out += x);
                let mut out = vec![0.0; x.len()];
                part.apply(&x, &mut out, 1);
                assert_eq!(float_bits(&out), float_bits(&expected));
            }
        });
    });
}

#[test]
fn results_do_not_depend_on_threads_or_other_rows() {
    with_feed_forward(|part| {
        let x = random_numbers::<f32>(500 * WIDTH, 12);
        let mut together = vec![0.0; x.len()];
        part.apply(&x, &mut together, 1);
        for threads in 2..4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut out = vec![0.0; x.len()];
            let pool = pool.build().unwrap();
            pool.install(|| part.apply(&x, &mut out, threads));
            assert_eq!(float_bits(&out), float_bits(&together));
        }
        for (row, expected) in x.chunks(WIDTH).zip(together.chunks(WIDTH)) {
            let mut alone = vec![0.0; WIDTH];
            part.apply(row, &mut alone, 1);
            assert_eq!(float_bits(&alone), float_bits(expected));
        }
    });
}

#[test]
fn a_layer_without_inputs_gives_the_bias_and_one_without_rows_is_empty() {
    let bias = [1.0, 2.0, 3.0];
    let layer = Int8Layer {
        weight: &[],
        scales: &[1.0; 3],
        factors: &[],
        bias: Some(&bias),
    };
    let mut out = [0.0; 6];
    linear(layer, &[], None, &mut out, 1);
    assert_eq!(float_bits(&out), float_bits(&bias.repeat(2)));
    linear(layer, &[], None, &mut [], 1);
}
