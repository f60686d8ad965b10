//! Functions of registers, right to what bfloat16 can tell.

#[cfg_attr(
    not(test),
    expect(
        clippy::wildcard_imports,
        reason = "instructions, whose names say where they are from"
    )
)]
use std::arch::x86_64::*;

/// Two to the power of numbers that are not too great, right to 1e-4.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn exp2(x: __m512) -> __m512 {
    let whole = _mm512_roundscale_ps::<0x08>(x);
    let rest = _mm512_sub_ps(x, whole);
    let mut value = _mm512_set1_ps(EXP2[0]);
    for &term in &EXP2[1..] {
        value = _mm512_fmadd_ps(value, rest, _mm512_set1_ps(term));
    }
    _mm512_scalef_ps(value, whole)
}

/// Fitted by least greatest relative error to half a power on either side, highest first.
const EXP2: [f32; 4] = [0.055_008_93, 0.242_210_97, 0.693_282_9, 1.0];

/// The logarithm to base two of positive numbers, right to some units in the last place: that
/// of m is a series of odd powers of (m - 1) / (m + 1).
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn log2(x: __m512) -> __m512 {
    let one = _mm512_set1_ps(1.0);
    // A mantissa from three quarters to one and a half.
    let mantissa = _mm512_getmant_ps::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_SRC>(x);
    let power = _mm512_getexp_ps(_mm512_div_ps(x, mantissa));
    let ratio = _mm512_div_ps(_mm512_sub_ps(mantissa, one), _mm512_add_ps(mantissa, one));
    let square = _mm512_mul_ps(ratio, ratio);
    let mut value = _mm512_set1_ps(LOG2[0]);
    for &term in &LOG2[1..] {
        value = _mm512_fmadd_ps(value, square, _mm512_set1_ps(term));
    }
    _mm512_fmadd_ps(value, ratio, power)
}

/// Two by the natural logarithm of two, divided by 9, 7, 5, 3 and 1.
const LOG2: [f32; 5] = [0.320_598_9, 0.412_198_6, 0.577_078, 0.961_796_7, 2.885_39];

/// Gelu, right to 5e-5: x times a polynomial of x and its square, with x cut at [`FAR`].
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn gelu(x: __m512) -> __m512 {
    // Of a NaN and a number these instructions take the second one: a NaN stays.
    let near = _mm512_min_ps(_mm512_set1_ps(FAR), _mm512_max_ps(_mm512_set1_ps(-FAR), x));
    let square = _mm512_mul_ps(near, near);
    let mut below = _mm512_set1_ps(NORMAL[0]);
    for &term in &NORMAL[1..] {
        below = _mm512_fmadd_ps(below, square, _mm512_set1_ps(term));
    }
    _mm512_mul_ps(x, _mm512_fmadd_ps(below, near, _mm512_set1_ps(0.5)))
}

/// Beyond it the normal distribution function is taken for constant.
const FAR: f32 = 4.2;

/// That function less a half, divided by x, as a polynomial of the square: fitted by least
/// greatest error, highest power first.
const NORMAL: [f32; 9] = [
    5.998_061e-11,
    -5.633_312_4e-9,
    2.343_672_6e-7,
    -5.760_766_8e-6,
    9.457_437_5e-5,
    -1.114_148e-3,
    9.830_13e-3,
    -6.636_037e-2,
    0.398_907_45,
];
