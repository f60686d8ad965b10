//! The vector loops that decode genotypes with AVX2.

use pulp::{cast, x86::V3};
use seqloom_core::simd;

use super::CodeTable;
use super::kernels::DecodeKernels;
use super::square::{SQUARE_SIDE, Square};

/// Runs `work` if this machine has AVX2; otherwise returns 0.
fn run_with_avx2(work: impl FnOnce(V3) -> usize) -> usize {
    let Some(simd) = simd::avx2() else {
        return 0;
    };
    simd.vectorize(
        #[inline(always)]
        || work(simd),
    )
}

macro_rules! impl_decode_kernels {
    ($number:ty, $rows:expr, $columns:expr) => {
        impl DecodeKernels for $number {
            fn decode_rows(codes: &[u8], table: &CodeTable<Self>, out: &mut [Self]) -> usize {
                run_with_avx2(
                    #[inline(always)]
                    |simd| $rows(simd, codes, table, out),
                )
            }

            fn decode_columns(
                bytes: &[u8],
                shift: u32,
                table: &CodeTable<Self>,
                out: &mut [Self],
            ) -> usize {
                run_with_avx2(
                    #[inline(always)]
                    |simd| $columns(simd, (bytes, shift), table, out),
                )
            }
        }
    };
}
impl_decode_kernels!(i8, decode_rows_i8, decode_columns_i8);
impl_decode_kernels!(f32, decode_rows_f32, decode_columns_f32);
impl_decode_kernels!(f64, decode_rows_f64, decode_columns_f64);

/// Returns a table with 16 entries: the number for code `c` is at index `c` and at
/// index `4 * c`.
#[inline(always)]
fn broadcast_table(simd: V3, table: &CodeTable<i8>) -> std::arch::x86_64::__m256i {
    let mut positions = [0_i8; 16];
    for (code, value) in table.iter().enumerate() {
        positions[code] = *value;
        positions[4 * code] = *value;
    }
    simd.avx2._mm256_broadcastsi128_si256(cast(positions))
}

/// Decodes 8 bytes to 32 numbers. Each byte is copied four times, and each copy is
/// masked to one code. The masked code is used as a table index without a shift.
#[inline(always)]
fn decode_rows_i8(simd: V3, codes: &[u8], table: &CodeTable<i8>, out: &mut [i8]) -> usize {
    let (avx, avx2) = (simd.avx, simd.avx2);
    let values = broadcast_table(simd, table);
    let four: [u8; 32] = std::array::from_fn(|at| [0, 1, 2, 3, 4, 5, 6, 7][at / 4]);
    let lower: [u8; 32] = std::array::from_fn(|at| [0x03, 0x0c, 0, 0][at % 4]);
    let upper: [u8; 32] = std::array::from_fn(|at| [0, 0, 0x30, 0xc0][at % 4]);
    let (four, lower, upper) = (cast(four), cast(lower), cast(upper));
    let (words, _) = codes.as_chunks::<8>();
    let (outs, _) = out.as_chunks_mut::<32>();
    for (word, out) in words.iter().zip(&mut *outs) {
        let bytes =
            avx2._mm256_shuffle_epi8(avx._mm256_set1_epi64x(i64::from_le_bytes(*word)), four);
        let low = avx2._mm256_and_si256(bytes, lower);
        let high = avx2._mm256_srli_epi16::<4>(avx2._mm256_and_si256(bytes, upper));
        let index = avx2._mm256_or_si256(low, high);
        *out = cast(avx2._mm256_shuffle_epi8(values, index));
    }
    32 * words.len().min(outs.len())
}

/// Decodes 4 bytes to 16 numbers. Each lane is shifted until its code is in the lowest bits.
#[inline(always)]
fn decode_rows_f32(simd: V3, codes: &[u8], table: &CodeTable<f32>, out: &mut [f32]) -> usize {
    let (avx, avx2) = (simd.avx, simd.avx2);
    let values = avx._mm256_broadcast_ps(&cast(*table));
    let (low, high) = (
        cast([0, 2, 4, 6, 8, 10, 12, 14]),
        cast([16, 18, 20, 22, 24, 26, 28, 30]),
    );
    let (words, _) = codes.as_chunks::<4>();
    let (outs, _) = out.as_chunks_mut::<16>();
    for (word, out) in words.iter().zip(&mut *outs) {
        let word = avx._mm256_set1_epi32(i32::from_le_bytes(*word));
        let first = avx._mm256_permutevar_ps(values, avx2._mm256_srlv_epi32(word, low));
        let second = avx._mm256_permutevar_ps(values, avx2._mm256_srlv_epi32(word, high));
        *out = cast([first, second]);
    }
    16 * words.len().min(outs.len())
}

