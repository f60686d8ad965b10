//! Normal numbers, computed from uniform numbers with the inverse error function.
//!
//! The polynomials in `w = -ln(1 - x * x)` are those of Mike Giles, "Approximating the
//! erfinv function" (GPU Computing Gems, 2011), as in XLA.

use seqloom_core::key::Key;

use super::uniform::UniformFloat;
use seqloom_macros::{compiled_once, vectorized};

use crate::{Float, Instances, machine::dispatch, parallel, tuned};

/// The limits of a truncated normal distribution.
#[derive(Clone, Copy, Debug)]
pub struct Truncation<T> {
    /// The values of the error function at both limits. The uniform numbers are sampled
    /// between these two values.
    pub range: [T; 2],
    /// The smallest and the largest output value.
    pub limits: [T; 2],
}

/// Fills `out` with random numbers from a standard normal distribution, truncated at
/// two limits.
#[compiled_once]
pub fn truncated_normal<T: NormalFloat>(
    key: Key,
    truncation: Truncation<T>,
    out: &mut [T],
    threads: usize,
) {
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        T::uniform(key, (number * tuned::CHUNK_VALUES) as u64, out);
        uniform_to_normal(truncation, out);
    });
}

/// Converts uniform numbers between -1 and 1 into normal numbers.
///
/// The compiler vectorises this loop. The results are bitwise equal to those of scalar
/// code, because multiplications and additions are not fused.
#[vectorized]
fn uniform_to_normal<T: NormalFloat>(truncation: Truncation<T>, out: &mut [T]) {
    let Truncation {
        range: [low, high],
        limits: [least, most],
    } = truncation;
    for value in out {
        let share = value.times_plus(high - low, low);
        let share = if share < low { low } else { share };
        let normal = T::from_f64(std::f64::consts::SQRT_2) * share.erf_inv();
        let normal = if normal < least { least } else { normal };
        *value = if normal > most { most } else { normal };
    }
}

/// Fills `out` with random numbers from the standard normal distribution.
pub fn normal<T: NormalFloat>(key: Key, out: &mut [T], threads: usize) {
    let truncation = Truncation {
        range: [T::FLOAT_ABOVE_MINUS_ONE, T::ONE],
        limits: [T::NEG_INF, T::ZERO - T::NEG_INF],
    };
    truncated_normal(key, truncation, out, threads);
}

/// A float type for which normal random numbers can be computed.
pub trait NormalFloat: UniformFloat {
    /// The smallest number of this type above -1.
    const FLOAT_ABOVE_MINUS_ONE: Self;
    /// Returns `self * factor + term`, rounded only once.
    #[must_use]
    fn times_plus(self, factor: Self, term: Self) -> Self;
    /// Returns the inverse error function of this number.
    #[must_use]
    fn erf_inv(self) -> Self;
}

impl NormalFloat for f32 {
    const FLOAT_ABOVE_MINUS_ONE: Self = -1.0 + Self::EPSILON / 2.0;

    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        Self::from_f64(f64::from(self) * f64::from(factor) + f64::from(term))
    }

    #[inline(always)]
    fn erf_inv(self) -> Self {
        let w = -ln_1_minus(self * self);
        let (near, far) = (
            polynomial(&ERF_INV_CENTRE, w - 2.5),
            polynomial(&ERF_INV_TAIL, w.sqrt() - 3.0),
        );
        self * if w < 5.0 { near } else { far }
    }
}

