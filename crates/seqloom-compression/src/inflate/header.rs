//! The head of a block with codes of its own (RFC 1951, section 3.2.7).

#![expect(
    clippy::inline_always,
    reason = "the loop over symbols is quick only as one function"
)]

use super::bits::{Bits, PADDING, Stop};
use super::table::{LENGTH_BITS, LengthTable, Tables, set_lengths};
use crate::walk::ORDER;

/// The most symbols of each code.
const MOST_LITERALS: usize = 286;
const MOST_DISTANCES: usize = 30;
/// For twelve bits, read as four lengths of three bits: how many of the 128 words of seven
/// bits begin with words of these lengths. A complete code takes all 128 (Kraft).
static SHARES: [u16; 1 << 12] = shares();

const fn shares() -> [u16; 1 << 12] {
    let mut shares = [0; 1 << 12];
    let mut lengths = 0;
    while lengths < 1 << 12 {
        let mut position = 0;
        while position < 12 {
            let length = lengths >> position & 7;
            if length > 0 {
                shares[lengths] += 128 >> length;
            }
            position += 3;
        }
        lengths += 1;
    }
    shares
}

/// Finds the first block of a range of bits that is not the last one of its
/// member and has codes of its own. What it finds may be no block after all.
pub(crate) fn find(bytes: &[u8], range: std::ops::Range<usize>) -> Option<usize> {
    let mut tables = Lengths::default();
    let end = range.end.min((bytes.len() - PADDING) * 8);
    (range.start..end).find(|bit| looks_right(bytes, *bit) && tables.read_at(bytes, *bit))
}

/// Whether a block that is not the last and has codes of its own begins there.
pub(super) fn begins(bytes: &[u8], bit: usize) -> bool {
    looks_right(bytes, bit) && Lengths::default().read_at(bytes, bit)
}

/// Whether the first 17 bits and the code of the lengths are possible.
#[inline(always)]
fn looks_right(bytes: &[u8], bit: usize) -> bool {
    let next = word(bytes, bit);
    let is_usual = next & 7 == 4 && next >> 3 & 31 < 30 && next >> 8 & 31 < 30;
    is_usual && has_whole_code(word(bytes, bit + 17), (next >> 13 & 15) as u32 + 4)
}

/// At least 57 bits from a position on.
#[inline(always)]
fn word(bytes: &[u8], bit: usize) -> u64 {
    let word = bytes.get(bit / 8..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u64::from_le_bytes(*word)) >> (bit % 8)
}

/// Whether lengths of three bits each make a code that leaves no word unused.
fn has_whole_code(lengths: u64, count: u32) -> bool {
    let mut rest = lengths & ((1 << (3 * count)) - 1);
    let mut share = 0;
    while rest > 0 {
        share += SHARES[(rest & 0xFFF) as usize];
        rest >>= 12;
    }
    share == 128
}

/// The lengths of the words of both codes.
struct Lengths {
    sizes: [u8; MOST_LITERALS + MOST_DISTANCES],
    literals: usize,
    all: usize,
}

impl Default for Lengths {
    fn default() -> Self {
        Self {
            sizes: [0; MOST_LITERALS + MOST_DISTANCES],
            literals: 0,
            all: 0,
        }
    }
}

impl Lengths {
    /// Reads a block's head, the first three bits too; says whether it is one.
    fn read_at(&mut self, bytes: &[u8], bit: usize) -> bool {
        let mut bits = Bits::new(bytes, bit + 3);
        self.read(&mut bits).is_some() && bits.is_within() && self.are_codes()
    }

    fn read(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        self.literals = bits.number(5) + 257;
        self.all = self.literals + bits.number(5) + 1;
        let count = bits.number(4) + 4;
        let (literals, distances) = (self.literals, self.all - self.literals);
        let are_few = literals <= MOST_LITERALS && distances <= MOST_DISTANCES;
        bits.refill();
        let is_whole = has_whole_code(bits.peek(57) as u64, u32::try_from(count).ok()?);
        if !are_few || !is_whole {
            return None;
        }
        let mut sizes = [0; 19];
        for position in &ORDER[..count] {
            sizes[*position] = u8::try_from(bits.number(3)).ok()?;
        }
        let mut table: LengthTable = [0; 1 << LENGTH_BITS];
        set_lengths(&mut table, &sizes);
        self.read_sizes(bits, &table)
    }

    fn read_sizes(&mut self, bits: &mut Bits<'_>, table: &LengthTable) -> Option<()> {
        let all = &mut self.sizes[..self.all];
        let mut at = 0;
        while at < all.len() {
            bits.refill();
            let entry = table[bits.peek(LENGTH_BITS)];
            bits.drop(entry & 0xFF);
            let symbol = u8::try_from(entry >> 8).ok()?;
            let (value, count) = match symbol {
                0..=15 => (symbol, 1),
                16 => (*all.get(at.checked_sub(1)?)?, 3 + bits.take(2)),
                17 => (0, 3 + bits.take(3)),
                _ => (0, 11 + bits.take(7)),
            };
            all.get_mut(at..at + count)?.fill(value);
            at += count;
        }
        Some(())
    }

    fn both(&self) -> (&[u8], &[u8]) {
        self.sizes[..self.all].split_at(self.literals)
    }

    /// Whether the lengths are those of codes that a block can have.
    fn are_codes(&self) -> bool {
        let (literals, distances) = self.both();
        literals[256] > 0 && Tables::are_codes(literals, distances)
    }
}

/// Reads the head of a block behind its first three bits.
pub(super) fn read(bits: &mut Bits<'_>, tables: &mut Tables) -> Result<(), Stop> {
    let mut lengths = Lengths::default();
    lengths.read(bits).ok_or(Stop::Unusual)?;
    let (literals, distances) = lengths.both();
    let is_set = literals[256] > 0 && tables.set(literals, distances);
    is_set.then_some(()).ok_or(Stop::Unusual)
}
