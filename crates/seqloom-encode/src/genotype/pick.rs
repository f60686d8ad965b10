//! Picks some genotypes out of a packed line (one variant, two bits a person) and packs them
//! side by side.
//!
//! Two-bit codes are moved as they are, up to 32 in one instruction; what decodes whole lines
//! then decodes these.

#[cfg(target_arch = "x86_64")]
use std::hint::black_box;
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;
#[cfg(target_arch = "x86_64")]
use std::time::{Duration, Instant};

/// The bytes of a line that are compared at once.
const STEP: usize = 8;

/// The number of bytes that must follow the last line: they are read and not used.
pub const SLACK: usize = STEP;

/// So many positions in a step are many.
const MANY: usize = 6;

/// The positions of a line that are kept: ascending, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptPositions {
    steps: Vec<ByteStep>,
    /// The steps that make up each eight bytes of the outcome: up to which.
    ends: Vec<usize>,
    count: usize,
}

/// What is kept of eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ByteStep {
    /// Where they begin in the line.
    at: usize,
    /// Both bits of each position that is kept.
    mask: u64,
    /// Where in the outcome's eight bytes they come to stand.
    shift: usize,
}

impl KeptPositions {
    /// Those at some positions, in any order, and for each position which of the kept ones it
    /// is; nothing if that is simply one after the other.
    pub fn new(positions: &[usize]) -> (Self, Option<Vec<usize>>) {
        if positions.is_sorted_by(|a, b| a < b) {
            return (Self::ascending(positions), None);
        }
        let mut sorted = positions.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let rank = |at: &usize| sorted.partition_point(|other| other < at);
        let ranks = positions.iter().map(rank).collect();
        (Self::ascending(&sorted), Some(ranks))
    }

    fn ascending(positions: &[usize]) -> Self {
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        for together in positions.chunks(4 * STEP) {
            let first = steps.len();
            for (rank, position) in together.iter().enumerate() {
                let at = position / (4 * STEP) * STEP;
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

    /// How many positions are kept.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes that the codes take.
    pub fn stride(&self) -> usize {
        self.count.div_ceil(4)
    }

    /// Whether whole words are moved quickly, and hold many of the positions.
    pub fn is_quick(&self) -> bool {
        is_quick() && self.steps.len() * MANY <= self.count
    }

    /// Moves the codes of a line, with [`SLACK`] more bytes behind it, together into `out`,
    /// which has [`KeptPositions::stride`] bytes.
    #[cfg(target_arch = "x86_64")]
    pub fn line(&self, line: &[u8], out: &mut [u8]) {
        match seqloom_core::simd::avx2().filter(|_| *IS_QUICK) {
            Some(simd) => simd.vectorize(
                #[inline(always)]
                || self.moved(line, out, |word, mask| extract_at_once(simd, word, mask)),
            ),
            None => self.moved(line, out, extract),
        }
    }

    /// Moves the codes of a line, with [`SLACK`] more bytes behind it, together into `out`,
    /// which has [`KeptPositions::stride`] bytes.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn line(&self, line: &[u8], out: &mut [u8]) {
        self.moved(line, out, extract);
    }

    #[inline(always)]
    fn moved(&self, line: &[u8], out: &mut [u8], extract: impl Fn(u64, u64) -> u64) {
        let mut first = 0;
        let mut words = self.ends.iter().map(|&end| {
            let steps = &self.steps[first..end];
            first = end;
            steps.iter().fold(0, |found, step| {
                found | extract(word(line, step.at), step.mask) << step.shift
            })
        });
        let (whole, rest) = out.as_chunks_mut::<STEP>();
        for (out, word) in whole.iter_mut().zip(&mut words) {
            *out = word.to_le_bytes();
        }
        for (out, byte) in rest.iter_mut().zip(words.flat_map(u64::to_le_bytes)) {
            *out = byte;
        }
    }
}

#[inline(always)]
fn word(line: &[u8], at: usize) -> u64 {
    let bytes = line.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The bits of `word` where `mask` has ones, moved together.
fn extract(word: u64, mut mask: u64) -> u64 {
    let (mut found, mut at) = (0, 0);
    while mask != 0 {
        found |= (word >> mask.trailing_zeros() & 3) << at;
        mask &= mask - 1;
        mask &= mask - 1;
        at += 2;
    }
    found
}

/// The same in one instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn extract_at_once(_: pulp::x86::V3, word: u64, mask: u64) -> u64 {
    #[expect(unsafe_code, reason = "pulp does not have the instruction")]
    // SAFETY: the token exists only on a machine with BMI2.
    unsafe {
        std::arch::x86_64::_pext_u64(word, mask)
    }
}

/// Whether the instruction is quicker than the loop. On AMD's processors before Zen 3 it is a
/// routine of up to some hundred steps (microcode). Both are timed once, in microseconds.
#[cfg(target_arch = "x86_64")]
static IS_QUICK: LazyLock<bool> = LazyLock::new(|| {
    seqloom_core::simd::avx2().is_some_and(|simd| {
        let at_once = simd.vectorize(
            #[inline(always)]
            || least(|word, mask| extract_at_once(simd, word, mask)),
        );
        at_once < least(extract)
    })
});

/// Whether there is such an instruction, and it is quick.
fn is_quick() -> bool {
    #[cfg(target_arch = "x86_64")]
    return seqloom_core::simd::avx2().is_some() && *IS_QUICK;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The least time in which some words are gone through.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn least(extract: impl Fn(u64, u64) -> u64) -> Option<Duration> {
    let once = |_| {
        let start = Instant::now();
        let moved = (0..WORDS).fold(black_box(u64::MAX), |word, _| {
            extract(word, black_box(EVERY_OTHER)) | !EVERY_OTHER
        });
        black_box(moved);
        start.elapsed()
    };
    (0..ROUNDS).map(once).min()
}

/// How many words are gone through, and how often, before one way is chosen.
#[cfg(target_arch = "x86_64")]
const WORDS: usize = 64;
#[cfg(target_arch = "x86_64")]
const ROUNDS: usize = 9;
/// A mask that keeps every other position.
#[cfg(target_arch = "x86_64")]
const EVERY_OTHER: u64 = 0x3333_3333_3333_3333;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codes(line: &[u8], count: usize) -> Vec<u8> {
        (0..count)
            .map(|position| line[position / 4] >> (2 * (position % 4)) & 3)
            .collect()
    }

    #[test]
    fn what_is_kept_of_each_line_is_what_was_asked_for() {
        let stride = 100;
        let mut lines: Vec<u8> = (0..3 * stride)
            .map(|i: usize| (i * 37).to_le_bytes()[0])
            .collect();
        lines.resize(lines.len() + SLACK, 0xff);
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
                let all = codes(&lines[line * stride..], 400);
                let found = codes(&out[line * kept.stride()..], kept.len());
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
    fn the_loop_moves_bits_together() {
        assert_eq!(extract(0b11_10_01_00, 0b11_00_11_11), 0b11_01_00);
        assert_eq!(extract(u64::MAX, u64::MAX), u64::MAX);
    }

    #[cfg(target_arch = "x86_64")]
    proptest! {
        #[test]
        fn the_instruction_and_the_loop_move_the_same_bits(word: u64, positions: u32) {
            let kept = (0..32).filter(|position| positions >> position & 1 == 1);
            let mask = kept.fold(0, |mask, position| mask | 3 << (2 * position));
            if let Some(simd) = pulp::x86::V3::try_new() {
                prop_assert_eq!(extract_at_once(simd, word, mask), extract(word, mask));
            }
        }
    }
}
