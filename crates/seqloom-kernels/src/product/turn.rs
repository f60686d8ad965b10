//! Lines along the depth, turned into panels where they stand side by side.

use crate::Float;

/// Lays `count` lines, one every `step`, side by side: their numbers of one place of the
/// depth in a row of `width`, for as many places as `out` has rows.
pub(crate) fn turn<T: Float>(values: &[T], step: usize, count: usize, width: usize, out: &mut [T]) {
    let depth = out.len() / width.max(1);
    assert!(count <= width, "lines of a panel");
    assert!(
        count == 0 || depth == 0 || values.len() >= (count - 1) * step + depth,
        "numbers of all lines"
    );
    let done = wide::turn(values, step, count, width, out);
    for line in done..count {
        let values = &values[line * step..][..depth];
        let out = out[line..].iter_mut().step_by(width);
        out.zip(values).for_each(|(out, &value)| *out = value);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256, _mm_loadu_ps, _mm256_castps128_ps256, _mm256_insertf128_ps, _mm256_shuffle_ps,
        _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    use seqloom_core::simd;

    use crate::{Float, machine};

    /// Turns lines of single floats, eight by eight; gives how many.
    pub(super) fn turn<T: Float>(
        values: &[T],
        step: usize,
        count: usize,
        width: usize,
        out: &mut [T],
    ) -> usize {
        if size_of::<T>() != size_of::<f32>() || simd::avx2().is_none() {
            return 0;
        }
        let values: &[f32] = bytemuck::cast_slice(values);
        let out: &mut [f32] = bytemuck::cast_slice_mut(out);
        for (number, out) in out.chunks_mut(NEAR * width).enumerate() {
            for line in (0..count / 8 * 8).step_by(8) {
                let values = &values[line * step + number * NEAR..];
                for line in 0..8 {
                    let ahead = values.as_ptr().wrapping_add(line * step + AHEAD * NEAR);
                    machine::prefetch(ahead);
                }
                // SAFETY: the machine has these instructions; it was asked.
                #[expect(unsafe_code, reason = "instructions that not every machine has")]
                unsafe {
                    eight(values, step, width, &mut out[line..]);
                }
            }
        }
        count / 8 * 8
    }

    /// Places that are turned at a time: a cache line of each line's.
    const NEAR: usize = 16;

    /// How many times as many places are called for ahead of their use.
    const AHEAD: usize = 2;

    /// Turns eight lines, four places at a time.
    #[target_feature(enable = "avx")]
    fn eight(values: &[f32], step: usize, width: usize, out: &mut [f32]) {
        // The last row of `out` begins at this line: it may be shorter than `width`.
        let depth = out.len().div_ceil(width);
        for place in (0..depth / 4 * 4).step_by(4) {
            let rows = turned(&values[place..][..7 * step + 4], step);
            for (number, row) in rows.into_iter().enumerate() {
                let out = &mut out[(place + number) * width..][..8];
                // SAFETY: the slice has room for eight floats.
                #[expect(unsafe_code, reason = "the instruction takes a pointer")]
                unsafe {
                    _mm256_storeu_ps(out.as_mut_ptr(), row);
                }
            }
        }
        for place in depth / 4 * 4..depth {
            let out = &mut out[place * width..][..8];
            (0..8).for_each(|line| out[line] = values[line * step + place]);
        }
    }

    /// The first four numbers of eight lines, place by place.
    #[target_feature(enable = "avx")]
    #[inline]
    fn turned(values: &[f32], step: usize) -> [__m256; 4] {
        let [a, b, c, d] = [0, 1, 2, 3].map(|line| two(values, line * step, (line + 4) * step));
        let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (low_2, high_2) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(low, low_2),
            _mm256_shuffle_ps::<0xee>(low, low_2),
            _mm256_shuffle_ps::<0x44>(high, high_2),
            _mm256_shuffle_ps::<0xee>(high, high_2),
        ]
    }

    /// Four numbers of one line, and four of another.
    #[target_feature(enable = "avx")]
    #[inline]
    fn two(values: &[f32], one: usize, other: usize) -> __m256 {
        let (one, other) = (&values[one..][..4], &values[other..][..4]);
        // SAFETY: both slices hold four floats.
        #[expect(unsafe_code, reason = "the instruction takes a pointer")]
        unsafe {
            let one = _mm256_castps128_ps256(_mm_loadu_ps(one.as_ptr()));
            _mm256_insertf128_ps::<1>(one, _mm_loadu_ps(other.as_ptr()))
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod wide {
    /// Turns nothing: this machine has no instructions for it here.
    pub(super) fn turn<T>(_: &[T], _: usize, _: usize, _: usize, _: &mut [T]) -> usize {
        0
    }
}
