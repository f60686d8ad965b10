//! Counts the genotypes in each row or in each column of a packed matrix.

use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// The low bit of each of the 32 codes in a 64-bit word.
const LOW_BITS: u64 = 0x5555_5555_5555_5555;
/// The number of bytes in a 64-bit word.
const WORD_BYTES: usize = 8;

/// The number of genotypes with each two-bit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenotypeCounts {
    /// The number of genotypes with code 00.
    pub hom_a1: u32,
    /// The number of genotypes with code 01.
    pub missing: u32,
    /// The number of genotypes with code 10.
    pub het: u32,
    /// The number of genotypes with code 11.
    pub hom_a2: u32,
}

/// The columns of packed rows in which genotypes are counted. Padding is never counted.
#[derive(Clone, Debug)]
pub struct PositionMask {
    /// A packed row in which the low bit of each column to count is set.
    words: Vec<u64>,
    size: u32,
}

impl PositionMask {
    /// Creates the mask from one boolean for each column.
    pub fn new(is_counted: impl ExactSizeIterator<Item = bool>) -> Self {
        let mut words = vec![0; is_counted.len().div_ceil(4 * WORD_BYTES)];
        let mut size = 0;
        for (position, _) in is_counted.enumerate().filter(|(_, counts)| *counts) {
            if let Some(word) = words.get_mut(position / 32) {
                *word |= 1 << (position % 32 * 2);
                size += 1;
            }
        }
        Self { words, size }
    }

    /// Returns the number of columns to count.
    pub const fn counted_positions(&self) -> u32 {
        self.size
    }
}

/// Counts the genotypes of one packed row.
pub fn count_genotypes(line: &[u8], mask: &PositionMask) -> GenotypeCounts {
    if mask.size == 0 {
        return GenotypeCounts::default();
    }
    let [low, high, both] = count_code_bits(line, mask).map(to_u32);
    GenotypeCounts {
        hom_a1: mask.size - (low + high - both),
        missing: low - both,
        het: high - both,
        hom_a2: both,
    }
}

/// Converts a sum, which is at most the number of columns, to `u32`.
#[expect(clippy::cast_possible_truncation, reason = "at most `mask.size`")]
const fn to_u32(sum: u64) -> u32 {
    sum as u32
}

/// Returns the number of codes with the low bit set, with the high bit set, and with
/// both bits set.
#[vectorized]
fn count_code_bits(line: &[u8], mask: &PositionMask) -> [u64; 3] {
    let (words, rest) = line.as_chunks::<WORD_BYTES>();
    let mut sums = [0; 3];
    for (word, mask) in words.iter().zip(&mask.words) {
        add_word_counts(&mut sums, u64::from_le_bytes(*word), *mask);
    }
    let mut last = [0; WORD_BYTES];
    for (byte, from) in last.iter_mut().zip(rest) {
        *byte = *from;
    }
    let mask = mask.words.get(words.len()).copied();
    add_word_counts(
        &mut sums,
        u64::from_le_bytes(last),
        mask.unwrap_or_default(),
    );
    sums
}

#[inline(always)]
fn add_word_counts(sums: &mut [u64; 3], word: u64, mask: u64) {
    let (low, high) = (word & mask & LOW_BITS, (word >> 1) & mask & LOW_BITS);
    for (sum, bits) in sums.iter_mut().zip([low, high, low & high]) {
        *sum += u64::from(bits.count_ones());
    }
}

/// The number of bytes of each row that are processed together. The counts for these
/// bytes fit in an L1 cache.
const COUNTED_BYTES: usize = 256;
/// One-byte sums, four for each byte of a row, because a byte encodes four columns.
type ByteSums = [[u8; COUNTED_BYTES]; 4];
/// The number of sums over three rows that fit in a byte: each sum is at most 3, so 85
/// sums are at most 255.
const MAX_BYTE_SUMS: usize = 85;

