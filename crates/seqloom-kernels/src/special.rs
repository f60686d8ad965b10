//! The exponential and the normal distribution function, lane by lane.

use pulp::Simd;

use crate::{Float, lanes::Lanes};

/// The exponential, right to about one unit in the last place; results too small to be
/// normal are zero.
#[inline(always)]
pub(crate) fn exp<S: Simd, T: Float>(x: Lanes<S, T>) -> Lanes<S, T> {
    let rounder = x.like(T::ROUNDER);
    let rounded = x.mul_add(x.like(T::of(std::f64::consts::LOG2_E)), rounder);
    let power = rounder - rounded;
    let rest = power.mul_add(x.like(T::LN_2.0), x);
    let rest = power.mul_add(x.like(T::LN_2.1), rest);
    let one = x.like(T::ONE);
    let value = polynomial(rest, T::EXP_TERMS).mul_add(rest, one).scale(rounded);
    let (lowest, highest) = (x.like(T::EXP_RANGE.0), x.like(T::EXP_RANGE.1));
    let value = x.if_less(lowest, x.like(T::ZERO), value);
    // The infinity is made from x, so that a NaN, which is never less, stays one.
    x.if_less(highest, value, x + x.like(T::of(f64::INFINITY)))
}

/// The polynomial with these coefficients, highest first.
#[inline(always)]
pub(crate) fn polynomial<S: Simd, T: Float>(x: Lanes<S, T>, terms: &[T]) -> Lanes<S, T> {
    let mut value = x.like(terms[0]);
    for &term in &terms[1..] {
        value = value.mul_add(x, x.like(term));
    }
    value
}

/// Half the complementary error function of `-x / sqrt(2)`: two polynomials, one for the
/// middle and one for the logarithm of the tails, so that small probabilities are exact.
#[inline(always)]
pub(crate) fn normal_f32<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let x: Lanes<S, f32> = Lanes::new(simd, x);
    let a = x * x.like(std::f32::consts::FRAC_1_SQRT_2);
    let t = a.abs();
    let (zero, half, one) = (x.like(0.0), x.like(0.5), x.like(1.0));
    let middle = polynomial(a * a, &MIDDLE).mul_add(a, a).mul_add(half, half);
    let tail = exp(polynomial(t, &TAIL).mul_add(t, zero - t)) * half;
    let outer = x.if_less(zero, tail, one - tail);
    t.if_less(x.like(0.927_734_4), middle, outer).vector
}

/// `erf(a) = a + a * p(a^2)` between -0.93 and 0.93.
const MIDDLE: [f32; 6] = [
    -5.967_617e-4,
    4.991_194_2e-3,
    -2.676_813_5e-2,
    0.112_819_925,
    -0.376_125_34,
    0.128_379_17,
];

/// `erfc(t) = exp(-t + t * p(t))` from 0.93 on.
const TAIL: [f32; 7] = [
    -1.728_534_7e-5,
    3.831_971_3e-4,
    -3.883_964_4e-3,
    2.425_462_2e-2,
    -0.106_777_88,
    -0.634_846_7,
    -0.128_717_51,
];

/// The same in double precision, lane by lane from the C library's translation.
#[inline(always)]
pub(crate) fn normal_f64<S: Simd>(_: S, x: S::f64s) -> S::f64s {
    let mut lanes = [x];
    for x in bytemuck::cast_slice_mut::<_, f64>(&mut lanes) {
        *x = 0.5 * libm::erfc(-*x * std::f64::consts::FRAC_1_SQRT_2);
    }
    lanes[0]
}
