//! Turns of heads.

#[cfg_attr(
    not(test),
    expect(
        clippy::wildcard_imports,
        reason = "instructions, whose names say where they are from"
    )
)]
use std::arch::x86_64::*;

use super::LANES;
use super::numbers::{load, load_wide, store};
use crate::bfloat16::Machine;
use crate::dense::Rotation;

/// Turns the first heads of rows, in float32.
pub(crate) fn rotate(_: Machine, rotation: Rotation<'_, f32>, width: usize, rows: &mut [u16]) {
    // SAFETY: whoever has a `Machine` has asked for the instructions.
    #[expect(unsafe_code, reason = "the machine was asked")]
    unsafe {
        rotate_all(rotation, width, rows);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn rotate_all(rotation: Rotation<'_, f32>, width: usize, rows: &mut [u16]) {
    let half = rotation.half.max(1);
    let cosines = rotation.cosines.chunks_exact(half);
    let turns = cosines.zip(rotation.sines.chunks_exact(half));
    for (row, (cosines, sines)) in rows.chunks_exact_mut(width).zip(turns) {
        let heads = &mut row[..2 * half * rotation.heads];
        if half == LANES / 2 {
            turn_registers(heads, load_wide(cosines), load_wide(sines));
        } else {
            turn_heads(heads, cosines, sines);
        }
    }
}

/// Turns heads of one register each.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[inline]
fn turn_registers(heads: &mut [u16], cosine: __m512, sine: __m512) {
    // Both halves meet the same angles; the first half's sines are negative.
    let negative = _mm512_sub_ps(_mm512_setzero_ps(), sine);
    let cosine = _mm512_shuffle_f32x4::<0b01_00_01_00>(cosine, cosine);
    let sine = _mm512_shuffle_f32x4::<0b01_00_01_00>(negative, sine);
    for head in heads.chunks_exact_mut(LANES) {
        let x = load(head);
        let turned = _mm512_shuffle_f32x4::<0b01_00_11_10>(x, x);
        store(
            _mm512_fmadd_ps(turned, sine, _mm512_mul_ps(x, cosine)),
            head,
        );
    }
}

/// Turns heads of any size.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[inline]
fn turn_heads(heads: &mut [u16], cosines: &[f32], sines: &[f32]) {
    let half = cosines.len();
    for head in heads.chunks_exact_mut(2 * half) {
        let (first, second) = head.split_at_mut(half);
        let pairs = first.chunks_mut(LANES).zip(second.chunks_mut(LANES));
        let turns = cosines.chunks(LANES).zip(sines.chunks(LANES));
        for ((first, second), (cosines, sines)) in pairs.zip(turns) {
            turn(first, second, load_wide(cosines), load_wide(sines));
        }
    }
}

/// Turns at most a register's pairs.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
#[inline]
fn turn(first: &mut [u16], second: &mut [u16], cosine: __m512, sine: __m512) {
    let (x, y) = (load(first), load(second));
    let turned = _mm512_fmsub_ps(x, cosine, _mm512_mul_ps(y, sine));
    store(turned, first);
    store(_mm512_fmadd_ps(y, cosine, _mm512_mul_ps(x, sine)), second);
}
