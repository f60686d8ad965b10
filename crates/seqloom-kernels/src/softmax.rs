//! Softmax and its logarithm over the rows of a matrix.

use pulp::{Simd, WithSimd};

use crate::{Float, lanes::Lanes, machine, parallel, special};

/// Fills every row of `width` numbers with the probabilities that its scores stand for.
pub fn softmax<T: Float>(x: &[T], width: usize, out: &mut [T], threads: usize) {
    rows(x, width, out, threads, |x, out| {
        machine::dispatch(Softmax { x, out });
    });
}

/// Fills every row of `width` numbers with the logarithms of those probabilities.
pub fn log_softmax<T: Float>(x: &[T], width: usize, out: &mut [T], threads: usize) {
    rows(x, width, out, threads, |x, out| {
        machine::dispatch(LogSoftmax { x, out });
    });
}

fn rows<T: Float>(
    x: &[T],
    width: usize,
    out: &mut [T],
    threads: usize,
    fill: impl Fn(&[T], &mut [T]) + Sync,
) {
    let width = width.max(1);
    let size = parallel::rows_per_chunk(width) * width;
    parallel::chunks(out, size, threads, |number, out| {
        let x = &x[number * size..][..out.len()];
        x.chunks(width)
            .zip(out.chunks_mut(width))
            .for_each(|(x, out)| fill(x, out));
    });
}

struct Softmax<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> WithSimd for Softmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let total = exponentials(simd, self.x, self.out).1;
        self.out
            .iter_mut()
            .for_each(|value| *value = *value / total);
    }
}

struct LogSoftmax<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> WithSimd for LogSoftmax<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (highest, total) = exponentials(simd, self.x, self.out);
        let logarithm = total.ln();
        for (&x, out) in self.x.iter().zip(self.out) {
            *out = x - highest - logarithm;
        }
    }
}

/// Fills a row with `exp(x - highest)`; gives the highest score and the row's sum.
#[inline(always)]
pub(crate) fn exponentials<S: Simd, T: Float>(simd: S, x: &[T], out: &mut [T]) -> (T, T) {
    let highest = highest(simd, x);
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
fn highest<S: Simd, T: Float>(simd: S, x: &[T]) -> T {
    let (vectors, rest) = T::split::<S>(x);
    let mut highest = Lanes::splat(simd, T::LOWEST);
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
    use crate::machine::tests::on_every_machine;

    #[test]
    fn the_logarithm_of_softmax_is_log_softmax() {
        on_every_machine(|_| {
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
