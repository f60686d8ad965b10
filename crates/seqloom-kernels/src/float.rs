//! The float types of a kernel: their vectors and operations.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use bytemuck::Pod;
use pulp::Simd;

/// A float type, `f32` or `f64`. Kernels are generic over the trait `Float`.
pub trait Float:
    Pod
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + std::iter::Sum
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Minus infinity.
    const NEG_INF: Self;
    /// A large number. Adding this constant to a float rounds the float to an integer,
    /// and stores this integer in the lowest bits of the sum.
    const ROUNDING_OFFSET: Self;
    /// The range of arguments outside which the exponential is 0 or infinite.
    const EXP_RANGE: (Self, Self);
    /// The natural logarithm of 2 as a sum of two numbers; the first has few
    /// significant bits.
    const LN_2: (Self, Self);
    /// `1 / n!` for the Taylor series of exp, highest order first, down to the linear
    /// term.
    const EXP_TERMS: &'static [Self];

    /// The coefficients of a polynomial for 2^x with x between -0.5 and 0.5, highest
    /// power first.
    const EXP2_TERMS: &'static [Self];
    /// The exponent below which 2^x is 0.
    const EXP2_MIN_EXPONENT: Self;

    /// A register of floats.
    type Vector<S: Simd>: Pod + Debug + Send + Sync;
    /// The result of a comparison, lane by lane.
    type Mask<S: Simd>: Copy;

    /// Calls the instance of a generic function for this float type.
    fn call<I: Instances>(arguments: I::Arguments<'_, Self>) -> I::Output;

    /// Converts an `f64`, with rounding.
    fn from_f64(value: f64) -> Self;
    /// Converts the value to an `f64`.
    fn to_f64(self) -> f64;
    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Returns true if the value is NaN.
    fn is_nan(self) -> bool;

    /// Splits a slice into whole vectors and the remaining elements.
    fn split<S: Simd>(slice: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    /// Splits a mutable slice into whole vectors and the remaining elements.
    fn split_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// Loads the floats of a slice that is shorter than a vector; the remaining lanes
    /// are 0.
    fn load_part<S: Simd>(simd: S, slice: &[Self]) -> Self::Vector<S>;
    /// Stores the first lanes of a vector, one for each element of `slice`.
    fn store_part<S: Simd>(simd: S, slice: &mut [Self], vector: Self::Vector<S>);
    /// Returns a vector with the same float in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// Returns `a + b`, lane by lane.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns `a - b`, lane by lane.
    fn sub<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns `a * b`, lane by lane.
    fn mul<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns `a / b`, lane by lane.
    fn div<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns `a * b + c`, lane by lane, with one rounding if the processor supports
    /// it.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// Returns the absolute value, lane by lane.
    fn abs<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns the square root, lane by lane.
    fn sqrt<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns the maximum of two vectors, lane by lane.
    fn max<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Returns `a < b`, lane by lane.
    fn less_than<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S>;
    /// Returns true if `a < b` in any lane.
    fn is_any_less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> bool;
    /// Returns `a` where the mask is true and `b` elsewhere, lane by lane.
    fn select<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// Returns the sum of the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    /// Returns the largest lane.
    fn greatest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;

    /// Returns `value * 2^n`, where `rounded` is `n + ROUNDING_OFFSET` and the product is a
    /// normal float.
    fn scale<S: Simd>(value: Self::Vector<S>, rounded: Self::Vector<S>) -> Self::Vector<S>;
    /// Calls `work` with uninitialised scratch memory of this thread.
    fn with_scratch<R>(length: usize, work: impl FnOnce(&mut [Self]) -> R) -> R;
    /// Returns the probability that a standard normal variable is at most `a`. The
    /// argument `bell` must be `exp(-a^2 / 2)`.
    fn normal_cdf<S: Simd>(simd: S, a: Self::Vector<S>, bell: Self::Vector<S>) -> Self::Vector<S>;
}

/// A function that is compiled for both float types. The attribute `compiled_once`
/// implements this trait.
pub trait Instances {
    /// The arguments of the function.
    type Arguments<'a, T: Float>;
    /// The return type of the function.
    type Output;
    /// Calls the function for `f32`.
    fn call_f32(arguments: Self::Arguments<'_, f32>) -> Self::Output;
    /// Calls the function for `f64`.
    fn call_f64(arguments: Self::Arguments<'_, f64>) -> Self::Output;
}
