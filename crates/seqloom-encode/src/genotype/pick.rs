//! Copies the genotypes of selected columns from a packed row into a shorter packed
//! row.
//!
//! The codes are moved without being decoded, up to 32 codes with one instruction. The
//! shorter row is then decoded as a whole.

#[cfg(target_arch = "x86_64")]
use std::hint::black_box;
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;
#[cfg(target_arch = "x86_64")]
use std::time::{Duration, Instant};

/// The number of bytes of a packed row that are processed in one step.
const STEP_BYTES: usize = 8;

/// The number of bytes that must follow the last packed row. The bytes after the last
/// row are read but not used.
pub const SLACK_BYTES: usize = STEP_BYTES;

/// The minimum average number of selected columns per step for which moving codes is
/// faster than decoding.
const MIN_STEP_POSITIONS: usize = 6;

/// The selected columns of packed rows, ascending and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptPositions {
    steps: Vec<ByteStep>,
    /// For every eight output bytes, one plus the index of the last step that writes
    /// codes into these bytes.
    ends: Vec<usize>,
    count: usize,
}

/// The selected columns within eight bytes of a packed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByteStep {
    /// The offset of the eight bytes in the packed row.
    at: usize,
    /// A mask with both bits of each selected column.
    mask: u64,
    /// The bit offset at which the selected codes begin in the eight output bytes.
    shift: usize,
}

impl KeptPositions {
    /// Creates the selection from column indices in any order. Also returns the index
    /// of each column in the selection, or `None` if the columns are already ascending.
    pub fn new(positions: &[usize]) -> (Self, Option<Vec<usize>>) {
        if positions.is_sorted_by(|a, b| a < b) {
            return (Self::from_ascending(positions), None);
        }
        let mut sorted = positions.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let rank = |at: &usize| sorted.partition_point(|other| other < at);
        let ranks = positions.iter().map(rank).collect();
        (Self::from_ascending(&sorted), Some(ranks))
    }

    fn from_ascending(positions: &[usize]) -> Self {
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        for together in positions.chunks(4 * STEP_BYTES) {
            let first = steps.len();
            for (rank, position) in together.iter().enumerate() {
                let at = position / (4 * STEP_BYTES) * STEP_BYTES;
                let mask = 3 << (2 * (position - 4 * at));
                match steps[first..].last_mut() {
                    Some(ByteStep {
                        at: last,
                        mask: all,
                        ..
                    }) if *last == at => *all |= mask,
                    _ => steps.push(ByteStep {
                        at,
                        mask,
                        shift: 2 * rank,
                    }),
                }
            }
            ends.push(steps.len());
        }
        let count = positions.len();
        Self { steps, ends, count }
    }

    /// Returns the number of selected columns.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if no column is selected.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the size of an output row in bytes.
    pub fn stride(&self) -> usize {
        self.count.div_ceil(4)
    }

    /// Returns true if the processor has a fast instruction for moving codes, and each
    /// step moves enough codes.
    pub fn is_fast(&self) -> bool {
        is_pext_fast() && self.steps.len() * MIN_STEP_POSITIONS <= self.count
    }

    /// Copies the selected codes of a packed row to `out`, which has
    /// [`KeptPositions::stride`] bytes. At least [`SLACK_BYTES`] more bytes must follow
    /// the row.
    #[cfg(target_arch = "x86_64")]
    pub fn line(&self, line: &[u8], out: &mut [u8]) {
        match seqloom_core::simd::avx2().filter(|_| *IS_PEXT_FAST) {
            Some(simd) => simd.vectorize(
                #[inline(always)]
                || self.move_codes(line, out, |word, mask| extract_bits_pext(simd, word, mask)),
            ),
            None => self.move_codes(line, out, extract_bits),
        }
    }

    /// Copies the selected codes of a packed row to `out`, which has
    /// [`KeptPositions::stride`] bytes. At least [`SLACK_BYTES`] more bytes must follow
    /// the row.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn line(&self, line: &[u8], out: &mut [u8]) {
        self.move_codes(line, out, extract_bits);
    }

    #[inline(always)]
    fn move_codes(&self, line: &[u8], out: &mut [u8], extract: impl Fn(u64, u64) -> u64) {
        let mut first = 0;
        let mut words = self.ends.iter().map(|&end| {
            let steps = &self.steps[first..end];
            first = end;
            steps.iter().fold(0, |found, step| {
                found | extract(read_word(line, step.at), step.mask) << step.shift
            })
        });
        let (whole, rest) = out.as_chunks_mut::<STEP_BYTES>();
        for (out, word) in whole.iter_mut().zip(&mut words) {
            *out = word.to_le_bytes();
        }
        for (out, byte) in rest.iter_mut().zip(words.flat_map(u64::to_le_bytes)) {
            *out = byte;
        }
    }
}

