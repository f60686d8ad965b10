//! The trait `Float` for `f32` and `f64`.

use paste::paste;
use pulp::Simd;

use crate::{Float, Instances, scratch::ScratchBuffers};

macro_rules! impl_float {
    ($float:ident, $instance:ident, $bits:ident, $mask:ident, $mantissa:literal, $($constants:tt)*) => {
        paste! {
            impl Float for $float {
                const ZERO: Self = 0.0;
                const ONE: Self = 1.0;
                const NEG_INF: Self = Self::NEG_INFINITY;
                $($constants)*

                type Vector<S: Simd> = S::[<$float s>];
                type Mask<S: Simd> = S::[<$mask s>];

                #[inline]
                fn call<I: Instances>(arguments: I::Arguments<'_, Self>) -> I::Output {
                    I::$instance(arguments)
                }

                #[inline(always)]
                fn to_f64(self) -> f64 {
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

                impl_float!(@binary $float, add, sub, mul, div, max);
                impl_float!(@unary $float, abs, sqrt);

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
                fn less_than<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Mask<S> {
                    simd.[<less_than_ $float s>](a, b)
                }

                #[inline(always)]
                fn is_any_less<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> bool {
                    let lanes = size_of::<Self::Vector<S>>() / size_of::<Self>();
                    let less = simd.[<less_than_ $float s>](a, b);
                    simd.[<first_true_ $mask s>](less) < lanes
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
                        static SCRATCH: ScratchBuffers<$float> = const { ScratchBuffers::new() };
                    }
                    SCRATCH.with(|spare| spare.with_buffer(length, work))
                }

                #[inline(always)]
                fn normal_cdf<S: Simd>(
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

impl_float! { f32, call_f32, u32, m32, 23,
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "this function rounds")]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    const ROUNDING_OFFSET: Self = 12_582_912.0;
    const EXP_RANGE: (Self, Self) = (-87.336_54, 88.722_83);
    const LN_2: (Self, Self) = (0.693_359_4, -2.121_944_4e-4);
    const EXP_TERMS: &'static [Self] = &[
        1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0,
    ];
    const EXP2_TERMS: &'static [Self] = &[
        0.001_330_060_7, 0.009_669_691, 0.055_505_585, 0.240_222_83, std::f32::consts::LN_2, 1.0,
    ];
    const EXP2_MIN_EXPONENT: Self = -126.0;
}
impl_float! { f64, call_f64, u64, m64, 52,
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    const ROUNDING_OFFSET: Self = 6_755_399_441_055_744.0;
    const EXP_RANGE: (Self, Self) = (-708.396_418_532_264_1, 709.782_712_893_384);
    const LN_2: (Self, Self) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
    const EXP_TERMS: &'static [Self] = &[
        1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
        1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
        1.0 / 6.0, 0.5, 1.0,
    ];
    const EXP2_TERMS: &'static [Self] = &powers_of_ln_2();
    const EXP2_MIN_EXPONENT: Self = -1022.0;
}

/// Returns `ln(2)^n / n!` from n = 13 down to 0.
const fn powers_of_ln_2() -> [f64; 14] {
    let mut terms = [1.0; 14];
    let (mut position, mut n) = (13, 0.0);
    while position > 0 {
        n += 1.0;
        terms[position - 1] = terms[position] * std::f64::consts::LN_2 / n;
        position -= 1;
    }
    terms
}
