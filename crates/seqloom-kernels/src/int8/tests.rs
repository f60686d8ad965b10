use proptest::prelude::*;

use super::*;
use crate::activation;
use crate::machine::tests::on_every_machine;
use crate::product::tests::numbers;

/// What this machine offers.
fn tiles() -> Vec<Tile> {
    #[cfg(target_arch = "x86_64")]
    let offered = x86::offered().into_iter().flatten();
    #[cfg(not(target_arch = "x86_64"))]
    let offered = std::iter::empty();
    offered.chain([tile::PORTABLE]).collect()
}

/// Weights, their factors and a bias.
fn layer(outputs: usize, inputs: usize) -> (Vec<i8>, Vec<f32>, Vec<f32>) {
    let values = numbers::<f64>(outputs * inputs, 3);
    let scales = numbers::<f32>(outputs, 4);
    #[expect(clippy::cast_possible_truncation, reason = "from -128 to 127")]
    let values = values
        .into_iter()
        .map(|value| (value * 128.0).floor() as i8);
    (values.collect(), scales, numbers(outputs, 5))
}

/// The numbers of a row as plain arithmetic rounds them, and their scale.
fn quantized(x: &[f32]) -> (Vec<i64>, f32) {
    let high = x.iter().copied().fold(0.0, f32::max);
    let low = x.iter().copied().fold(0.0, f32::min);
    let scale = high / 254.0 - low / 254.0;
    let inverse = 1.0 / scale;
    if !inverse.is_finite() {
        return (vec![0; x.len()], 0.0);
    }
    let zero = f64::from(-low * inverse).round_ties_even();
    let whole = |&x: &f32| (f64::from(x * inverse) + zero).round_ties_even() - zero;
    #[expect(clippy::cast_possible_truncation, reason = "at most 255")]
    let wholes = x.iter().map(|x| whole(x) as i64).collect();
    (wholes, scale)
}

/// The layer by sums of 64 bits.
fn plainly(x: &[f32], weights: Weights<'_>, bias: &[f32]) -> Vec<f32> {
    let rows = x.chunks(weights.inputs).map(quantized);
    let row = |(x, scale): (Vec<i64>, f32)| -> Vec<f32> {
        let columns = weights
            .values
            .chunks(weights.inputs)
            .zip(weights.scales)
            .zip(bias);
        let number = |((column, factor), bias): ((&[i8], &f32), &f32)| {
            let sum: i64 = x.iter().zip(column).map(|(x, &y)| x * i64::from(y)).sum();
            #[expect(clippy::cast_precision_loss, reason = "rounded once")]
            let sum = sum as f32;
            sum * (scale * factor) + bias
        };
        columns.map(number).collect()
    };
    rows.flat_map(row).collect()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_instruction_set_gives_the_bits_of_plain_sums(
        rows in 1_usize..40, inputs in 1_usize..150, outputs in 1_usize..80, factor in -3..3,
    ) {
        let (values, scales, bias) = layer(outputs, inputs);
        let weights = Weights { values: &values, scales: &scales, inputs };
        let mut x = numbers::<f32>(rows * inputs, 1);
        for x in &mut x {
            *x = (*x + 0.3) * 10_f32.powi(factor);
        }
        let expected = bits(&plainly(&x, weights, &bias));
        let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
        for tile in tiles() {
            on_every_machine(|_| {
                let mut out = vec![f32::NAN; rows * outputs];
                linear_by(tile, &x, (weights, epilogue), &mut out, 1);
                assert_eq!(bits(&out), expected, "{tile:?}");
            });
        }
    }
}

#[test]
fn the_largest_sums_have_room() {
    let (x, values) = (vec![1.0; DEEPEST], vec![-128; DEEPEST]);
    let weights = Weights {
        values: &values,
        scales: &[1.0],
        inputs: DEEPEST,
    };
    let mut mixed = x.clone();
    mixed[0] = -1.0;
    for tile in tiles() {
        let mut out = [0.0];
        linear_by(tile, &x, (weights, Epilogue::default()), &mut out, 1);
        assert_eq!(bits(&out), bits(&plainly(&x, weights, &[0.0])));
        linear_by(tile, &mixed, (weights, Epilogue::default()), &mut out, 1);
        assert_eq!(bits(&out), bits(&plainly(&mixed, weights, &[0.0])));
    }
}

