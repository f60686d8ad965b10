//! How many genotypes of each kind stand in a line, and at each position of many lines.

use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// The low bit of each of the 32 codes in a word.
const LOW: u64 = 0x5555_5555_5555_5555;
const WORD: usize = 8;

/// How many genotypes have each code, in the order of the codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenotypeCounts {
    /// Code 00.
    pub hom_a1: u32,
    /// Code 01.
    pub missing: u32,
    /// Code 10.
    pub het: u32,
    /// Code 11.
    pub hom_a2: u32,
}

/// Which positions of a line count: a group of individuals, never the padding.
#[derive(Clone, Debug)]
pub struct PositionMask {
    /// As a line has it, with the low bit of each position that counts.
    words: Vec<u64>,
    size: u32,
}

impl PositionMask {
    /// One word for each position that says whether it counts.
    pub fn new(is_counted: impl ExactSizeIterator<Item = bool>) -> Self {
        let mut words = vec![0; is_counted.len().div_ceil(4 * WORD)];
        let mut size = 0;
        for (position, _) in is_counted.enumerate().filter(|(_, counts)| *counts) {
            if let Some(word) = words.get_mut(position / 32) {
                *word |= 1 << (position % 32 * 2);
                size += 1;
            }
        }
        Self { words, size }
    }

    /// The number of positions that count.
    pub const fn size(&self) -> u32 {
        self.size
    }
}

/// Counts the genotypes of one line.
pub fn count(line: &[u8], mask: &PositionMask) -> GenotypeCounts {
    if mask.size == 0 {
        return GenotypeCounts::default();
    }
    let [low, high, both] = sums(line, mask).map(low_half);
    GenotypeCounts {
        hom_a1: mask.size - (low + high - both),
        missing: low - both,
        het: high - both,
        hom_a2: both,
    }
}

/// No sum is above the number of positions, which fits.
#[expect(clippy::cast_possible_truncation, reason = "bounded by `Mask::size`")]
const fn low_half(sum: u64) -> u32 {
    sum as u32
}

/// How many codes have the low bit, the high bit, and both.
#[vectorized]
fn sums(line: &[u8], mask: &PositionMask) -> [u64; 3] {
    let (words, rest) = line.as_chunks::<WORD>();
    let mut sums = [0; 3];
    for (word, mask) in words.iter().zip(&mask.words) {
        add(&mut sums, u64::from_le_bytes(*word), *mask);
    }
    let mut last = [0; WORD];
    for (byte, from) in last.iter_mut().zip(rest) {
        *byte = *from;
    }
    let mask = mask.words.get(words.len()).copied();
    add(
        &mut sums,
        u64::from_le_bytes(last),
        mask.unwrap_or_default(),
    );
    sums
}

#[inline(always)]
fn add(sums: &mut [u64; 3], word: u64, mask: u64) {
    let (low, high) = (word & mask & LOW, (word >> 1) & mask & LOW);
    for (sum, bits) in sums.iter_mut().zip([low, high, low & high]) {
        *sum += u64::from(bits.count_ones());
    }
}

/// How many bytes of every line are counted together: their counts stay in the nearest cache.
const WIDTH: usize = 256;
/// Three codes' worth of bits fit into two bits, 85 times three into a byte.
const TRIPLES: usize = 85;

/// Adds to each position's counts what stands there in some lines: how many are missing, and
/// with `N` of 3 how many are heterozygous and homozygous A2 besides.
///
/// The lines begin at the byte of the first position; what they have beyond the last is left
/// out.
#[vectorized]
pub fn count_positions<const N: usize>(lines: &[&[u8]], counts: &mut [[u32; N]]) {
    for (number, counts) in counts.chunks_mut(4 * WIDTH).enumerate() {
        for lines in lines.chunks(3 * TRIPLES) {
            let mut bytes = [[[0; WIDTH]; 4]; N];
            for three in lines.chunks(3) {
                pile(&mut bytes, &sum_of(three, number * WIDTH));
            }
            spread(&bytes, counts);
        }
    }
}

