//! Vectorised exponential, normal distribution and related functions.

use pulp::Simd;

use crate::{Float, lanes::Lanes};

/// Returns the exponential, accurate to about one unit in the last place. Results too
/// small for a normal float are 0.
#[inline(always)]
pub fn exp<S: Simd, T: Float>(x: Lanes<S, T>) -> Lanes<S, T> {
    // Infinity is computed from x, so that the result for NaN is NaN.
    let infinite = x + x.like(T::from_f64(f64::INFINITY));
    x.if_less(x.like(T::EXP_RANGE.1), exp_of_negative(x), infinite)
}

/// Returns the exponential of x. The argument x must be small enough for a finite
/// result.
#[inline(always)]
pub fn exp_of_negative<S: Simd, T: Float>(x: Lanes<S, T>) -> Lanes<S, T> {
    let rounder = x.like(T::ROUNDING_OFFSET);
    let rounded = x.mul_add(x.like(T::from_f64(std::f64::consts::LOG2_E)), rounder);
    let power = rounder - rounded;
    let rest = power.mul_add(x.like(T::LN_2.0), x);
    let rest = power.mul_add(x.like(T::LN_2.1), rest);
    let value = polynomial(rest, T::EXP_TERMS)
        .mul_add(rest, x.like(T::ONE))
        .scale(rounded);
    x.if_less(x.like(T::EXP_RANGE.0), x.like(T::ZERO), value)
}

/// Returns 2^x. The argument x must be small enough for a finite result.
#[inline(always)]
pub fn exp2_of_negative<S: Simd, T: Float>(x: Lanes<S, T>) -> Lanes<S, T> {
    let rounder = x.like(T::ROUNDING_OFFSET);
    let rounded = x + rounder;
    let rest = x - (rounded - rounder);
    let mut value = x.like(T::EXP2_TERMS[0]);
    for &term in &T::EXP2_TERMS[1..] {
        value = value.mul_add(rest, x.like(term));
    }
    let value = value.scale(rounded);
    x.if_less(x.like(T::EXP2_MIN_EXPONENT), x.like(T::ZERO), value)
}

/// Returns the hyperbolic tangent, accurate to a few units in the last place, also near
/// 0.
#[inline(always)]
pub fn tanh<S: Simd, T: Float>(x: Lanes<S, T>) -> Lanes<S, T> {
    let (zero, one) = (x.like(T::ZERO), x.like(T::ONE));
    // Computes exp(-2 |x|) - 1 without cancellation.
    let y = x.abs() * x.like(T::from_f64(-2.0));
    let rounder = x.like(T::ROUNDING_OFFSET);
    let rounded = y.mul_add(x.like(T::from_f64(std::f64::consts::LOG2_E)), rounder);
    let power = rounder - rounded;
    let rest = power.mul_add(x.like(T::LN_2.0), y);
    let rest = power.mul_add(x.like(T::LN_2.1), rest);
    let scale = one.scale(rounded);
    let less = (polynomial(rest, T::EXP_TERMS) * rest).mul_add(scale, scale - one);
    let less = y.if_less(x.like(T::EXP_RANGE.0), zero - one, less);
    let size = (zero - less) / (less + one + one);
    x.if_less(zero, zero - size, size)
}

/// Returns `1 / (1 + exp(-x))`.
#[inline(always)]
pub fn sigmoid<S: Simd, T: Float>(x: Lanes<S, T>) -> Lanes<S, T> {
    let one = x.like(T::ONE);
    one / (one + exp(x.like(T::ZERO) - x))
}

/// Evaluates a polynomial with the given coefficients, highest power first. Even and
/// odd powers are evaluated in parallel by Horner's rule, which halves the latency.
#[inline(always)]
pub fn polynomial<S: Simd, T: Float>(x: Lanes<S, T>, terms: &[T]) -> Lanes<S, T> {
    let square = x * x;
    let (mut value, mut other) = (x.like(terms[1]), x.like(terms[0]));
    for &term in &terms[2..] {
        (value, other) = (other.mul_add(square, x.like(term)), value);
    }
    other.mul_add(x, value)
}