/// Adds the genotypes of packed rows to the counts of each column. The first count is
/// the number of missing genotypes. If `N` is 3, the other counts are the numbers of
/// heterozygous and homozygous A2 genotypes.
///
/// Each packed row must begin at the byte of the first column. Codes after the last
/// column are ignored.
#[vectorized]
pub fn count_positions<const N: usize>(lines: &[&[u8]], counts: &mut [[u32; N]]) {
    for (number, counts) in counts.chunks_mut(4 * COUNTED_BYTES).enumerate() {
        for lines in lines.chunks(3 * MAX_BYTE_SUMS) {
            let mut bytes = [[[0; COUNTED_BYTES]; 4]; N];
            for triple in lines.chunks(3) {
                add_to_byte_counts(&mut bytes, &sum_lines(triple, number * COUNTED_BYTES));
            }
            add_to_column_counts(&bytes, counts);
        }
    }
}

/// Counts genotypes over at most three rows. The counts have two bits for each column.
#[inline(always)]
fn sum_lines<const N: usize>(lines: &[&[u8]], start: usize) -> [[u8; COUNTED_BYTES]; N] {
    let mut sums = [[0; COUNTED_BYTES]; N];
    for line in lines {
        let line = line.get(start..).unwrap_or_default();
        for (kind, sums) in sums.iter_mut().enumerate() {
            for (sum, byte) in sums.iter_mut().zip(line) {
                *sum += genotype_bits(kind, *byte);
            }
        }
    }
    sums
}

/// Returns a byte with the low bit set for each code that has the given genotype: 0 is
/// missing, 1 is heterozygous, and 2 is homozygous A2.
#[inline(always)]
const fn genotype_bits(kind: usize, byte: u8) -> u8 {
    let (low, high) = (byte & 0x55, (byte >> 1) & 0x55);
    match kind {
        0 => low & !high,
        1 => high & !low,
        _ => low & high,
    }
}

/// Adds two-bit counts to one-byte counts.
#[inline(always)]
fn add_to_byte_counts<const N: usize>(bytes: &mut [ByteSums; N], sums: &[[u8; COUNTED_BYTES]; N]) {
    for (quarters, sums) in bytes.iter_mut().zip(sums) {
        for (position, quarter) in quarters.iter_mut().enumerate() {
            for (byte, sum) in quarter.iter_mut().zip(sums) {
                *byte += (sum >> (2 * position)) & 3;
            }
        }
    }
}

/// Adds one-byte counts to 32-bit counts.
#[inline(always)]
fn add_to_column_counts<const N: usize>(bytes: &[ByteSums; N], counts: &mut [[u32; N]]) {
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

    fn code_at(line: &[u8], position: usize) -> usize {
        usize::from((line[position / 4] >> (position % 4 * 2)) & 3)
    }

    fn count_naively(line: &[u8], is_counted: &[bool]) -> GenotypeCounts {
        let mut counts = [0; 4];
        for (position, _) in is_counted.iter().enumerate().filter(|(_, counts)| **counts) {
            counts[code_at(line, position)] += 1;
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
        let found = count_genotypes(&[0b0001_1011, 0b1111_1101], &all);
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
    fn counts_of_1000_lines_do_not_overflow_a_byte() {
        let (line, mut counts) = ([0b1110_0100], [[0; 3]; 4]);
        count_positions(&vec![&line[..]; 1000], &mut counts);
        assert_eq!(
            counts,
            [[0, 0, 0], [1000, 0, 0], [0, 1000, 0], [0, 0, 1000]]
        );
    }

    proptest! {
        #[test]
        fn counts_of_a_line_equal_those_of_its_codes(
            line in prop::collection::vec(any::<u8>(), 0..200),
            wanted in prop::collection::vec(any::<bool>(), 800),
            padding in 0_usize..4,
        ) {
            let positions = (4 * line.len()).saturating_sub(padding);
            let wanted = &wanted[..positions];
            let mask = PositionMask::new(wanted.iter().copied());
            prop_assert_eq!(count_genotypes(&line, &mask), count_naively(&line, wanted));
        }

        #[test]
        fn counts_of_positions_equal_those_of_single_lines(
            lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 600), 0..9),
            times in 1_usize..60,
            positions in 0_usize..2400,
        ) {
            let repeated: Vec<&[u8]> = lines.iter().map(Vec::as_slice).cycle().take(times * lines.len()).collect();
            let mut counts = vec![[0; 3]; positions];
            count_positions(&repeated, &mut counts);
            for (position, found) in counts.iter().enumerate() {
                let here = |wanted| repeated.iter().filter(|line| code_at(line, position) == wanted).count();
                prop_assert_eq!(found.map(|n| n as usize), [here(1), here(2), here(3)]);
            }
        }
    }
}
