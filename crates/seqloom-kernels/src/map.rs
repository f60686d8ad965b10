//! Functions of one number or of two, over whole arrays.

use pulp::{Simd, WithSimd};

use crate::{Float, lanes::Lanes, machine, parallel};

/// A function of one number.
pub(crate) trait Unary<T: Float>: Copy + Sync {
    fn of<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T>;
}

/// A function of two numbers.
pub(crate) trait Binary<T: Float>: Copy + Sync {
    fn of<S: Simd>(self, x: Lanes<S, T>, y: Lanes<S, T>) -> Lanes<S, T>;
}

/// Fills `out` with the function's value at every x.
pub(crate) fn unary<T: Float>(function: impl Unary<T>, x: &[T], out: &mut [T], threads: usize) {
    parallel::chunks(out, parallel::CHUNK, threads, |number, out| {
        let x = &x[number * parallel::CHUNK..][..out.len()];
        machine::dispatch(OverOne { function, x, out });
    });
}

/// Fills `out` with the function's value at every pair.
pub(crate) fn binary<T: Float>(
    function: impl Binary<T>,
    x: &[T],
    y: &[T],
    out: &mut [T],
    threads: usize,
) {
    parallel::chunks(out, parallel::CHUNK, threads, |number, out| {
        let start = number * parallel::CHUNK;
        let (x, y) = (&x[start..][..out.len()], &y[start..][..out.len()]);
        machine::dispatch(OverTwo {
            function,
            x,
            y,
            out,
        });
    });
}

struct OverOne<'a, T, F> {
    function: F,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Float, F: Unary<T>> WithSimd for OverOne<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (x, x_rest) = T::split::<S>(self.x);
        let (out, out_rest) = T::split_mut::<S>(self.out);
        for (&x, out) in x.iter().zip(out) {
            *out = self.function.of(Lanes::new(simd, x)).vector;
        }
        let rest = self.function.of(Lanes::load_part(simd, x_rest));
        rest.store_part(out_rest);
    }
}

struct OverTwo<'a, T, F> {
    function: F,
    x: &'a [T],
    y: &'a [T],
    out: &'a mut [T],
}

impl<T: Float, F: Binary<T>> WithSimd for OverTwo<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (x, x_rest) = T::split::<S>(self.x);
        let (y, y_rest) = T::split::<S>(self.y);
        let (out, out_rest) = T::split_mut::<S>(self.out);
        for ((&x, &y), out) in x.iter().zip(y).zip(out) {
            *out = self
                .function
                .of(Lanes::new(simd, x), Lanes::new(simd, y))
                .vector;
        }
        let (x, y) = (
            Lanes::load_part(simd, x_rest),
            Lanes::load_part(simd, y_rest),
        );
        self.function.of(x, y).store_part(out_rest);
    }
}