/// Returns the probability that a standard normal variable is at most x, and the value
/// of `exp(-x^2 / 2)`.
#[inline(always)]
pub fn normal_cdf<S: Simd, T: Float>(x: Lanes<S, T>) -> (Lanes<S, T>, Lanes<S, T>) {
    let bell = exp_of_negative(x * x * x.like(T::from_f64(-0.5)));
    (x.normal_cdf(bell), bell)
}

/// Returns the standard normal distribution function at x, where `bell` must be
/// `exp(-x^2 / 2)`. The result is accurate to three units in the last place, also in
/// the far tail. The result is computed as `bell` times a polynomial in `u`, which is
/// the inverse of `1 + TAIL_SLOPE |x|`.
#[inline(always)]
pub(crate) fn normal_f32<S: Simd>(simd: S, x: S::f32s, bell: S::f32s) -> S::f32s {
    let (x, bell): (Lanes<S, f32>, _) = (Lanes::new(simd, x), Lanes::new(simd, bell));
    let (zero, one) = (x.like(0.0), x.like(1.0));
    let u = one / x.abs().mul_add(x.like(TAIL_SLOPE), one);
    let tail = polynomial(u, &TAIL_F32) * u * bell;
    x.if_less(zero, tail, one - tail).vector
}

const TAIL_SLOPE: f32 = 0.343_75;

/// Minimax coefficients of the polynomial for `erfcx(x / sqrt(2)) / 2 / u`, with a
/// relative error of at most 2e-8.
const TAIL_F32: [f32; 9] = [
    -0.027_813_494,
    0.143_868_34,
    -0.271_751_46,
    0.190_961_21,
    -0.039_333_11,
    0.112_668_23,
    0.116_738_044,
    0.137_542_59,
    0.137_119_65,
];

/// Does the same as [`normal_f32`] in double precision, with a polynomial in `2 u - 1`,
/// accurate to a few units in the last place. The function corrects the rounding error
/// of the square of x, which matters in the far tail.
#[inline(always)]
pub(crate) fn normal_f64<S: Simd>(simd: S, x: S::f64s, bell: S::f64s) -> S::f64s {
    let (x, bell): (Lanes<S, f64>, _) = (Lanes::new(simd, x), Lanes::new(simd, bell));
    let (zero, one) = (x.like(0.0), x.like(1.0));
    let square = x * x;
    let lost = x.mul_add(x, zero - square);
    // If x is infinite, its square has no rounding error, and computing the error would
    // give NaN.
    let bell = zero.if_less(bell, (lost * bell).mul_add(x.like(-0.5), bell), bell);
    let u = one / x.abs().mul_add(x.like(f64::from(TAIL_SLOPE)), one);
    let tail = polynomial(u + u - one, &TAIL_F64) * u * bell;
    x.if_less(zero, tail, one - tail).vector
}

