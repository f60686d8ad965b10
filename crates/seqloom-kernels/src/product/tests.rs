use proptest::prelude::*;

use super::{Matrix, multiply_pairs};
use crate::Float;
use crate::machine::tests::run_on_every_machine;

/// Returns pseudo-random numbers between -1 and 1.
pub(crate) fn random_numbers<T: Float>(count: usize, seed: u32) -> Vec<T> {
    let word = |index: u32| (index ^ seed).wrapping_mul(2_654_435_761).rotate_left(13);
    let number = |index| f64::from(word(index).wrapping_mul(2_246_822_519)) / 2_f64.powi(31) - 1.0;
    (0..count)
        .map(|index| T::from_f64(number(u32::try_from(index).unwrap())))
        .collect()
}

fn value_at<T: Float>(matrix: &Matrix<'_, T>, line: usize, position: usize) -> f64 {
    matrix.values[line * matrix.line_step + position * matrix.k_step].to_f64()
}

fn check_product<T: Float>(sizes: [usize; 3], by_rows: [bool; 2], tolerance: f64) {
    let [lines, columns, k] = sizes;
    let (a, b) = (
        random_numbers::<T>(lines * k, 1),
        random_numbers::<T>(columns * k, 2),
    );
    let left = Matrix::from_slice(&a, [lines, k], !by_rows[0]);
    let right = Matrix::from_slice(&b, [columns, k], !by_rows[1]);
    let expected = (0..lines * columns).map(|number| {
        let (row, column) = (number / columns, number % columns);
        let terms = (0..k)
            .map(|position| value_at(&left, row, position) * value_at(&right, column, position));
        terms.sum()
    });
    let expected: Vec<f64> = expected.collect();
    run_on_every_machine(|_| {
        let mut out = vec![T::from_f64(f64::NAN); lines * columns];
        multiply_pairs(left, right, None, &mut out, 1);
        for (found, expected) in out.iter().zip(&expected) {
            let error = (found.to_f64() - expected).abs();
            assert!(error <= tolerance, "{found:?} is not {expected}");
        }
    });
}

/// The largest numbers of left rows, right columns and positions of the inner axis.
const MAX_SIZES: [usize; 3] = if cfg!(miri) {
    [9, 20, 20]
} else {
    [30, 100, 500]
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 32 }))]

    #[test]
    fn matrix_products_match_the_definition(
        lines in 0..MAX_SIZES[0], columns in 0..MAX_SIZES[1], k in 0..MAX_SIZES[2],
        rows in any::<[bool; 2]>(),
    ) {
        check_product::<f32>([lines, columns, k], rows, 1e-3);
        check_product::<f64>([lines, columns, k], rows, 1e-11);
    }
}

#[test]
fn matrices_larger_than_every_block_are_multiplied() {
    for sizes in [[140, 1030, 8], [3, 400, 1100], [2, 1050, 1030]] {
        for by_rows in [[true, true], [true, false], [false, true], [false, false]] {
            check_product::<f32>(sizes, by_rows, 5e-3);
        }
    }
}

#[test]
fn the_bias_is_added_to_each_line() {
    for (sizes, rows) in [
        ([5, 40, 200], true),
        ([5, 7, 20], true),
        ([20, 9, 30], false),
        ([30, 3, 90], true),
        ([3, 90, 30], false),
    ] {
        let [lines, columns, k] = sizes;
        let (a, b) = (
            random_numbers::<f64>(lines * k, 1),
            random_numbers(columns * k, 2),
        );
        let (left, right) = (
            Matrix::from_slice(&a, [lines, k], !rows),
            Matrix::from_slice(&b, [columns, k], !rows),
        );
        let bias = random_numbers::<f64>(columns, 3);
        let [mut plain, mut biased] = [vec![0.0; lines * columns], vec![0.0; lines * columns]];
        multiply_pairs(left, right, None, &mut plain, 1);
        multiply_pairs(left, right, Some(&bias), &mut biased, 1);
        for (number, (plain, biased)) in plain.iter().zip(biased).enumerate() {
            assert!((biased - (plain + bias[number % columns])).abs() < 1e-12);
        }
    }
}

#[test]
fn an_empty_sum_gives_the_bias() {
    let mut out = vec![7.0_f32; 6];
    let nothing = Matrix::from_slice(&[], [3, 0], false);
    multiply_pairs(
        nothing,
        Matrix::from_slice(&[], [2, 0], false),
        Some(&[1.0, 2.0]),
        &mut out,
        1,
    );
    assert_eq!(out, [1.0, 2.0].repeat(3));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // The shapes select every method: both matrices packed, few rows or columns (with
    // either matrix contiguous or transposed), and one matrix read in place.
    for (sizes, rows) in [
        ([200, 190, 700], [false, false]),
        ([100, 90, 700], [true, false]),
        ([3, 500, 300], [true, true]),
        ([500, 3, 300], [true, true]),
        ([5, 500, 300], [true, false]),
        ([500, 30, 300], [true, true]),
        ([40, 500, 300], [true, true]),
    ] {
        let [lines, columns, k] = sizes;
        let (a, b) = (
            random_numbers::<f32>(lines * k, 1),
            random_numbers(columns * k, 2),
        );
        let left = Matrix::from_slice(&a, [lines, k], !rows[0]);
        let right = Matrix::from_slice(&b, [columns, k], !rows[1]);
        let bias = random_numbers(columns, 3);
        let outs = [1, 2, 4].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut out = vec![0.0; lines * columns];
            pool.build()
                .unwrap()
                .install(|| multiply_pairs(left, right, Some(&bias), &mut out, threads));
            out
        });
        assert_eq!(outs[0], outs[1], "{sizes:?}");
        assert_eq!(outs[0], outs[2], "{sizes:?}");
    }
}