/// Decodes 1 byte to 4 numbers. Each 64-bit number is looked up as two 32-bit halves.
#[inline(always)]
fn decode_rows_f64(simd: V3, codes: &[u8], table: &CodeTable<f64>, out: &mut [f64]) -> usize {
    let avx2 = simd.avx2;
    let shifts = cast([0, 0, 2, 2, 4, 4, 6, 6]);
    let (outs, _) = out.as_chunks_mut::<4>();
    for (byte, out) in codes.iter().zip(&mut *outs) {
        let bytes = simd.avx._mm256_set1_epi32(i32::from(*byte));
        *out = lookup_f64(simd, table, avx2._mm256_srlv_epi32(bytes, shifts));
    }
    4 * codes.len().min(outs.len())
}

/// Looks up a number for each of four codes, which are in the lowest bits of each pair of
/// 32-bit lanes.
#[inline(always)]
fn lookup_f64(simd: V3, table: &CodeTable<f64>, codes: std::arch::x86_64::__m256i) -> [f64; 4] {
    let avx2 = simd.avx2;
    let code = avx2._mm256_and_si256(codes, cast([3_i32; 8]));
    let half = avx2._mm256_or_si256(
        avx2._mm256_add_epi32(code, code),
        cast([0, 1, 0, 1, 0, 1, 0, 1]),
    );
    cast(avx2._mm256_permutevar8x32_epi32(cast(*table), half))
}

/// Decodes one code of each of 32 bytes.
#[inline(always)]
fn decode_columns_i8(
    simd: V3,
    (bytes, shift): (&[u8], u32),
    table: &CodeTable<i8>,
    out: &mut [i8],
) -> usize {
    let avx2 = simd.avx2;
    let (values, lowest) = (broadcast_table(simd, table), cast([3_u8; 32]));
    let shift = cast([u64::from(shift), 0]);
    let (words, _) = bytes.as_chunks::<32>();
    let (outs, _) = out.as_chunks_mut::<32>();
    for (word, out) in words.iter().zip(&mut *outs) {
        let codes = avx2._mm256_and_si256(avx2._mm256_srl_epi16(cast(*word), shift), lowest);
        *out = cast(avx2._mm256_shuffle_epi8(values, codes));
    }
    32 * words.len().min(outs.len())
}

/// Decodes one code of each of 8 bytes.
#[inline(always)]
fn decode_columns_f32(
    simd: V3,
    (bytes, shift): (&[u8], u32),
    table: &CodeTable<f32>,
    out: &mut [f32],
) -> usize {
    let (avx, avx2) = (simd.avx, simd.avx2);
    let values = avx._mm256_broadcast_ps(&cast(*table));
    let shift = cast([u64::from(shift), 0]);
    let (words, _) = bytes.as_chunks::<8>();
    let (outs, _) = out.as_chunks_mut::<8>();
    for (word, out) in words.iter().zip(&mut *outs) {
        let lanes = avx2._mm256_cvtepu8_epi32(cast([u64::from_le_bytes(*word), 0]));
        *out = cast(avx._mm256_permutevar_ps(values, avx2._mm256_srl_epi32(lanes, shift)));
    }
    8 * words.len().min(outs.len())
}

/// Decodes one code of each of 4 bytes.
#[inline(always)]
fn decode_columns_f64(
    simd: V3,
    (bytes, shift): (&[u8], u32),
    table: &CodeTable<f64>,
    out: &mut [f64],
) -> usize {
    let avx2 = simd.avx2;
    let shift = cast([u64::from(shift), 0]);
    let (words, _) = bytes.as_chunks::<4>();
    let (outs, _) = out.as_chunks_mut::<4>();
    for (word, out) in words.iter().zip(&mut *outs) {
        let lanes = avx2._mm256_cvtepu8_epi64(cast([u32::from_le_bytes(*word), 0, 0, 0]));
        let pairs = avx2._mm256_shuffle_epi32::<0b10_10_00_00>(lanes);
        *out = lookup_f64(simd, table, avx2._mm256_srl_epi32(pairs, shift));
    }
    4 * words.len().min(outs.len())
}

/// Transposes a square. Each of eight registers contains two rows of the square: row
/// `i` and row `i + 8`. Three perfect shuffles transpose the eight rows of each half;
/// then the halves are combined.
#[inline(always)]
pub(super) fn transpose_square(simd: V3, square: Square) -> Square {
    let (avx, avx2) = (simd.avx, simd.avx2);
    let mut pairs = [avx._mm256_setzero_si256(); SQUARE_SIDE / 2];
    for (row, pair) in pairs.iter_mut().enumerate() {
        let upper = avx._mm256_castsi128_si256(cast(square[row]));
        *pair = avx2._mm256_inserti128_si256::<1>(upper, cast(square[row + SQUARE_SIDE / 2]));
    }
    for _ in 0..3 {
        let before = pairs;
        for at in 0..SQUARE_SIDE / 4 {
            let (first, second) = (before[at], before[at + SQUARE_SIDE / 4]);
            pairs[2 * at] = avx2._mm256_unpacklo_epi8(first, second);
            pairs[2 * at + 1] = avx2._mm256_unpackhi_epi8(first, second);
        }
    }
    for pair in &mut pairs {
        *pair = avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(*pair);
    }
    cast(pairs)
}
