//! Registers of numbers: read, written, rounded and multiplied.

#[cfg_attr(
    not(test),
    expect(
        clippy::wildcard_imports,
        reason = "instructions, whose names say where they are from"
    )
)]
use std::arch::x86_64::*;

use super::LANES;
use crate::bfloat16::Machine;

/// Adds the products of pairs, lane by lane.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
pub(super) fn add_products(sum: __m512, left: __m512i, right: __m512i) -> __m512 {
    // SAFETY: both types are the same register.
    #[expect(unsafe_code, reason = "registers of pairs have a type of their own")]
    unsafe {
        let (left, right) = (
            std::mem::transmute::<__m512i, __m512bh>(left),
            std::mem::transmute::<__m512i, __m512bh>(right),
        );
        _mm512_dpbf16_ps(sum, left, right)
    }
}

/// The lanes that a slice has numbers for.
pub(super) fn mask(count: usize) -> u16 {
    if count == 0 {
        0
    } else {
        u16::MAX >> (LANES - count.min(LANES))
    }
}

/// A register of float32.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load_wide(values: &[f32]) -> __m512 {
    // SAFETY: only the lanes that there are numbers for are read.
    #[expect(unsafe_code, reason = "registers are read through pointers")]
    unsafe {
        _mm512_maskz_loadu_ps(mask(values.len()), values.as_ptr())
    }
}

/// Writes a register of float32, or its first lanes.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn store_wide(value: __m512, out: &mut [f32]) {
    // SAFETY: only the lanes that there is room for are written.
    #[expect(unsafe_code, reason = "registers are written through pointers")]
    unsafe {
        _mm512_mask_storeu_ps(out.as_mut_ptr(), mask(out.len()), value);
    }
}

/// A register of pairs.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load_pairs(words: &[u32; LANES]) -> __m512i {
    // SAFETY: so many words are a register, which needs no alignment.
    #[expect(unsafe_code, reason = "registers are read through pointers")]
    unsafe {
        _mm512_loadu_si512(words.as_ptr().cast())
    }
}

/// At most a register's numbers, widened; zeros in the other lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
pub(super) fn load(values: &[u16]) -> __m512 {
    // SAFETY: only the lanes that there are numbers for are read.
    #[expect(unsafe_code, reason = "registers are read through pointers")]
    let bits = unsafe { _mm256_maskz_loadu_epi16(mask(values.len()), values.as_ptr().cast()) };
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits)))
}

/// Rounds at most a register's numbers to the slice.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[inline]
pub(super) fn store(value: __m512, out: &mut [u16]) {
    // SAFETY: both types are the same register; only the slice's lanes are written.
    #[expect(unsafe_code, reason = "registers are written through pointers")]
    unsafe {
        let bits = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(value));
        _mm256_mask_storeu_epi16(out.as_mut_ptr().cast(), mask(out.len()), bits);
    }
}

/// Rounds numbers.
pub(crate) fn narrow(_: Machine, values: &[f32], out: &mut [u16]) {
    // SAFETY: whoever has a `Machine` has asked for the instructions.
    #[expect(unsafe_code, reason = "the machine was asked")]
    unsafe {
        narrow_all(values, out);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn narrow_all(values: &[f32], out: &mut [u16]) {
    for (values, out) in values.chunks(LANES).zip(out.chunks_mut(LANES)) {
        store(load_wide(values), out);
    }
}

/// Rounds two registers and lays their numbers side by side, lane by lane.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
#[inline]
pub(super) fn join(first: __m512, second: __m512) -> __m512i {
    // SAFETY: all three are registers of as many bits.
    #[expect(unsafe_code, reason = "registers of pairs have a type of their own")]
    unsafe {
        let both = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(second, first));
        let order = std::mem::transmute::<[u16; 2 * LANES], __m512i>(ALTERNATING);
        _mm512_permutexvar_epi16(order, both)
    }
}

/// One number of the lower half of a register after one of the upper.
const ALTERNATING: [u16; 2 * LANES] = [
    0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
    13, 29, 14, 30, 15, 31,
];
