//! Int8 tile kernels for x86-64 processors.

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi32, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_set1_epi32, _mm256_storeu_si256, _mm512_add_epi32,
    _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_madd_epi16, _mm512_set1_epi32,
    _mm512_storeu_si512,
};

use super::tile::{CHUNK_WORDS, Int8Tile};

/// Returns the tile kernels that this processor supports. The kernels use 512-bit
/// registers with four or two products per word, or 256-bit registers.
pub(super) fn supported_tiles() -> [Option<Int8Tile>; 4] {
    let wide = is_x86_feature_detected!("avx512bw");
    let has_avx2 = is_x86_feature_detected!("avx2");
    [
        (wide && is_x86_feature_detected!("avx512vnni")).then_some(AVX512_VNNI),
        wide.then_some(AVX512),
        (has_avx2 && is_x86_feature_detected!("avxvnni")).then_some(AVX_VNNI),
        has_avx2.then_some(AVX2),
    ]
}

/// Defines a tile kernel for `$rows` rows by two registers of columns.
macro_rules! define_tile {
    (
        $(#[$doc:meta])*
        $name:ident = $features:literal, $rows:literal, $group:literal,
        $vector:ty, $load:ident, $splat:ident, $store:ident, $sum:ident,
        |$total:ident, $x:ident, $weight:ident| $dot:expr
    ) => {
        $(#[$doc])*
        const $name: Int8Tile = Int8Tile {
            rows: $rows,
            columns: size_of::<$vector>() / 2,
            group: $group,
            // SAFETY: `supported_tiles` returns this kernel only if the processor
            // supports its instructions.
            #[expect(unsafe_code, reason = "the processor supports this kernel")]
            sum: |rows, columns, sums| unsafe { $sum(rows, columns, sums) },
        };

        #[target_feature(enable = $features)]
        fn $sum(rows: &[u32], columns: &[u32], sums: &mut [i32]) {
            const REGISTER_WORDS: usize = size_of::<$vector>() / size_of::<u32>();
            // SAFETY: the array is as long as a register, and unaligned loads are
            // allowed.
            #[expect(unsafe_code, reason = "vector loads take a raw pointer")]
            let load = |words: &[u32; REGISTER_WORDS]| unsafe { $load(words.as_ptr().cast()) };
            // SAFETY: the array is as long as a register, and unaligned stores are
            // allowed.
            #[expect(unsafe_code, reason = "vector stores take a raw pointer")]
            let store = |sums: &mut [i32; REGISTER_WORDS], total: $vector| unsafe {
                $store(sums.as_mut_ptr().cast(), total);
            };
            let mut totals = [[$splat(0); 2]; $rows];
            let columns = columns.as_chunks().0.as_chunks::<2>().0;
            let (rows, _) = rows.as_chunks::<{ $rows * CHUNK_WORDS }>();
            for (columns, rows) in columns.chunks(CHUNK_WORDS).zip(rows) {
                for (step, [left, right]) in (0..CHUNK_WORDS).zip(columns) {
                    let weights = [load(left), load(right)];
                    for (row, totals) in totals.iter_mut().enumerate() {
                        let $x = $splat(rows[row * CHUNK_WORDS + step].cast_signed());
                        for (total, $weight) in totals.iter_mut().zip(weights) {
                            let $total = *total;
                            *total = $dot;
                        }
                    }
                }
            }
            let sums = sums.as_chunks_mut().0.as_chunks_mut::<2>().0;
            if let Some(sums) = sums.first_chunk_mut::<$rows>() {
                for ([left, right], totals) in sums.iter_mut().zip(&totals) {
                    store(left, totals[0]);
                    store(right, totals[1]);
                }
            }
        }
    };
}

define_tile! {
    /// The tile kernel with four 8-bit products per instruction and lane, in 512-bit
    /// registers.
    AVX512_VNNI = "avx512f,avx512bw,avx512vnni", 12, 4,
    __m512i, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512, sum_avx512_vnni,
    |total, x, weight| _mm512_dpbusd_epi32(total, x, weight)
}

define_tile! {
    /// The tile kernel with two 16-bit products per instruction and lane, in 512-bit
    /// registers.
    AVX512 = "avx512f,avx512bw", 12, 2,
    __m512i, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512, sum_avx512,
    |total, x, weight| _mm512_add_epi32(total, _mm512_madd_epi16(x, weight))
}

define_tile! {
    /// The tile kernel with four 8-bit products per instruction and lane, in 256-bit
    /// registers.
    AVX_VNNI = "avx2,avxvnni", 6, 4,
    __m256i, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256, sum_avx_vnni,
    |total, x, weight| _mm256_dpbusd_avx_epi32(total, x, weight)
}

define_tile! {
    /// The tile kernel with two 16-bit products per instruction and lane, in 256-bit
    /// registers. The instruction for 8-bit products is not used, because its sums
    /// saturate at 16 bits.
    AVX2 = "avx2", 6, 2,
    __m256i, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256, sum_avx2,
    |total, x, weight| _mm256_add_epi32(total, _mm256_madd_epi16(x, weight))
}
