//! Unary and binary functions over whole slices.

use pulp::Simd;
use seqloom_macros::vectorized;

use crate::{Float, lanes::Lanes, machine::dispatch, parallel, tuned};

/// A function of one value.
pub(crate) trait UnaryOp<T: Float>: Copy + Sync {
    fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T>;
}

/// A function of two values.
pub(crate) trait BinaryOp<T: Float>: Copy + Sync {
    fn apply<S: Simd>(self, x: Lanes<S, T>, y: Lanes<S, T>) -> Lanes<S, T>;
}

/// Fills `out` with the result of the function for each value of x.
pub(crate) fn map_unary<T: Float>(f: impl UnaryOp<T>, x: &[T], out: &mut [T], threads: usize) {
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        let x = &x[number * tuned::CHUNK_VALUES..][..out.len()];
        fill_unary(f, x, out);
    });
}

/// Replaces each value by the result of the function. Uses one thread.
#[vectorized]
pub(crate) fn map_in_place<S: Simd, T: Float, F: UnaryOp<T>>(simd: S, f: F, values: &mut [T]) {
    let (vectors, rest) = T::split_mut::<S>(values);
    for x in vectors {
        *x = f.apply(Lanes::new(simd, *x)).vector;
    }
    let last = f.apply(Lanes::load_part(simd, rest));
    last.store_part(rest);
}

/// Fills `out` with the result of the function for each pair of values.
pub(crate) fn map_binary<T: Float>(
    f: impl BinaryOp<T>,
    x: &[T],
    y: &[T],
    out: &mut [T],
    threads: usize,
) {
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        let start = number * tuned::CHUNK_VALUES;
        let (x, y) = (&x[start..][..out.len()], &y[start..][..out.len()]);
        fill_binary(f, (x, y), out);
    });
}

#[vectorized]
fn fill_unary<S: Simd, T: Float, F: UnaryOp<T>>(simd: S, f: F, x: &[T], out: &mut [T]) {
    let (x, x_rest) = T::split::<S>(x);
    let (out, out_rest) = T::split_mut::<S>(out);
    for (&x, out) in x.iter().zip(out) {
        *out = f.apply(Lanes::new(simd, x)).vector;
    }
    let rest = f.apply(Lanes::load_part(simd, x_rest));
    rest.store_part(out_rest);
}

#[vectorized]
fn fill_binary<S: Simd, T: Float, F: BinaryOp<T>>(
    simd: S,
    f: F,
    (x, y): (&[T], &[T]),
    out: &mut [T],
) {
    let (x, x_rest) = T::split::<S>(x);
    let (y, y_rest) = T::split::<S>(y);
    let (out, out_rest) = T::split_mut::<S>(out);
    for ((&x, &y), out) in x.iter().zip(y).zip(out) {
        let (x, y) = (Lanes::new(simd, x), Lanes::new(simd, y));
        *out = f.apply(x, y).vector;
    }
    let (x, y) = (
        Lanes::load_part(simd, x_rest),
        Lanes::load_part(simd, y_rest),
    );
    f.apply(x, y).store_part(out_rest);
}
