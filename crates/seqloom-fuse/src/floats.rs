//! The trait `Number` for `f32` and `f64`.

use bytemuck::Pod;
use pulp::Simd;
use seqloom_kernels::lanes::Lanes;

use crate::Number;

macro_rules! impl_number {
    ($float:ident, $bits:ident, $mantissa:literal, $middle:literal, $terms:expr, $erf:path) => {
        impl Number for $float {
            const LN_TERMS: &'static [Self] = $terms;
            const MIN_NORMAL: Self = Self::MIN_POSITIVE;

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                Self::from(value)
            }

            #[inline(always)]
            #[expect(clippy::cast_precision_loss, reason = "this function rounds")]
            fn from_i64(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            #[expect(clippy::cast_possible_truncation, reason = "this function truncates")]
            fn to_i64(self) -> i64 {
                self as i64
            }

            #[inline(always)]
            fn downcast_slice<N: Pod>(numbers: &[N]) -> Option<&[Self]> {
                let same = std::any::TypeId::of::<N>() == std::any::TypeId::of::<Self>();
                same.then(|| bytemuck::cast_slice(numbers))
            }

            #[inline(always)]
            fn downcast_slice_mut<N: Pod>(numbers: &mut [N]) -> Option<&mut [Self]> {
                let same = std::any::TypeId::of::<N>() == std::any::TypeId::of::<Self>();
                same.then(|| bytemuck::cast_slice_mut(numbers))
            }

            impl_number!(@unary magnitude abs, root sqrt, floored floor, ceiled ceil);
            impl_number!(@unary rounded round_ties_even, sine sin, cosine cos);
            impl_number!(@binary to_power powf, angle atan2);

            #[inline(always)]
            fn modulo(self, divisor: Self) -> Self {
                let rest = self % divisor;
                let other_side = rest != 0.0 && (rest < 0.0) != (divisor < 0.0);
                if other_side { rest + divisor } else { rest }
            }

            #[inline(always)]
            #[expect(clippy::cast_precision_loss, reason = "floats represent exponents exactly")]
            fn mantissa<S: Simd>(x: Self::Vector<S>) -> (Self::Vector<S>, Self::Vector<S>) {
                let (mut mantissas, mut exponents) = ([x], [x]);
                let from: &mut [$bits] = bytemuck::cast_slice_mut(&mut mantissas);
                let to: &mut [Self] = bytemuck::cast_slice_mut(&mut exponents);
                for (bits, exponent) in from.iter_mut().zip(to) {
                    let power = bits.wrapping_sub($middle) >> $mantissa;
                    *bits = bits.wrapping_sub(power << $mantissa);
                    *exponent = power as Self;
                }
                (mantissas[0], exponents[0])
            }

            #[inline(always)]
            fn erf<S: Simd>(x: Lanes<S, Self>) -> Lanes<S, Self> {
                $erf(x)
            }
        }
    };
    (@unary $($name:ident $theirs:ident),*) => {
        $(
            #[inline(always)]
            fn $name(self) -> Self {
                self.$theirs()
            }
        )*
    };
    (@binary $($name:ident $theirs:ident),*) => {
        $(
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                self.$theirs(other)
            }
        )*
    };
}

impl_number!(
    f32,
    i32,
    23,
    0x3f35_04f3,
    &[2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0],
    crate::math::erf_f32
);
impl_number!(
    f64,
    i64,
    52,
    0x3fe6_a09e_667f_3bcd,
    &[
        2.0 / 25.0,
        2.0 / 23.0,
        2.0 / 21.0,
        2.0 / 19.0,
        2.0 / 17.0,
        2.0 / 15.0,
        2.0 / 13.0,
        2.0 / 11.0,
        2.0 / 9.0,
        2.0 / 7.0,
        2.0 / 5.0,
        2.0 / 3.0,
    ],
    crate::math::erf_f64
);