/// Returns `ln(1 - x)` for x from 0 to 1, accurate to one unit in the last place. The
/// result is ln(u) for the rounded `u = 1 - x`, plus the rounding error divided by u.
#[inline(always)]
fn ln_1_minus(x: f32) -> f32 {
    let u = 1.0 - x;
    let lost = ((1.0 - u) - x) / u;
    let power = u.to_bits().wrapping_sub(ROOT_HALF).cast_signed() >> 23;
    let mantissa = f32::from_bits(u.to_bits().wrapping_sub((power << 23).cast_unsigned()));
    let rest = mantissa - 1.0;
    let (ratio, half) = (rest / (2.0 + rest), 0.5 * rest * rest);
    let square = ratio * ratio;
    let to_normal = ratio * (half + square * polynomial(&LN_1_MINUS_TERMS, square));
    #[expect(clippy::cast_precision_loss, reason = "a float is exact here")]
    let power = power as f32;
    let [high, low] = [f32::LN_2.0, f32::LN_2.1].map(|part| power * part);
    let found = high + (rest - (half - (to_normal + (low + lost))));
    if u > 0.0 { found } else { -f32::INFINITY }
}

/// The bit pattern of the square root of 1/2, at which a float is split into mantissa
/// and exponent.
const ROOT_HALF: u32 = 0x3f35_04f3;

/// The coefficients of a polynomial in s^2, an approximation of
/// `ln((1 + s) / (1 - s)) / s - 2`.
const LN_1_MINUS_TERMS: [f32; 4] = [2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0];

/// Returns `ln(1 + x)` with the same rounding errors as XLA. The rational function of
/// Cephes is used slightly outside its intended range.
fn ln_1p(x: f64) -> f64 {
    if x.abs() >= std::f64::consts::SQRT_2 - 1.0 {
        return (1.0 + x).ln();
    }
    let square = x * x;
    let to_normal = square * polynomial(&LN_1P_NUMERATOR, x) / polynomial(&LN_1P_DENOMINATOR, x);
    x - 0.5 * square + x * to_normal
}

impl NormalFloat for f64 {
    const FLOAT_ABOVE_MINUS_ONE: Self = -1.0 + Self::EPSILON / 2.0;

    fn times_plus(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }

    fn erf_inv(self) -> Self {
        let w = -ln_1p(-self * self);
        self * if w < 6.25 {
            polynomial(&ERF_INV_F64_CENTRE, w - 3.125)
        } else if w < 16.0 {
            polynomial(&ERF_INV_F64_MIDDLE, w.sqrt() - 3.25)
        } else {
            polynomial(&ERF_INV_F64_TAIL, w.sqrt() - 5.0)
        }
    }
}

/// Evaluates a polynomial by Horner's rule, highest power first.
#[inline(always)]
fn polynomial<T: Float>(terms: &[T], x: T) -> T {
    terms.iter().fold(T::ZERO, |value, &term| value * x + term)
}

/// The coefficients of the polynomial in `w - 2.5`, for w below 5.
const ERF_INV_CENTRE: [f32; 9] = [
    2.810_226_4e-8,
    3.432_739_4e-7,
    -3.523_387_7e-6,
    -4.391_506_5e-6,
    0.000_218_580_87,
    -0.001_253_725,
    -0.004_177_681_6,
    0.246_640_73,
    1.501_409_4,
];

/// The coefficients of the polynomial in `sqrt(w) - 3`, for w of at least 5.
const ERF_INV_TAIL: [f32; 9] = [
    -0.000_200_214_26,
    0.000_100_950_56,
    0.001_349_343_2,
    -0.003_673_428_4,
    0.005_739_507_7,
    -0.007_622_461_3,
    0.009_438_870_5,
    1.001_674,
    2.832_976_8,
];

/// The coefficients of the polynomial in `w - 3.125`, for w below 6.25.
const ERF_INV_F64_CENTRE: [f64; 23] = [
    -3.644_412_064_017_82e-21,
    -1.685_059_138_182_016_6e-19,
    1.285_848_071_525_64e-18,
    1.115_787_767_802_518_1e-17,
    -1.333_171_662_854_621e-16,
    2.097_276_787_596_856_2e-17,
    6.637_638_134_358_324e-15,
    -4.054_566_272_975_207e-14,
    -8.151_934_197_605_472e-14,
    2.633_509_315_308_232_3e-12,
    -1.297_513_325_345_353_2e-11,
    -5.415_412_054_294_628e-11,
    1.051_212_273_321_532_3e-9,
    -4.112_633_980_346_984e-9,
    -2.907_036_995_788_200_5e-8,
    4.234_787_782_793_240_4e-7,
    -1.365_469_200_083_467_9e-6,
    -1.388_252_336_278_646_9e-5,
    0.000_186_734_208_034_057_14,
    -0.000_740_702_534_166_267,
    -0.006_033_670_871_430_149,
    0.240_158_182_425_589_62,
    1.653_654_562_683_102_7,
];