#[test]
fn a_row_with_a_nan_or_an_infinity_gives_nan_and_leaves_the_others_alone() {
    let (values, scales, bias) = layer(5, 3);
    let weights = Weights {
        values: &values,
        scales: &scales,
        inputs: 3,
    };
    let epilogue = Epilogue {
        bias: Some(&bias),
        ..Epilogue::default()
    };
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let x = [1.0, 2.0, -3.0, 0.5, bad, 4.0, 1.0, 2.0, -3.0];
        let mut out = [0.0; 15];
        linear(&x, weights, epilogue, &mut out, 1);
        assert!(out[5..10].iter().all(|number| number.is_nan()));
        assert_eq!(bits(&out[..5]), bits(&plainly(&x[..3], weights, &bias)));
        assert_eq!(bits(&out[..5]), bits(&out[10..]));
    }
}

#[test]
fn rows_of_zeros_or_of_what_is_next_to_nothing_give_the_bias() {
    let (values, scales, bias) = layer(3, 2);
    let weights = Weights {
        values: &values,
        scales: &scales,
        inputs: 2,
    };
    let epilogue = Epilogue {
        bias: Some(&bias),
        ..Epilogue::default()
    };
    let mut out = [0.0; 6];
    linear(&[0.0, -0.0, 1e-40, -1e-39], weights, epilogue, &mut out, 1);
    assert_eq!(bits(&out), bits(&[bias.clone(), bias].concat()));
}

#[test]
fn the_greatest_floats_are_quantized_too() {
    let weights = Weights {
        values: &[100, 0],
        scales: &[1e-3],
        inputs: 2,
    };
    let mut out = [0.0];
    linear(
        &[f32::MAX, -f32::MAX],
        weights,
        Epilogue::default(),
        &mut out,
        1,
    );
    assert!((out[0] / (f32::MAX / 10.0) - 1.0).abs() < 1e-6);
}

#[test]
fn gelu_comes_after_the_bias_and_before_what_is_added() {
    let (values, scales, bias) = layer(37, 9);
    let weights = Weights {
        values: &values,
        scales: &scales,
        inputs: 9,
    };
    let (x, added) = (numbers::<f32>(7 * 9, 6), numbers::<f32>(7 * 37, 7));
    on_every_machine(|_| {
        let mut expected = vec![0.0; 7 * 37];
        activation::gelu(&plainly(&x, weights, &bias), &mut expected, 1);
        expected
            .iter_mut()
            .zip(&added)
            .for_each(|(out, added)| *out += added);
        let mut out = vec![0.0; 7 * 37];
        let epilogue = Epilogue {
            bias: Some(&bias),
            gelu: true,
            added: Some(&added),
        };
        linear(&x, weights, epilogue, &mut out, 1);
        assert_eq!(bits(&out), bits(&expected));
    });
}

#[test]
fn neither_the_number_of_threads_nor_other_rows_change_a_bit() {
    let (rows, inputs, outputs) = (301, 65, 70);
    let (values, scales, bias) = layer(outputs, inputs);
    let weights = Weights {
        values: &values,
        scales: &scales,
        inputs,
    };
    let x = numbers::<f32>(rows * inputs, 8);
    let expected = bits(&plainly(&x, weights, &bias));
    let epilogue = Epilogue {
        bias: Some(&bias),
        ..Epilogue::default()
    };
    for threads in 1..4 {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut out = vec![0.0; rows * outputs];
        pool.install(|| linear(&x, weights, epilogue, &mut out, threads));
        assert_eq!(bits(&out), expected);
    }
    for row in [0, 200, 300] {
        let mut out = vec![0.0; outputs];
        linear(&x[row * inputs..][..inputs], weights, epilogue, &mut out, 1);
        assert_eq!(bits(&out), expected[row * outputs..][..outputs]);
    }
}

#[test]
fn a_layer_without_inputs_gives_its_bias_and_one_without_rows_nothing() {
    let weights = Weights {
        values: &[],
        scales: &[1.0; 3],
        inputs: 0,
    };
    let epilogue = Epilogue {
        bias: Some(&[1.0, 2.0, 3.0]),
        ..Epilogue::default()
    };
    let mut out = [0.0; 6];
    linear(&[], weights, epilogue, &mut out, 1);
    assert_eq!(bits(&out), bits(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]));
    linear(&[], weights, epilogue, &mut [], 1);
}
