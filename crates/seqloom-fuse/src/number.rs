//! What a program needs to know of the floats that it computes in.

use std::ops::Neg;

use bytemuck::Pod;
use pulp::Simd;
use seqloom_kernels::Float;
use seqloom_kernels::lanes::Lanes;

/// `f32` or `f64`: what a program computes in.
pub trait Number: Float + Neg<Output = Self> {
    /// The atanh series of the logarithm, highest first: `2 / 3` is last.
    const LN_TERMS: &'static [Self];
    /// The least number whose mantissa has all its bits.
    const LEAST_NORMAL: Self;

    /// From a single float.
    fn from_f32(value: f32) -> Self;
    /// From an integer, rounded.
    fn from_i64(value: i64) -> Self;
    /// To an integer, cut off.
    fn to_i64(self) -> i64;
    /// The numbers themselves, where they are of this type.
    fn same<N: Pod>(numbers: &[N]) -> Option<&[Self]>;
    /// The numbers themselves, to be written, where they are of this type.
    fn same_mut<N: Pod>(numbers: &mut [N]) -> Option<&mut [Self]>;

    /// The magnitude.
    #[must_use]
    fn magnitude(self) -> Self;
    /// The square root.
    #[must_use]
    fn root(self) -> Self;
    /// The nearest integer below.
    #[must_use]
    fn floored(self) -> Self;
    /// The nearest integer above.
    #[must_use]
    fn ceiled(self) -> Self;
    /// The nearest integer, the even one of two.
    #[must_use]
    fn rounded(self) -> Self;
    /// `self` to this power.
    #[must_use]
    fn to_power(self, power: Self) -> Self;
    /// The sine.
    #[must_use]
    fn sine(self) -> Self;
    /// The cosine.
    #[must_use]
    fn cosine(self) -> Self;
    /// The angle of the point (x, self).
    #[must_use]
    fn angle(self, x: Self) -> Self;
    /// What remains of a division, with the divisor's sign.
    #[must_use]
    fn modulo(self, divisor: Self) -> Self;

    /// Mantissas from 0.71 to 1.41, and exponents, of normal positive numbers.
    fn mantissa<S: Simd>(x: Self::Vector<S>) -> (Self::Vector<S>, Self::Vector<S>);
    /// The error function, lane by lane.
    fn erf<S: Simd>(x: Lanes<S, Self>) -> Lanes<S, Self>;
}