/// The coefficients of the polynomial in `sqrt(w) - 3.25`, for w from 6.25 to 16.
const ERF_INV_F64_MIDDLE: [f64; 19] = [
    2.213_737_692_177_578_7e-9,
    9.075_656_193_888_539e-8,
    -2.751_740_629_706_454_5e-7,
    1.823_962_921_438_922_8e-8,
    1.502_740_396_890_982_8e-6,
    -4.013_867_526_981_546e-6,
    2.923_444_908_995_544_6e-6,
    1.247_530_448_167_177_9e-5,
    -4.731_822_900_905_573_4e-5,
    6.828_485_145_957_318e-5,
    2.403_111_038_709_789_4e-5,
    -0.000_355_037_520_362_847_5,
    0.000_953_289_379_737_380_5,
    -0.001_688_275_556_023_504_7,
    0.002_491_442_096_107_851,
    -0.003_751_208_507_569_241,
    0.005_370_914_553_590_064,
    1.005_258_967_694_159_2,
    3.083_885_610_492_220_8,
];

/// The coefficients of the polynomial in `sqrt(w) - 5`, for w of at least 16.
const ERF_INV_F64_TAIL: [f64; 17] = [
    -2.710_992_061_643_857_3e-11,
    -2.555_641_816_996_525e-10,
    1.507_657_269_350_054_8e-9,
    -3.789_465_440_126_737e-9,
    7.615_701_208_078_34e-9,
    -1.496_002_662_714_924e-8,
    2.914_795_345_090_108e-8,
    -6.771_199_775_845_234e-8,
    2.290_048_222_802_665_5e-7,
    -9.929_827_294_231_7e-7,
    4.526_062_597_223_154e-6,
    -1.968_177_810_553_167e-5,
    7.599_527_703_001_776e-5,
    -0.000_215_030_119_300_444_77,
    -0.000_138_719_318_336_231_22,
    1.010_300_464_864_534_4,
    4.849_906_401_408_584,
];

/// The coefficients of the numerator and denominator in the Cephes logarithm, highest
/// power first.
const LN_1P_NUMERATOR: [f64; 7] = [
    4.527_000_086_244_52e-5,
    0.498_541_028_231_933_75,
    6.578_732_594_206_104,
    29.911_919_328_553_072,
    60.949_667_980_987_79,
    57.112_963_590_585_54,
    20.039_553_499_201_283,
];

const LN_1P_DENOMINATOR: [f64; 7] = [
    1.0,
    15.062_909_083_469_192,
    83.047_565_967_967_22,
    221.762_398_237_328_57,
    309.098_722_253_120_57,
    216.427_886_144_959_47,
    60.118_660_497_603_84,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_inv_inverts_the_error_function() {
        for step in -999..1000 {
            let x = f64::from(step) / 1000.0;
            assert!((libm::erf(x.erf_inv()) - x).abs() < 1e-14, "{x}");
            let single = f32::from_f64(x);
            let found = libm::erf(f64::from(single.erf_inv()));
            assert!((found - f64::from(single)).abs() < 2e-7, "{x}");
        }
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut out = vec![0.0_f64; 1 << 16];
        normal(Key([0, 1]), &mut out, 1);
        let count = f64::from(1 << 16);
        let mean = out.iter().sum::<f64>() / count;
        let square = out.iter().map(|x| x * x).sum::<f64>() / count;
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.01);
    }
}