#[inline(always)]
fn read_word(line: &[u8], at: usize) -> u64 {
    let bytes = line.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the bits of `word` that are selected by `mask`, moved together to the low
/// bits.
fn extract_bits(word: u64, mut mask: u64) -> u64 {
    let (mut found, mut at) = (0, 0);
    while mask != 0 {
        found |= (word >> mask.trailing_zeros() & 3) << at;
        mask &= mask - 1;
        mask &= mask - 1;
        at += 2;
    }
    found
}

/// Does the same as [`extract_bits`] with one PEXT instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn extract_bits_pext(_: pulp::x86::V3, word: u64, mask: u64) -> u64 {
    #[expect(unsafe_code, reason = "pulp does not have the instruction")]
    // SAFETY: the token exists only on a machine with BMI2.
    unsafe {
        std::arch::x86_64::_pext_u64(word, mask)
    }
}

/// True if the PEXT instruction is faster than the loop. On AMD processors before Zen
/// 3, PEXT is implemented in slow microcode. PEXT and the loop are timed once, which
/// takes microseconds.
#[cfg(target_arch = "x86_64")]
static IS_PEXT_FAST: LazyLock<bool> = LazyLock::new(|| {
    seqloom_core::simd::avx2().is_some_and(|simd| {
        let by_instruction = simd.vectorize(
            #[inline(always)]
            || min_extract_time(|word, mask| extract_bits_pext(simd, word, mask)),
        );
        by_instruction < min_extract_time(extract_bits)
    })
});

/// Returns true if the processor has PEXT, and PEXT is faster than the loop.
fn is_pext_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return seqloom_core::simd::avx2().is_some() && *IS_PEXT_FAST;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Returns the shortest of several measured times for extracting bits from
/// [`TIMED_WORDS`] words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn min_extract_time(extract: impl Fn(u64, u64) -> u64) -> Option<Duration> {
    let once = |_| {
        let start = Instant::now();
        let moved = (0..TIMED_WORDS).fold(black_box(u64::MAX), |word, _| {
            extract(word, black_box(EVERY_OTHER_CODE)) | !EVERY_OTHER_CODE
        });
        black_box(moved);
        start.elapsed()
    };
    (0..TIMED_ROUNDS).map(once).min()
}

/// The number of words for one time measurement.
#[cfg(target_arch = "x86_64")]
const TIMED_WORDS: usize = 64;
/// The number of time measurements.
#[cfg(target_arch = "x86_64")]
const TIMED_ROUNDS: usize = 9;
/// A mask that selects every other two-bit code.
#[cfg(target_arch = "x86_64")]
const EVERY_OTHER_CODE: u64 = 0x3333_3333_3333_3333;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpack_codes(line: &[u8], count: usize) -> Vec<u8> {
        (0..count)
            .map(|position| line[position / 4] >> (2 * (position % 4)) & 3)
            .collect()
    }

    #[test]
    fn each_line_keeps_the_requested_codes() {
        let stride = 100;
        let mut lines: Vec<u8> = (0..3 * stride)
            .map(|i: usize| (i * 37).to_le_bytes()[0])
            .collect();
        lines.resize(lines.len() + SLACK_BYTES, 0xff);
        for positions in [
            vec![],
            vec![399],
            vec![7, 3, 3, 399, 0],
            (0..400).collect(),
            (0..400).step_by(3).collect(),
            (0..200).map(|i| i * 7919 % 400).collect(),
        ] {
            let (kept, ranks) = KeptPositions::new(&positions);
            let mut out = vec![0; 3 * kept.stride()];
            for (line, out) in out.chunks_exact_mut(kept.stride().max(1)).enumerate() {
                kept.line(&lines[line * stride..], out);
            }
            for line in 0..3 {
                let all = unpack_codes(&lines[line * stride..], 400);
                let found = unpack_codes(&out[line * kept.stride()..], kept.len());
                let ranks = ranks
                    .clone()
                    .unwrap_or_else(|| (0..positions.len()).collect());
                let found: Vec<u8> = ranks.iter().map(|&rank| found[rank]).collect();
                let expected: Vec<u8> = positions.iter().map(|&at| all[at]).collect();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_fallback_loop_moves_selected_bits_to_the_low_bits() {
        assert_eq!(extract_bits(0b11_10_01_00, 0b11_00_11_11), 0b11_01_00);
        assert_eq!(extract_bits(u64::MAX, u64::MAX), u64::MAX);
    }

    #[cfg(target_arch = "x86_64")]
    proptest! {
        #[test]
        fn pext_and_the_fallback_loop_extract_the_same_bits(word: u64, positions: u32) {
            let kept = (0..32).filter(|position| positions >> position & 1 == 1);
            let mask = kept.fold(0, |mask, position| mask | 3 << (2 * position));
            if let Some(simd) = pulp::x86::V3::try_new() {
                prop_assert_eq!(extract_bits_pext(simd, word, mask), extract_bits(word, mask));
            }
        }
    }
}
