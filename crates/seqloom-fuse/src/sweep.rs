//! One operation over one block, with the widest registers of this machine.

use pulp::{Simd, WithSimd};
use seqloom_kernels::lanes::Lanes;
use seqloom_kernels::machine;

use crate::Number;

/// A function of so many vectors.
pub(crate) trait OfLanes<T: Number, const N: usize>: Copy {
    fn of<S: Simd>(self, args: [Lanes<S, T>; N]) -> Lanes<S, T>;
}

/// Fills `out` with a function of numbers, which the compiler makes vectors of.
#[inline]
pub(crate) fn numbers<T: Number, const N: usize>(
    function: impl Fn([T; N]) -> T,
    args: [&[T]; N],
    out: &mut [T],
) {
    machine::dispatch(EachNumber {
        function,
        args,
        out,
    });
}

/// Fills `out` with a function of vectors.
#[inline]
pub(crate) fn lanes<T: Number, const N: usize>(
    function: impl OfLanes<T, N>,
    args: [&[T]; N],
    out: &mut [T],
) {
    machine::dispatch(EachLanes {
        function,
        args,
        out,
    });
}

/// Fills `out` with one number.
pub(crate) fn fill<T: Number>(number: T, out: &mut [T]) {
    machine::dispatch(Fill { number, out });
}

struct Fill<'a, T> {
    number: T,
    out: &'a mut [T],
}

impl<T: Number> WithSimd for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.out.fill(self.number);
    }
}

struct EachNumber<'a, T, F, const N: usize> {
    function: F,
    args: [&'a [T]; N],
    out: &'a mut [T],
}

impl<T: Number, F: Fn([T; N]) -> T, const N: usize> WithSimd for EachNumber<'_, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let length = self.out.len();
        let args = self.args.map(|arg| &arg[..length]);
        for (index, out) in self.out.iter_mut().enumerate() {
            *out = (self.function)(args.map(|arg| arg[index]));
        }
    }
}

struct EachLanes<'a, T, F, const N: usize> {
    function: F,
    args: [&'a [T]; N],
    out: &'a mut [T],
}

impl<T: Number, F: OfLanes<T, N>, const N: usize> WithSimd for EachLanes<'_, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let length = self.out.len();
        let args = self.args.map(|arg| T::split::<S>(&arg[..length]));
        let (out, out_rest) = T::split_mut::<S>(self.out);
        let whole = out.len();
        let vectors = args.map(|(vectors, _)| &vectors[..whole]);
        for (index, out) in out.iter_mut().enumerate() {
            let of = vectors.map(|vectors| Lanes::new(simd, vectors[index]));
            *out = self.function.of(of).vector;
        }
        if !out_rest.is_empty() {
            let of = args.map(|(_, rest)| Lanes::load_part(simd, rest));
            self.function.of(of).store_part(out_rest);
        }
    }
}
