//! The float types of a program.

use std::ops::Neg;

use bytemuck::Pod;
use pulp::Simd;
use seqloom_kernels::{Float, lanes::Lanes};

/// `f32` or `f64`: the type in which a program computes.
pub trait Number: Float + Neg<Output = Self> {
    /// The coefficients of the atanh series of the logarithm, highest power first; the
    /// last coefficient is `2 / 3`.
    const LN_TERMS: &'static [Self];
    /// The smallest normal number.
    const MIN_NORMAL: Self;

    /// Converts a number from single precision.
    fn from_f32(value: f32) -> Self;
    /// Converts an integer to the nearest float.
    fn from_i64(value: i64) -> Self;
    /// Converts a float to an integer by truncation.
    fn to_i64(self) -> i64;
    /// Returns `numbers` as elements of this type, or `None` if they have another type.
    fn downcast_slice<N: Pod>(numbers: &[N]) -> Option<&[Self]>;
    /// Returns `numbers` as mutable elements of this type, or `None` if they have
    /// another type.
    fn downcast_slice_mut<N: Pod>(numbers: &mut [N]) -> Option<&mut [Self]>;

    /// Returns the absolute value.
    #[must_use]
    fn magnitude(self) -> Self;
    /// Returns the square root.
    #[must_use]
    fn root(self) -> Self;
    /// Returns the largest integer that is not greater than `self`.
    #[must_use]
    fn floored(self) -> Self;
    /// Returns the smallest integer that is not less than `self`.
    #[must_use]
    fn ceiled(self) -> Self;
    /// Returns the nearest integer; ties are rounded to the even integer.
    #[must_use]
    fn rounded(self) -> Self;
    /// Returns `self` raised to a power.
    #[must_use]
    fn to_power(self, power: Self) -> Self;
    /// Returns the sine.
    #[must_use]
    fn sine(self) -> Self;
    /// Returns the cosine.
    #[must_use]
    fn cosine(self) -> Self;
    /// Returns the angle of the point (x, `self`) in radians.
    #[must_use]
    fn angle(self, x: Self) -> Self;
    /// Returns the remainder of a division, with the sign of the divisor.
    #[must_use]
    fn modulo(self, divisor: Self) -> Self;

    /// Splits positive normal numbers into mantissas from 0.71 to 1.41 and exponents.
    fn mantissa<S: Simd>(x: Self::Vector<S>) -> (Self::Vector<S>, Self::Vector<S>);
    /// Returns the error function of each element.
    fn erf<S: Simd>(x: Lanes<S, Self>) -> Lanes<S, Self>;
}
