//! Softmax and log-softmax over the rows of a matrix.

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use crate::{Float, Instances, lanes::Lanes, machine::dispatch, parallel, special};

/// Fills `out` with the softmax of each row of `width` scores.
#[compiled_once]
pub fn softmax<T: Float>(x: &[T], width: usize, out: &mut [T], threads: usize) {
    map_rows(x, width, out, threads, softmax_row);
}

/// Fills `out` with the log-softmax of each row of `width` scores.
#[compiled_once]
pub fn log_softmax<T: Float>(x: &[T], width: usize, out: &mut [T], threads: usize) {
    map_rows(x, width, out, threads, log_softmax_row);
}

/// Fills `out` with the input gradient of softmax, computed from the softmax output y:
/// `y * (grad - sum(grad * y))`.
#[compiled_once]
pub fn softmax_grad<T: Float>(grad: &[T], y: &[T], width: usize, out: &mut [T], threads: usize) {
    map_row_pairs((grad, y), width, out, threads, softmax_grad_row);
}

/// Fills `out` with the input gradient of log-softmax, computed from the log-softmax
/// output y: `grad - exp(y) * sum(grad)`.
#[compiled_once]
pub fn log_softmax_grad<T: Float>(
    grad: &[T],
    y: &[T],
    width: usize,
    out: &mut [T],
    threads: usize,
) {
    map_row_pairs((grad, y), width, out, threads, log_softmax_grad_row);
}

/// Fills `out` with the logarithm of the sum of exponentials of each row.
#[compiled_once]
pub fn logsumexp<T: Float>(x: &[T], width: usize, out: &mut [T], threads: usize) {
    let rows = parallel::rows_per_chunk(width);
    parallel::fill_chunks(out, rows, threads, |number, out| {
        let x = &x[number * rows * width..][..out.len() * width];
        for (x, out) in x.chunks(width.max(1)).zip(out) {
            *out = logsumexp_row(x);
        }
    });
}

fn map_row_pairs<T: Float>(
    (grad, y): (&[T], &[T]),
    width: usize,
    out: &mut [T],
    threads: usize,
    fill: impl Fn(&[T], &[T], &mut [T]) + Sync,
) {
    let width = width.max(1);
    let size = parallel::rows_per_chunk(width) * width;
    parallel::fill_chunks(out, size, threads, |number, out| {
        let start = number * size;
        let (grad, y) = (&grad[start..][..out.len()], &y[start..][..out.len()]);
        let pairs = grad.chunks(width).zip(y.chunks(width));
        pairs
            .zip(out.chunks_mut(width))
            .for_each(|((grad, y), out)| fill(grad, y, out));
    });
}

fn map_rows<T: Float>(
    x: &[T],
    width: usize,
    out: &mut [T],
    threads: usize,
    fill: impl Fn(&[T], &mut [T]) + Sync,
) {
    let width = width.max(1);
    let size = parallel::rows_per_chunk(width) * width;
    parallel::fill_chunks(out, size, threads, |number, out| {
        let x = &x[number * size..][..out.len()];
        x.chunks(width)
            .zip(out.chunks_mut(width))
            .for_each(|(x, out)| fill(x, out));
    });
}

#[vectorized]
fn softmax_row<S: Simd, T: Float>(simd: S, x: &[T], out: &mut [T]) {
    let total = row_exponentials(simd, x, out).1;
    for value in out {
        *value = *value / total;
    }
}

#[vectorized]
fn log_softmax_row<S: Simd, T: Float>(simd: S, x: &[T], out: &mut [T]) {
    let (highest, total) = row_exponentials(simd, x, out);
    let logarithm = total.ln();
    for (&x, out) in x.iter().zip(out) {
        *out = x - highest - logarithm;
    }
}

#[vectorized]
fn softmax_grad_row<S: Simd, T: Float>(simd: S, grad: &[T], y: &[T], out: &mut [T]) {
    let mean = dot_product(simd, grad, y);
    for ((out, &grad), &y) in out.iter_mut().zip(grad).zip(y) {
        *out = y * (grad - mean);
    }
}

