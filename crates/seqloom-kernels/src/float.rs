//! What a kernel needs to know of a float: its vectors, and how to work on them.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use bytemuck::Pod;
use pulp::Simd;

/// `f32` or `f64`: the numbers that a kernel is written for, once for both.
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
    const LOWEST: Self;
    /// Adding it rounds to an integer, which then stands in the lowest bits.
    const ROUNDER: Self;
    /// Beyond these two the exponential is zero or infinite.
    const EXP_RANGE: (Self, Self);
    /// The natural logarithm of two in two parts, the first with few bits.
    const LN_2: (Self, Self);
    /// `1 / n!`, highest first, down to and with the linear term.
    const EXP_TERMS: &'static [Self];

    /// The coefficients of two to the power of a number between -0.5 and 0.5, highest first.
    const EXP2_TERMS: &'static [Self];
    /// Below it two to a power is zero.
    const EXP2_LOWEST: Self;

    /// As many floats as one register holds.
    type Vector<S: Simd>: Pod + Debug + Send + Sync;
    /// The result of a comparison, lane by lane.
    type Mask<S: Simd>: Copy;

    /// Calls the instance of a function that is compiled for this type.
    fn call<I: Instances>(arguments: I::Arguments<'_, Self>) -> I::Output;

    /// Rounds a double to this type.
    fn of(value: f64) -> Self;
    /// Widens to a double.
    fn wide(self) -> f64;
    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Whether this is not a number.
    fn is_nan(self) -> bool;

    /// Cuts a slice into vectors and what remains.
    fn split<S: Simd>(slice: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    /// Cuts a slice into vectors to write and what remains.
    fn split_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// Loads fewer floats than a vector holds; the other lanes are zero.
    fn load_part<S: Simd>(simd: S, slice: &[Self]) -> Self::Vector<S>;
    /// Stores as many lanes as the slice is long.
    fn store_part<S: Simd>(simd: S, slice: &mut [Self], vector: Self::Vector<S>);
    /// The same float in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// Lane by lane, `a + b`.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, `a - b`.
    fn sub<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, `a * b`.
    fn mul<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, `a / b`.
    fn div<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, `a * b + c`, rounded once where the machine can.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// Lane by lane, the absolute value.
    fn abs<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, the square root.
    fn sqrt<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, the greater of two.
    fn max<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Lane by lane, whether `a < b`.
    fn less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S>;
    /// Whether `a < b` in any lane.
    fn is_any_less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> bool;
    /// Lane by lane, `a` where the mask is true, else `b`.
    fn select<S: Simd>(
        simd: S,
        mask: Self::Mask<S>,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// The sum of the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    /// The greatest lane.
    fn greatest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;

    /// `value * 2^n`, where `rounded` is `n + ROUNDER` and the product is normal.
    fn scale<S: Simd>(value: Self::Vector<S>, rounded: Self::Vector<S>) -> Self::Vector<S>;
    /// Calls `work` with this thread's scratch space, whose numbers are whatever they are.
    fn with_scratch<R>(length: usize, work: impl FnOnce(&mut [Self]) -> R) -> R;
    /// The probability that a standard normal variable is at most `a`, where `bell` is
    /// `exp(-a^2 / 2)`.
    fn normal<S: Simd>(simd: S, a: Self::Vector<S>, bell: Self::Vector<S>) -> Self::Vector<S>;
}

/// A function that is compiled for both types, as the attribute `compiled_once` writes it.
pub trait Instances {
    /// Its arguments.
    type Arguments<'a, T: Float>;
    /// What it returns.
    type Output;
    /// The function of single floats.
    fn single(arguments: Self::Arguments<'_, f32>) -> Self::Output;
    /// The function of double floats.
    fn double(arguments: Self::Arguments<'_, f64>) -> Self::Output;
}
