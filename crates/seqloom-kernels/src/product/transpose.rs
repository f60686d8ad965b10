//! Transposition of contiguous rows into panels.

use crate::Float;

/// Transposes `count` rows that start `step` elements apart in `values`. Each row of
/// `out` has `width` elements, and contains one column of the input.
pub(crate) fn transpose<T: Float>(
    values: &[T],
    step: usize,
    count: usize,
    width: usize,
    out: &mut [T],
) {
    let k = out.len() / width.max(1);
    assert!(count <= width, "the panel is too narrow for all rows");
    assert!(
        count == 0 || k == 0 || values.len() >= (count - 1) * step + k,
        "the input ends before its last row"
    );
    let done = wide::transpose(values, step, count, width, out);
    for line in done..count {
        let values = &values[line * step..][..k];
        let out = out[line..].iter_mut().step_by(width);
        out.zip(values).for_each(|(out, &value)| *out = value);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m128, __m128d, __m256, __m256d, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_pd,
        _mm_unpackhi_ps, _mm_unpacklo_pd, _mm_unpacklo_ps, _mm256_castps128_ps256,
        _mm256_insertf128_ps, _mm256_permute2f128_pd, _mm256_shuffle_ps, _mm256_unpackhi_pd,
        _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpacklo_ps,
    };

    use bytemuck::Pod;
    use seqloom_core::simd;

    use crate::{Float, machine, tuned};

    /// Transposes as many rows as fill whole registers, and returns the number of
    /// transposed rows.
    pub(super) fn transpose<T: Float>(
        values: &[T],
        step: usize,
        count: usize,
        width: usize,
        out: &mut [T],
    ) -> usize {
        if simd::avx2().is_none() {
            return 0;
        }
        for (number, out) in out.chunks_mut(tuned::TRANSPOSE_BLOCK * width).enumerate() {
            let values = &values[(number * tuned::TRANSPOSE_BLOCK).min(values.len())..];
            // SAFETY: the processor has these instructions, as checked above.
            #[expect(unsafe_code, reason = "only some processors support it")]
            unsafe {
                if size_of::<T>() == size_of::<f32>() {
                    let (values, out) =
                        (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(out));
                    transpose_f32(values, step, (count, width), out);
                } else {
                    let (values, out) =
                        (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(out));
                    transpose_f64(values, step, (count, width), out);
                }
            }
        }
        count / 2 * 2
    }

    /// Transposes single-precision rows, eight, four or two rows at a time.
    #[target_feature(enable = "avx")]
    fn transpose_f32(values: &[f32], step: usize, (count, width): (usize, usize), out: &mut [f32]) {
        prefetch_lines(values, step, count);
        let mut line = 0;
        while count - line >= 8 {
            let get = |position: usize| transpose_eight(&values[line * step + position..], step);
            store_positions(&mut out[line..], width, &values[line * step..], step, get);
            line += 8;
        }
        if count - line >= 4 {
            let get = |position: usize| transpose_four(&values[line * step + position..], step);
            store_positions(&mut out[line..], width, &values[line * step..], step, get);
            line += 4;
        }
        if count - line >= 2 {
            let get = |position: usize| transpose_two(&values[line * step + position..], step);
            store_positions(&mut out[line..], width, &values[line * step..], step, get);
        }
    }

    /// Transposes double-precision rows, four or two rows at a time.
    #[target_feature(enable = "avx")]
    fn transpose_f64(values: &[f64], step: usize, (count, width): (usize, usize), out: &mut [f64]) {
        prefetch_lines(values, step, count);
        let mut line = 0;
        while count - line >= 4 {
            let get = |position: usize| transpose_four_f64(&values[line * step + position..], step);
            store_positions(&mut out[line..], width, &values[line * step..], step, get);
            line += 4;
        }
        if count - line >= 2 {
            let get = |position: usize| transpose_two_f64(&values[line * step + position..], step);
            store_positions(&mut out[line..], width, &values[line * step..], step, get);
        }
    }

    /// Prefetches the next values of all rows.
    #[inline(always)]
    fn prefetch_lines<T>(values: &[T], step: usize, count: usize) {
        for line in 0..count {
            let position = line * step + tuned::TRANSPOSE_PREFETCH;
            machine::prefetch(values.as_ptr().wrapping_add(position));
        }
    }

    /// Transposes `N` rows into `out`: `P` columns at a time, and the last columns one
    /// by one.
    #[inline(always)]
    fn store_positions<T: Pod, const N: usize, const P: usize>(
        out: &mut [T],
        width: usize,
        values: &[T],
        step: usize,
        get: impl Fn(usize) -> [[T; N]; P],
    ) {
        // The last row of `out` may be shorter than `width`.
        let k = out.len().div_ceil(width);
        assert!(k == 0 || out.len() >= (k - 1) * width + N, "short output");
        assert!(k == 0 || values.len() >= (N - 1) * step + k, "short input");
        for position in (0..k / P * P).step_by(P) {
            for (number, row) in get(position).into_iter().enumerate() {
                // SAFETY: each row with a position before `k` contains N values, as
                // asserted above.
                #[expect(unsafe_code, reason = "bounds checks cost as much as the copies")]
                unsafe {
                    let out = out.as_mut_ptr().add((position + number) * width);
                    out.cast::<[T; N]>().write_unaligned(row);
                }
            }
        }
        for position in k / P * P..k {
            let out = &mut out[position * width..][..N];
            (0..N).for_each(|line| out[line] = values[line * step + position]);
        }
    }

    /// Loads `N` values into a register.
    #[inline(always)]
    fn load<T: Pod, R: Pod, const N: usize>(values: &[T], start: usize) -> R {
        debug_assert!(start + N <= values.len());
        // SAFETY: `store_positions` asserts that all rows contain the requested
        // columns.
        #[expect(unsafe_code, reason = "bounds checks cost as much as the copies")]
        unsafe {
            values.as_ptr().add(start).cast::<R>().read_unaligned()
        }
    }

    /// Transposes four columns of eight rows.
    #[target_feature(enable = "avx")]
    #[inline]
    fn transpose_eight(values: &[f32], step: usize) -> [[f32; 8]; 4] {
        let [a, b, c, d] = [0, 1, 2, 3].map(|line| {
            let low: __m128 = load::<_, _, 4>(values, line * step);
            let high: __m128 = load::<_, _, 4>(values, (line + 4) * step);
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
        });
        let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (low_2, high_2) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let rows: [__m256; 4] = [
            _mm256_shuffle_ps::<0x44>(low, low_2),
            _mm256_shuffle_ps::<0xee>(low, low_2),
            _mm256_shuffle_ps::<0x44>(high, high_2),
            _mm256_shuffle_ps::<0xee>(high, high_2),
        ];
        rows.map(bytemuck::cast)
    }

    /// Transposes four columns of four rows.
    #[target_feature(enable = "avx")]
    #[inline]
    fn transpose_four(values: &[f32], step: usize) -> [[f32; 4]; 4] {
        let [a, b, c, d] = [0, 1, 2, 3].map(|line| load::<_, __m128, 4>(values, line * step));
        let (low, high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
        let (low_2, high_2) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
        let rows = [
            _mm_movelh_ps(low, low_2),
            _mm_movehl_ps(low_2, low),
            _mm_movelh_ps(high, high_2),
            _mm_movehl_ps(high_2, high),
        ];
        rows.map(bytemuck::cast)
    }

    /// Transposes four columns of two rows.
    #[target_feature(enable = "avx")]
    #[inline]
    fn transpose_two(values: &[f32], step: usize) -> [[f32; 2]; 4] {
        let [a, b] = [0, 1].map(|line| load::<_, __m128, 4>(values, line * step));
        bytemuck::cast([_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b)])
    }

    /// Transposes four columns of four double-precision rows.
    #[target_feature(enable = "avx")]
    #[inline]
    fn transpose_four_f64(values: &[f64], step: usize) -> [[f64; 4]; 4] {
        let [a, b, c, d] = [0, 1, 2, 3].map(|line| load::<_, __m256d, 4>(values, line * step));
        let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (even_2, odd_2) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        let rows = [
            _mm256_permute2f128_pd::<0x20>(even, even_2),
            _mm256_permute2f128_pd::<0x20>(odd, odd_2),
            _mm256_permute2f128_pd::<0x31>(even, even_2),
            _mm256_permute2f128_pd::<0x31>(odd, odd_2),
        ];
        rows.map(bytemuck::cast)
    }

    /// Transposes two columns of two double-precision rows.
    #[target_feature(enable = "avx")]
    #[inline]
    fn transpose_two_f64(values: &[f64], step: usize) -> [[f64; 2]; 2] {
        let [a, b] = [0, 1].map(|line| load::<_, __m128d, 2>(values, line * step));
        bytemuck::cast([_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b)])
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod wide {
    /// Returns 0, the number of transposed rows, because this processor has no
    /// instructions for transposition.
    pub(super) fn transpose<T>(_: &[T], _: usize, _: usize, _: usize, _: &mut [T]) -> usize {
        0
    }
}
