//! Layer norm of rows, in registers of float32.

#[cfg_attr(
    not(test),
    expect(
        clippy::wildcard_imports,
        reason = "instructions, whose names say where they are from"
    )
)]
use std::arch::x86_64::*;

use super::LANES;
use super::numbers::{load, load_wide, mask, store};
use crate::Float;
use crate::bfloat16::norm::Wide;

/// Fills rows, and the mean and one by the deviation of each.
pub(crate) fn normalise(norm: &Wide, x: &[u16], out: &mut [u16], statistics: [&mut [f32]; 2]) {
    // SAFETY: whoever made the norm had a `Machine`: it has asked for the instructions.
    #[expect(unsafe_code, reason = "the machine was asked")]
    unsafe {
        normalise_all(norm, x, out, statistics);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn normalise_all(norm: &Wide, x: &[u16], out: &mut [u16], [means, inverses]: [&mut [f32]; 2]) {
    let width = norm.weight.len();
    let rows = x.chunks_exact(width).zip(out.chunks_exact_mut(width));
    for ((x, out), (mean, inverse)) in rows.zip(means.iter_mut().zip(inverses)) {
        (*mean, *inverse) = moments(x, norm.epsilon);
        let columns = norm.weight.chunks(LANES).zip(norm.bias.chunks(LANES));
        let numbers = x.chunks(LANES).zip(out.chunks_mut(LANES));
        for ((x, out), (weight, bias)) in numbers.zip(columns) {
            let centred = _mm512_sub_ps(load(x), _mm512_set1_ps(*mean));
            let factor = _mm512_mul_ps(load_wide(weight), _mm512_set1_ps(*inverse));
            store(_mm512_fmadd_ps(centred, factor, load_wide(bias)), out);
        }
    }
}

/// A row's mean and one by the deviation from it.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
#[expect(clippy::cast_precision_loss, reason = "no row has 2^24 numbers")]
fn moments(x: &[u16], epsilon: f64) -> (f32, f32) {
    let count = x.len() as f32;
    let (registers, rest) = x.as_chunks::<LANES>();
    let mut total = load(rest);
    for x in registers {
        total = _mm512_add_ps(total, load(x));
    }
    let mean = _mm512_reduce_add_ps(total) / count;
    let center = _mm512_set1_ps(mean);
    let lanes = mask(rest.len());
    let mut square = _mm512_maskz_sub_ps(lanes, load(rest), center);
    square = _mm512_mul_ps(square, square);
    for x in registers {
        let centred = _mm512_sub_ps(load(x), center);
        square = _mm512_fmadd_ps(centred, centred, square);
    }
    let variance = f64::from(_mm512_reduce_add_ps(square) / count);
    (mean, f32::of((variance + epsilon).sqrt().recip()))
}
