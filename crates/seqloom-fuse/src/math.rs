//! Vector functions that `seqloom-kernels` does not provide: logarithms, tanh and the
//! error function.

use pulp::Simd;
use seqloom_kernels::lanes::Lanes;
use seqloom_kernels::special::{exp, normal_cdf, polynomial};

use crate::Number;

/// Returns the natural logarithm, accurate to about one unit in the last place.
#[inline(always)]
pub(crate) fn ln<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let (zero, infinity) = (x.like(T::ZERO), x.like(T::from_f64(f64::INFINITY)));
    let value = x.if_less(infinity, ln_of_positive(x), x);
    let below = x.if_less(zero, x.like(T::from_f64(f64::NAN)), x - infinity);
    zero.if_less(x, value, below)
}

/// With `s = f / (2 + f)`, `log(1 + f)` is `2 atanh(s)`, computed by its series.
#[inline(always)]
fn ln_of_positive<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let (least, lift) = (x.like(T::MIN_NORMAL), x.like(T::from_f64(SUBNORMAL_FACTOR)));
    let normal = x.if_less(least, x * lift, x);
    let (mantissa, power) = T::mantissa::<S>(normal.vector);
    let (mantissa, power) = (x.with_vector(mantissa), x.with_vector(power));
    let power = x.if_less(
        least,
        power - x.like(T::from_f64(SUBNORMAL_EXPONENT)),
        power,
    );
    let f = mantissa - x.like(T::ONE);
    let s = f / (f + x.like(T::from_f64(2.0)));
    let half = f * f * x.like(T::from_f64(0.5));
    let square = s * s;
    let series = polynomial(square, T::LN_TERMS) * square;
    let low = s.mul_add(half + series, power * x.like(T::LN_2.1));
    power.mul_add(x.like(T::LN_2.0), f - (half - low))
}

/// The factor that makes a subnormal number normal: `2^54`.
const SUBNORMAL_FACTOR: f64 = 18_014_398_509_481_984.0;
const SUBNORMAL_EXPONENT: f64 = 54.0;

/// Returns `log(1 + x)`, accurate also for small x.
#[inline(always)]
pub(crate) fn ln_1p<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let (zero, one) = (x.like(T::ZERO), x.like(T::ONE));
    let sum = one + x;
    let lost = one.if_less(x, one - (sum - x), x - (sum - one));
    let value = ln(sum) + zero.if_less(sum, lost / sum, zero);
    x.if_less(x.like(T::from_f64(f64::INFINITY)), value, x)
}

/// Returns `exp(x) - 1`, accurate also for small x.
#[inline(always)]
pub(crate) fn exp_m1<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let (low, high) = (
        x.like(T::from_f64(-EXPM1_LIMIT)),
        x.like(T::from_f64(EXPM1_LIMIT)),
    );
    let near = x.if_less(low, low, x);
    let near = high.if_less(near, high, near);
    high.if_less(x, exp(x), exp_m1_of_small(near))
}

/// Above this limit, `exp(x) - 1` equals `exp(x)` in floating point. Below the negated
/// limit, `exp(x) - 1` equals -1.
const EXPM1_LIMIT: f64 = 40.0;

#[inline(always)]
fn exp_m1_of_small<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let (rounder, one) = (x.like(T::ROUNDING_OFFSET), x.like(T::ONE));
    let rounded = x.mul_add(x.like(T::from_f64(std::f64::consts::LOG2_E)), rounder);
    let power = rounder - rounded;
    let rest = power.mul_add(x.like(T::LN_2.0), x);
    let rest = power.mul_add(x.like(T::LN_2.1), rest);
    let scale = one.scale(rounded);
    (polynomial(rest, T::EXP_TERMS) * rest).mul_add(scale, scale - one)
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let zero = x.like(T::ZERO);
    let below = exp_m1(x.abs() * x.like(T::from_f64(-2.0)));
    let value = below / (below + x.like(T::from_f64(2.0)));
    x.if_less(zero, value, zero - value)
}

/// Returns the activation silu, `x / (1 + exp(-x))`, with the formula of the silu kernel.
#[inline(always)]
pub(crate) fn silu<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    x / (x.like(T::ONE) + exp(x.like(T::ZERO) - x))
}

/// Returns `log(1 + exp(x))`.
#[inline(always)]
pub(crate) fn softplus<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    let zero = x.like(T::ZERO);
    x.if_less(zero, zero, x) + ln_1p(exp(zero - x.abs()))
}

/// Returns gelu, computed with the error function instead of the tanh approximation.
#[inline(always)]
pub(crate) fn gelu<S: Simd, T: Number>(x: Lanes<S, T>) -> Lanes<S, T> {
    x * normal_cdf(x).0
}

/// Returns the gradient times the derivative of gelu at x.
#[inline(always)]
pub(crate) fn gelu_grad<S: Simd, T: Number>(grad: Lanes<S, T>, x: Lanes<S, T>) -> Lanes<S, T> {
    let (below, bell) = normal_cdf(x);
    let density = bell * x.like(T::from_f64(0.398_942_280_401_432_7));
    grad * x.mul_add(density, below)
}

/// Returns the error function, computed by an odd polynomial for |x| up to 1, and by the
/// tail of the normal distribution above 1.
#[inline(always)]
pub(crate) fn erf_f32<S: Simd>(x: Lanes<S, f32>) -> Lanes<S, f32> {
    let (zero, one) = (x.like(0.0), x.like(1.0));
    let near = x * polynomial(x * x, &ERF_TERMS);
    let tail = normal_cdf(x.abs() * x.like(-std::f32::consts::SQRT_2)).0;
    let far = one - (tail + tail);
    let far = x.if_less(zero, zero - far, far);
    x.abs().if_less(one, near, far)
}

/// Coefficients of the Chebyshev interpolation of `erf(sqrt(z)) / sqrt(z)` on [0, 1];
/// the error is 4e-11.
const ERF_TERMS: [f32; 8] = [
    -9.667_043e-6,
    1.126_595_8e-4,
    -8.484_08e-4,
    5.221_031_6e-3,
    -2.686_543e-2,
    1.128_378_2e-1,
    -3.761_263_8e-1,
    std::f32::consts::FRAC_2_SQRT_PI,
];

/// Returns the error function in double precision, computed for each element with `libm`.
#[inline(always)]
pub(crate) fn erf_f64<S: Simd>(x: Lanes<S, f64>) -> Lanes<S, f64> {
    let mut lanes = [x.vector];
    for x in bytemuck::cast_slice_mut::<_, f64>(&mut lanes) {
        *x = libm::erf(*x);
    }
    x.with_vector(lanes[0])
}