#[vectorized]
fn log_softmax_grad_row<S: Simd, T: Float>(simd: S, grad: &[T], y: &[T], out: &mut [T]) {
    let (grads, rest) = T::split::<S>(grad);
    let mut total = Lanes::splat(simd, T::ZERO);
    for &grad in grads {
        total = total + Lanes::new(simd, grad);
    }
    let total = Lanes::splat(simd, total.sum() + rest.iter().copied().sum());
    let (ys, y_rest) = T::split::<S>(y);
    let (outs, out_rest) = T::split_mut::<S>(out);
    for ((out, &grad), &y) in outs.iter_mut().zip(grads).zip(ys) {
        let (grad, y) = (Lanes::new(simd, grad), Lanes::new(simd, y));
        *out = log_softmax_gradient(grad, y, total).vector;
    }
    let (grad, y) = (Lanes::load_part(simd, rest), Lanes::load_part(simd, y_rest));
    log_softmax_gradient(grad, y, total).store_part(out_rest);
}

/// Returns the gradient of log-softmax for one register. A closure is not used, because
/// a closure that is not inlined would call a function for each vector instruction.
#[inline(always)]
fn log_softmax_gradient<S: Simd, T: Float>(
    grad: Lanes<S, T>,
    y: Lanes<S, T>,
    total: Lanes<S, T>,
) -> Lanes<S, T> {
    grad - special::exp(y) * total
}

#[vectorized]
fn logsumexp_row<S: Simd, T: Float>(simd: S, x: &[T]) -> T {
    let highest = row_maximum(simd, x);
    let infinite = highest == T::NEG_INF || highest == T::ZERO - T::NEG_INF;
    let center = if infinite { T::ZERO } else { highest };
    let shift = Lanes::splat(simd, center);
    let (vectors, rest) = T::split::<S>(x);
    let mut total = Lanes::splat(simd, T::ZERO);
    for &x in vectors {
        total = total + special::exp(Lanes::new(simd, x) - shift);
    }
    let mut last = [T::ZERO; 16];
    let last = &mut last[..rest.len()];
    special::exp(Lanes::load_part(simd, rest) - shift).store_part(last);
    center + (total.sum() + last.iter().copied().sum()).ln()
}

/// Returns the dot product of two rows.
#[inline(always)]
pub(crate) fn dot_product<S: Simd, T: Float>(simd: S, a: &[T], b: &[T]) -> T {
    let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
    let mut total = Lanes::splat(simd, T::ZERO);
    for (&a, &b) in a.iter().zip(b) {
        total = Lanes::new(simd, a).mul_add(Lanes::new(simd, b), total);
    }
    total.sum() + a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum()
}

/// Fills a row with `exp(x - highest)`. Returns the highest score, and the sum of the
/// exponentials.
#[inline(always)]
pub(crate) fn row_exponentials<S: Simd, T: Float>(simd: S, x: &[T], out: &mut [T]) -> (T, T) {
    let highest = row_maximum(simd, x);
    let shift = Lanes::splat(simd, highest);
    let (vectors, rest) = T::split::<S>(x);
    let (out_vectors, out_rest) = T::split_mut::<S>(out);
    let mut total = Lanes::splat(simd, T::ZERO);
    for (&x, out) in vectors.iter().zip(out_vectors) {
        let value = special::exp(Lanes::new(simd, x) - shift);
        *out = value.vector;
        total = total + value;
    }
    special::exp(Lanes::load_part(simd, rest) - shift).store_part(out_rest);
    (highest, total.sum() + out_rest.iter().copied().sum())
}

#[inline(always)]
pub(crate) fn row_maximum<S: Simd, T: Float>(simd: S, x: &[T]) -> T {
    let (vectors, rest) = T::split::<S>(x);
    let mut highest = Lanes::splat(simd, T::NEG_INF);
    for &x in vectors {
        highest = highest.max(Lanes::new(simd, x));
    }
    rest.iter().fold(
        highest.greatest(),
        |highest, &x| if x > highest { x } else { highest },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    #[test]
    fn the_logarithm_of_softmax_is_log_softmax() {
        run_on_every_machine(|_| {
            for width in 1..40_u8 {
                let x: Vec<f64> = (0..width).map(|i| f64::from(i % 7) * 1.7 - 3.0).collect();
                let (mut out, mut logarithms) = (x.clone(), x.clone());
                softmax(&x, x.len(), &mut out, 1);
                log_softmax(&x, x.len(), &mut logarithms, 1);
                let total: f64 = out.iter().sum();
                assert!((total - 1.0).abs() < 1e-14);
                for (value, logarithm) in out.iter().zip(&logarithms) {
                    assert!((value.ln() - logarithm).abs() < 1e-14);
                }
            }
        });
    }
}