/// The polynomial coefficients for `erfcx(x / sqrt(2)) / 2 / u`, computed from a
/// Chebyshev series over all u.
const TAIL_F64: [f64; 27] = [
    3.630_400_507_860_194e-10,
    -7.116_076_267_044_939e-10,
    -2.308_621_209_872_565_4e-9,
    6.669_633_444_076_482e-9,
    2.628_263_230_387_171e-9,
    -2.624_367_294_072_179_4e-8,
    2.595_822_516_126_973e-8,
    3.800_410_744_938_281e-8,
    -1.410_543_449_304_405_6e-7,
    1.273_387_550_971_252_8e-7,
    2.661_764_947_731_966e-7,
    -9.468_592_397_721_994e-7,
    5.953_003_803_456_806e-7,
    2.804_324_582_237_211e-6,
    -6.849_730_838_237_212_5e-6,
    -1.969_806_070_470_827_5e-6,
    3.350_358_911_968_922_4e-5,
    -3.225_308_261_506_843e-5,
    -0.000_132_731_043_532_476_45,
    0.000_289_800_631_538_412_33,
    0.000_584_964_306_304_366,
    -0.002_002_870_575_312_708_4,
    -0.004_578_967_176_831_806,
    0.012_259_913_026_025_457,
    0.073_230_122_548_558_72,
    0.170_917_172_839_880_25,
    0.249_437_414_887_778_57,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;
    use crate::map::{UnaryOp, map_unary};

    #[derive(Clone, Copy)]
    struct Exp;

    impl<T: Float> UnaryOp<T> for Exp {
        fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
            exp(x)
        }
    }

    #[derive(Clone, Copy)]
    struct Exp2;

    impl<T: Float> UnaryOp<T> for Exp2 {
        fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
            exp2_of_negative(x)
        }
    }

    #[derive(Clone, Copy)]
    struct NormalCdf;

    impl<T: Float> UnaryOp<T> for NormalCdf {
        fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
            normal_cdf(x).0
        }
    }

    fn apply_function<T: Float>(function: impl UnaryOp<T>, x: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; x.len()];
        map_unary(function, x, &mut out, 1);
        out
    }

    fn even_grid<T: Float>(low: f64, high: f64) -> Vec<T> {
        let step = (high - low) / 20_000.0;
        (0..=20_000)
            .map(|index| T::from_f64(low + step * f64::from(index)))
            .collect()
    }

    fn max_error<T: Float>(x: &[T], found: &[T], reference: impl Fn(f64) -> f64) -> f64 {
        let error = |(x, found): (&T, &T)| (found.to_f64() / reference(x.to_f64()) - 1.0).abs();
        x.iter().zip(found).map(error).fold(0.0, f64::max)
    }

    #[test]
    fn exp_is_accurate_to_two_units_in_the_last_place() {
        run_on_every_machine(|_| {
            let (single, double) = (
                even_grid::<f32>(-87.0, 88.7),
                even_grid::<f64>(-708.0, 709.7),
            );
            assert!(max_error(&single, &apply_function(Exp, &single), f64::exp) < 1.3e-7);
            assert!(max_error(&double, &apply_function(Exp, &double), f64::exp) < 4.5e-16);
        });
    }

    #[test]
    fn exp_of_extremes_is_zero_or_infinite_and_nan_stays_nan() {
        run_on_every_machine(|_| {
            let found =
                apply_function(Exp, &[f32::NEG_INFINITY, -200.0, 0.0, 100.0, f32::INFINITY]);
            assert_eq!(found, [0.0, 0.0, 1.0, f32::INFINITY, f32::INFINITY]);
            assert!(apply_function(Exp, &[f32::NAN])[0].is_nan());
            assert!(apply_function(Exp, &[f64::NAN])[0].is_nan());
        });
    }

    #[test]
    fn exp2_is_accurate_to_two_units_in_the_last_place() {
        run_on_every_machine(|_| {
            let (single, double) = (
                even_grid::<f32>(-126.0, 20.0),
                even_grid::<f64>(-1022.0, 20.0),
            );
            assert!(max_error(&single, &apply_function(Exp2, &single), f64::exp2) < 2.0e-7);
            assert!(max_error(&double, &apply_function(Exp2, &double), f64::exp2) < 4.5e-16);
        });
    }

    #[test]
    fn exp2_of_extremes_is_zero_and_nan_stays_nan() {
        run_on_every_machine(|_| {
            let found = apply_function(Exp2, &[f32::NEG_INFINITY, -1e30, -126.5, 0.0, 1.0]);
            assert_eq!(found, [0.0, 0.0, 0.0, 1.0, 2.0]);
            assert!(apply_function(Exp2, &[f32::NAN])[0].is_nan());
            assert!(apply_function(Exp2, &[f64::NAN])[0].is_nan());
        });
    }

    #[test]
    fn the_far_tail_of_the_normal_distribution_is_accurate() {
        let reference = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
        run_on_every_machine(|_| {
            let double = even_grid::<f64>(-37.0, -4.0);
            assert!(max_error(&double, &apply_function(NormalCdf, &double), reference) < 1e-12);
        });
    }

    #[test]
    fn the_normal_distribution_ends_at_0_and_1() {
        run_on_every_machine(|_| {
            let ends = [f64::NEG_INFINITY, -1e200, 1e200, f64::INFINITY];
            assert_eq!(apply_function(NormalCdf, &ends), [0.0, 0.0, 1.0, 1.0]);
        });
    }

    #[test]
    fn the_normal_distribution_is_accurate_on_both_sides() {
        let reference = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
        run_on_every_machine(|_| {
            let (single, double) = (even_grid::<f32>(-4.0, 8.0), even_grid::<f64>(-4.0, 8.0));
            assert!(max_error(&single, &apply_function(NormalCdf, &single), reference) < 1.5e-6);
            assert!(max_error(&double, &apply_function(NormalCdf, &double), reference) < 1e-14);
        });
    }
}