/// Sums each kind of up to three lines, two bits a position.
#[inline(always)]
fn sum_of<const N: usize>(lines: &[&[u8]], start: usize) -> [[u8; WIDTH]; N] {
    let mut sums = [[0; WIDTH]; N];
    for line in lines {
        let line = line.get(start..).unwrap_or_default();
        for (kind, sums) in sums.iter_mut().enumerate() {
            for (sum, byte) in sums.iter_mut().zip(line) {
                *sum += positions_of(kind, *byte);
            }
        }
    }
    sums
}

/// The low bit of each position of a byte that is missing, heterozygous, or homozygous A2.
#[inline(always)]
const fn positions_of(kind: usize, byte: u8) -> u8 {
    let (low, high) = (byte & 0x55, (byte >> 1) & 0x55);
    match kind {
        0 => low & !high,
        1 => high & !low,
        _ => low & high,
    }
}

/// Adds sums of two bits a position to sums of a byte a position, those of every fourth position
/// side by side.
#[inline(always)]
fn pile<const N: usize>(bytes: &mut [[[u8; WIDTH]; 4]; N], sums: &[[u8; WIDTH]; N]) {
    for (quarters, sums) in bytes.iter_mut().zip(sums) {
        for (position, quarter) in quarters.iter_mut().enumerate() {
            for (byte, sum) in quarter.iter_mut().zip(sums) {
                *byte += (sum >> (2 * position)) & 3;
            }
        }
    }
}

/// Adds the sums of a byte a position to the counts.
#[inline(always)]
fn spread<const N: usize>(bytes: &[[[u8; WIDTH]; 4]; N], counts: &mut [[u32; N]]) {
    for (at, four) in counts.chunks_mut(4).enumerate() {
        for (position, counts) in four.iter_mut().enumerate() {
            for (count, quarters) in counts.iter_mut().zip(bytes) {
                let byte = quarters.get(position).and_then(|quarter| quarter.get(at));
                *count += u32::from(byte.copied().unwrap_or_default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(line: &[u8], position: usize) -> usize {
        usize::from((line[position / 4] >> (position % 4 * 2)) & 3)
    }

    fn slow(line: &[u8], is_counted: &[bool]) -> GenotypeCounts {
        let mut counts = [0; 4];
        for (position, _) in is_counted.iter().enumerate().filter(|(_, counts)| **counts) {
            counts[code(line, position)] += 1;
        }
        let [hom_a1, missing, het, hom_a2] = counts;
        GenotypeCounts {
            hom_a1,
            missing,
            het,
            hom_a2,
        }
    }

    #[test]
    fn padding_is_not_counted() {
        let all = PositionMask::new([true; 5].into_iter());
        let found = count(&[0b0001_1011, 0b1111_1101], &all);
        assert_eq!(
            found,
            GenotypeCounts {
                hom_a1: 1,
                missing: 2,
                het: 1,
                hom_a2: 1
            }
        );
    }

    #[test]
    fn positions_of_many_lines_are_counted_to_the_end_of_a_byte() {
        let (line, mut counts) = ([0b1110_0100], [[0; 3]; 4]);
        count_positions(&vec![&line[..]; 1000], &mut counts);
        assert_eq!(
            counts,
            [[0, 0, 0], [1000, 0, 0], [0, 1000, 0], [0, 0, 1000]]
        );
    }

    proptest! {
        #[test]
        fn a_line_is_counted_code_by_code(
            line in prop::collection::vec(any::<u8>(), 0..200),
            wanted in prop::collection::vec(any::<bool>(), 800),
            padding in 0_usize..4,
        ) {
            let positions = (4 * line.len()).saturating_sub(padding);
            let wanted = &wanted[..positions];
            let mask = PositionMask::new(wanted.iter().copied());
            prop_assert_eq!(count(&line, &mask), slow(&line, wanted));
        }

        #[test]
        fn positions_are_counted_line_by_line(
            lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 600), 0..9),
            times in 1_usize..60,
            positions in 0_usize..2400,
        ) {
            let many: Vec<&[u8]> = lines.iter().map(Vec::as_slice).cycle().take(times * lines.len()).collect();
            let mut counts = vec![[0; 3]; positions];
            count_positions(&many, &mut counts);
            for (position, found) in counts.iter().enumerate() {
                let here = |wanted| many.iter().filter(|line| code(line, position) == wanted).count();
                prop_assert_eq!(found.map(|n| n as usize), [here(1), here(2), here(3)]);
            }
        }
    }
}
