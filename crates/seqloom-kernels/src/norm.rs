//! Row normalisation: layer norm (Ba and others, 2016) and RMS norm (Zhang and
//! Sennrich, 2019).

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use crate::{Float, Instances, lanes::Lanes, machine::dispatch, parallel, tuned};

/// The parameters of layer norm or RMS norm.
#[derive(Clone, Copy, Debug)]
pub struct NormRule<'a, T> {
    /// The factor by which each column is multiplied after the normalisation. At least
    /// one column is required.
    pub weight: &'a [T],
    /// The bias of each column, or `None` for RMS norm, which does not subtract the
    /// mean.
    pub bias: Option<&'a [T]>,
    /// A small number that is added to the variance.
    pub epsilon: f64,
}

/// Fills the normalised rows, the mean of each row, and the inverse of its standard
/// deviation.
#[compiled_once]
pub fn normalise<T: Float>(rule: NormRule<'_, T>, x: &[T], outs: [&mut [T]; 3], threads: usize) {
    let [out, means, inverses] = outs;
    let width = rule.weight.len();
    let rows = parallel::rows_per_chunk(width);
    let statistics = means.chunks_mut(rows).zip(inverses.chunks_mut(rows));
    let pieces = out
        .chunks_mut(rows * width)
        .zip(x.chunks(rows * width))
        .zip(statistics);
    let pieces: Vec<_> = pieces.collect();
    parallel::run_tasks(pieces, threads, |((out, x), (means, inverses))| {
        normalise_block(rule, x, [out, means, inverses]);
    });
}

/// Normalises a block of rows.
#[vectorized]
fn normalise_block<S: Simd, T: Float>(
    simd: S,
    rule: NormRule<'_, T>,
    x: &[T],
    [out, means, inverses]: [&mut [T]; 3],
) {
    let width = rule.weight.len();
    let rows = x.chunks(width).zip(out.chunks_mut(width));
    let statistics = means.iter_mut().zip(inverses);
    for ((x, out), (mean, inverse)) in rows.zip(statistics) {
        (*mean, *inverse) = mean_and_inverse(simd, x, rule.bias.is_some(), rule.epsilon);
        let (mean, inverse) = (*mean, *inverse);
        let columns = out.iter_mut().zip(x).zip(rule.weight);
        match rule.bias {
            None => columns.for_each(|((out, &x), &weight)| *out = x * inverse * weight),
            Some(bias) => columns.zip(bias).for_each(|(((out, &x), &weight), &bias)| {
                *out = (x - mean) * inverse * weight + bias;
            }),
        }
    }
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "no row has 2^53 numbers")]
fn column_count<T: Float>(width: usize) -> T {
    T::from_f64(width as f64)
}

/// Returns the mean of a row (0 for RMS norm), and the inverse of the standard
/// deviation.
#[inline(always)]
fn mean_and_inverse<S: Simd, T: Float>(simd: S, x: &[T], centred: bool, epsilon: f64) -> (T, T) {
    let count = column_count(x.len());
    let mean = if centred {
        sum_pairs(simd, x, x, |x, _| x) / count
    } else {
        T::ZERO
    };
    let center = Lanes::splat(simd, mean);
    let square = sum_pairs(simd, x, x, |x, _| (x - center) * (x - center));
    let variance = (square / count).to_f64();
    (mean, T::from_f64((variance + epsilon).sqrt().recip()))
}

/// Returns the sum of the function's values for the elements of two rows.
#[inline(always)]
fn sum_pairs<S: Simd, T: Float>(
    simd: S,
    x: &[T],
    y: &[T],
    function: impl Fn(Lanes<S, T>, Lanes<S, T>) -> Lanes<S, T>,
) -> T {
    let ((x, x_rest), (y, y_rest)) = (T::split::<S>(x), T::split::<S>(y));
    let mut totals = [Lanes::splat(simd, T::ZERO); 2];
    for (&x, &y) in x.iter().zip(y) {
        let [first, second] = totals;
        totals = [
            second,
            first + function(Lanes::new(simd, x), Lanes::new(simd, y)),
        ];
    }
    let rest = Lanes::load_part(simd, x_rest);
    let mut last = [T::ZERO; 16];
    let last = &mut last[..x_rest.len()];
    function(rest, Lanes::load_part(simd, y_rest)).store_part(last);
    (totals[0] + totals[1]).sum() + last.iter().copied().sum()
}

/// The values of the forward pass that the gradient needs, and the gradient of the
/// output.
#[derive(Clone, Copy, Debug)]
pub struct NormBackwardInputs<'a, T> {
    /// The gradient of the output.
    pub grad: &'a [T],
    /// The input of the forward pass.
    pub x: &'a [T],
    /// The means of the rows; `None` for RMS norm.
    pub means: Option<&'a [T]>,
    /// The inverses of the standard deviations of the rows.
    pub inverses: &'a [T],
}

