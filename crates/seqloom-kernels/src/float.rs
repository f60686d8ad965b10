//! What a kernel needs to know of a float: its vectors, and how to work on them.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use bytemuck::Pod;
use paste::paste;
use pulp::Simd;

use crate::scratch::Spare;

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
    /// Adding it rounds to a whole number, which then stands in the lowest bits.
    const ROUNDER: Self;
    /// Beyond these two the exponential is zero or infinite.
    const EXP_RANGE: (Self, Self);
    /// The natural logarithm of two in two parts, the first with few bits.
    const LN_2: (Self, Self);
    /// `1 / n!`, highest first, down to and with the linear term.
    const EXP_TERMS: &'static [Self];

    /// As many floats as one register holds.
    type Vector<S: Simd>: Pod + Debug + Send + Sync;
    /// The truth of a comparison, lane by lane.
    type Mask<S: Simd>: Copy;

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

macro_rules! float {
    ($float:ident, $bits:ident, $mask:ident, $mantissa:literal, $($constants:tt)*) => {
        paste! {
            impl Float for $float {
                const ZERO: Self = 0.0;
                const ONE: Self = 1.0;
                const LOWEST: Self = Self::NEG_INFINITY;
                $($constants)*

                type Vector<S: Simd> = S::[<$float s>];
                type Mask<S: Simd> = S::[<$mask s>];

                #[inline(always)]
                fn wide(self) -> f64 {
                    f64::from(self)
                }

                #[inline(always)]
                fn ln(self) -> Self {
                    self.ln()
                }

                #[inline(always)]
                fn is_nan(self) -> bool {
                    self.is_nan()
                }

                #[inline(always)]
                fn split<S: Simd>(slice: &[Self]) -> (&[Self::Vector<S>], &[Self]) {
                    S::[<as_simd_ $float s>](slice)
                }

                #[inline(always)]
                fn split_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]) {
                    S::[<as_mut_simd_ $float s>](slice)
                }

                #[inline(always)]
                fn load_part<S: Simd>(simd: S, slice: &[Self]) -> Self::Vector<S> {
                    simd.[<partial_load_ $float s>](slice)
                }

                #[inline(always)]
                fn store_part<S: Simd>(simd: S, slice: &mut [Self], vector: Self::Vector<S>) {
                    simd.[<partial_store_ $float s>](slice, vector);
                }

                #[inline(always)]
                fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S> {
                    simd.[<splat_ $float s>](value)
                }

                float!(@binary $float, add, sub, mul, div, max);
                float!(@unary $float, abs, sqrt);

                #[inline(always)]
                fn mul_add<S: Simd>(
                    simd: S,
                    a: Self::Vector<S>,
                    b: Self::Vector<S>,
                    c: Self::Vector<S>,
                ) -> Self::Vector<S> {
                    simd.[<mul_add_e_ $float s>](a, b, c)
                }

                #[inline(always)]
                fn less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S> {
                    simd.[<less_than_ $float s>](a, b)
                }

                #[inline(always)]
                fn select<S: Simd>(
                    simd: S,
                    mask: Self::Mask<S>,
                    a: Self::Vector<S>,
                    b: Self::Vector<S>,
                ) -> Self::Vector<S> {
                    simd.[<select_ $float s>](mask, a, b)
                }

                #[inline(always)]
                fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self {
                    simd.[<reduce_sum_ $float s>](a)
                }

                #[inline(always)]
                fn greatest<S: Simd>(simd: S, a: Self::Vector<S>) -> Self {
                    simd.[<reduce_max_ $float s>](a)
                }

                #[inline(always)]
                fn scale<S: Simd>(value: Self::Vector<S>, rounded: Self::Vector<S>) -> Self::Vector<S> {
                    let (mut value, rounded) = ([value], [rounded]);
                    let bits: &mut [$bits] = bytemuck::cast_slice_mut(&mut value);
                    for (bits, power) in bits.iter_mut().zip(bytemuck::cast_slice::<_, $bits>(&rounded)) {
                        *bits = bits.wrapping_add(power << $mantissa);
                    }
                    value[0]
                }

                fn with_scratch<R>(length: usize, work: impl FnOnce(&mut [Self]) -> R) -> R {
                    thread_local! {
                        static SPARE: Spare<$float> = const { Spare::new() };
                    }
                    SPARE.with(|spare| spare.lend(length, work))
                }

                #[inline(always)]
                fn normal<S: Simd>(
                    simd: S,
                    a: Self::Vector<S>,
                    bell: Self::Vector<S>,
                ) -> Self::Vector<S> {
                    crate::special::[<normal_ $float>](simd, a, bell)
                }
            }
        }
    };
    (@binary $float:ident, $($name:ident),*) => {
        paste! { $(
            #[inline(always)]
            fn $name<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.[<$name _ $float s>](a, b)
            }
        )* }
    };
    (@unary $float:ident, $($name:ident),*) => {
        paste! { $(
            #[inline(always)]
            fn $name<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S> {
                simd.[<$name _ $float s>](a)
            }
        )* }
    };
}

float! { f32, u32, m32, 23,
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
    fn of(value: f64) -> Self {
        value as Self
    }

    const ROUNDER: Self = 12_582_912.0;
    const EXP_RANGE: (Self, Self) = (-87.336_54, 88.722_83);
    const LN_2: (Self, Self) = (0.693_359_4, -2.121_944_4e-4);
    const EXP_TERMS: &'static [Self] = &[
        1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0,
    ];
}
float! { f64, u64, m64, 52,
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    const ROUNDER: Self = 6_755_399_441_055_744.0;
    const EXP_RANGE: (Self, Self) = (-708.396_418_532_264_1, 709.782_712_893_384);
    const LN_2: (Self, Self) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
    const EXP_TERMS: &'static [Self] = &[
        1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
        1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
        1.0 / 6.0, 0.5, 1.0,
    ];
}
