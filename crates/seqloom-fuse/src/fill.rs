//! Runs one operation on one block, with the widest SIMD registers of this processor.

use pulp::Simd;
use seqloom_kernels::{lanes::Lanes, machine::dispatch};
use seqloom_macros::vectorized;

use crate::Number;

/// A function of `N` SIMD vectors.
pub(crate) trait LanesFunction<T: Number, const N: usize>: Copy {
    fn apply<S: Simd>(self, args: [Lanes<S, T>; N]) -> Lanes<S, T>;
}

/// Fills `out` with a scalar function, which the compiler vectorises.
#[vectorized]
pub(crate) fn fill_scalar<T: Number, F: Fn([T; N]) -> T, const N: usize>(
    function: F,
    args: [&[T]; N],
    out: &mut [T],
) {
    let length = out.len();
    let args = args.map(|arg| &arg[..length]);
    for (index, out) in out.iter_mut().enumerate() {
        *out = function(args.map(|arg| arg[index]));
    }
}

/// Fills `out` with a function of SIMD vectors.
#[vectorized]
pub(crate) fn fill_vectorized<S: Simd, T: Number, F: LanesFunction<T, N>, const N: usize>(
    simd: S,
    function: F,
    args: [&[T]; N],
    out: &mut [T],
) {
    let length = out.len();
    let args = args.map(|arg| T::split::<S>(&arg[..length]));
    let (out, out_rest) = T::split_mut::<S>(out);
    let whole = out.len();
    let vectors = args.map(|(vectors, _)| &vectors[..whole]);
    for (index, out) in out.iter_mut().enumerate() {
        let of = vectors.map(|vectors| Lanes::new(simd, vectors[index]));
        *out = function.apply(of).vector;
    }
    if !out_rest.is_empty() {
        let of = args.map(|(_, rest)| Lanes::load_part(simd, rest));
        function.apply(of).store_part(out_rest);
    }
}

/// Fills `out` with one number.
#[vectorized]
pub(crate) fn fill_constant<T: Number>(number: T, out: &mut [T]) {
    out.fill(number);
}