/// Fills the gradients of the input, the weight and the bias. Sums over rows are added
/// in tiles that do not depend on the number of threads.
#[compiled_once]
pub fn normalise_grad<T: Float>(
    weight: &[T],
    inputs: NormBackwardInputs<'_, T>,
    outs: [&mut [T]; 3],
    threads: usize,
) {
    let [out, by_weight, by_bias] = outs;
    let width = weight.len();
    let rows = inputs.inverses.len();
    let tile = rows
        .div_ceil(tuned::NORM_GRAD_MAX_TILES)
        .max(tuned::NORM_GRAD_MIN_ROWS);
    let tiles = rows.div_ceil(tile);
    let mut sums = vec![T::ZERO; tiles * 2 * width];
    let sizes = (tile * width, 2 * width);
    parallel::fill_pairs((out, &mut sums), sizes, threads, |number, out, sums| {
        let (by_weight, by_bias) = sums.split_at_mut(width);
        normalise_grad_block(weight, inputs, number * tile, [out, by_weight, by_bias]);
    });
    by_weight.fill(T::ZERO);
    by_bias.fill(T::ZERO);
    for sums in sums.chunks(2 * width) {
        let (weights, biases) = sums.split_at(width);
        for (totals, sums) in [(&mut *by_weight, weights), (&mut *by_bias, biases)] {
            let pairs = totals.iter_mut().zip(sums);
            pairs.for_each(|(total, &sum)| *total += sum);
        }
    }
}

/// Fills the gradients of a block of rows, starting with row `first`.
#[vectorized]
fn normalise_grad_block<S: Simd, T: Float>(
    simd: S,
    weight: &[T],
    inputs: NormBackwardInputs<'_, T>,
    first: usize,
    [out, by_weight, by_bias]: [&mut [T]; 3],
) {
    let width = weight.len();
    let (grad, x) = (&inputs.grad[first * width..], &inputs.x[first * width..]);
    let rows = grad.chunks(width).zip(x.chunks(width));
    for (row, ((grad, x), out)) in (first..).zip(rows.zip(out.chunks_mut(width))) {
        let inverse = inputs.inverses[row];
        let mean = inputs.means.map_or(T::ZERO, |means| means[row]);
        let share = |sum: T| sum / column_count(width);
        for ((out, &grad), &weight) in out.iter_mut().zip(grad).zip(weight) {
            *out = grad * weight;
        }
        let level = inputs
            .means
            .map(|_| share(sum_pairs(simd, out, x, |grad, _| grad)));
        let level = level.unwrap_or(T::ZERO);
        let center = Lanes::splat(simd, mean);
        let slope = share(sum_pairs(simd, out, x, |grad, x| grad * (x - center))) * inverse;
        let sums = by_weight.iter_mut().zip(&mut *by_bias);
        let columns = out.iter_mut().zip(grad).zip(x);
        for (((out, &grad), &x), (by_weight, by_bias)) in columns.zip(sums) {
            let normal = (x - mean) * inverse;
            *out = (*out - level - normal * slope) * inverse;
            *by_weight += grad * normal;
            *by_bias += grad;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    fn test_rows(count: u16, width: usize) -> Vec<f64> {
        (0..count)
            .map(|i| f64::from(i % 13) * 0.7 + f64::from(i % 7))
            .take(count as usize / width * width)
            .collect()
    }

    #[test]
    fn a_row_has_mean_0_and_deviation_1() {
        run_on_every_machine(|_| {
            for width in [3_u8, 8, 33, 40] {
                let (count, width) = (f64::from(width), usize::from(width));
                let x = test_rows(400, width);
                let (mut out, mut mean, mut inverse) = (
                    x.clone(),
                    vec![0.0; x.len() / width],
                    vec![0.0; x.len() / width],
                );
                let (weight, bias) = (vec![1.0; width], vec![0.0; width]);
                let rule = NormRule {
                    weight: &weight,
                    bias: Some(&bias),
                    epsilon: 0.0,
                };
                normalise(rule, &x, [&mut out, &mut mean, &mut inverse], 1);
                for row in out.chunks(width) {
                    assert!((row.iter().sum::<f64>() / count).abs() < 1e-12);
                    assert!((row.iter().map(|x| x * x).sum::<f64>() / count - 1.0).abs() < 1e-12);
                }
            }
        });
    }

    #[test]
    fn sums_over_rows_do_not_depend_on_the_number_of_threads() {
        let x: Vec<f32> = test_rows(40_000, 40)
            .into_iter()
            .map(f32::from_f64)
            .collect();
        let weight = vec![1.5; 40];
        let inverses = vec![0.3; 1000];
        let inputs = NormBackwardInputs {
            grad: &x,
            x: &x,
            means: None,
            inverses: &inverses,
        };
        let grads = |threads| {
            let (mut out, mut by_weight, mut by_bias) = (x.clone(), vec![0.0; 40], vec![0.0; 40]);
            normalise_grad(
                &weight,
                inputs,
                [&mut out, &mut by_weight, &mut by_bias],
                threads,
            );
            (out, by_weight, by_bias)
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        assert_eq!(grads(1), pool.install(|| grads(3)));
    }
}
