//! Huffman codes as tables that are looked up by the next bits.
//!
//! ```text
//!             literals and lengths           distances
//! bits 0-     bits that the entry uses       bits that it uses (0 to 6), LONGER_DISTANCE (7)
//! bits 8-     a literal, or extra bits       extra bits of the distance
//! bits 16-    a second literal (to 23),      the least distance (to 30)
//!             or the least length (to 24)
//! bits 27-    NONE to LITERAL, below
//!
//! An entry for longer words has in bits 8 to 23 where the second table begins.
//! ```

use crate::walk::{DISTANCES, LENGTHS};

/// The entry is one literal, or two.
pub(super) const LITERAL: u32 = 1 << 31;
/// The entry is two literals.
pub(super) const PAIR: u32 = 1 << 30;
/// The block ends.
pub(super) const END: u32 = 1 << 29;
/// The word is longer: the entry says where to look further.
pub(super) const LONGER: u32 = 1 << 28;
/// The same in the table of distances, whose entries have no bit left there.
pub(super) const LONGER_DISTANCE: u32 = 1 << 7;
/// There is no such symbol.
const NONE: u32 = 1 << 27 | END;

/// Words up to this long are looked up at once.
pub(super) const LITERAL_BITS: u32 = 11;
pub(super) const DISTANCE_BITS: u32 = 9;
pub(super) const LONGEST: u32 = 15;

/// How many entries the largest code needs, rounded up to powers of two.
pub(super) const LITERAL_ENTRIES: usize = 1 << 13;
pub(super) const DISTANCE_ENTRIES: usize = 1 << 12;

/// How long the words are by which a header writes the lengths of the other two codes.
pub(super) const LENGTH_BITS: u32 = 7;
pub(super) type LengthTable = [u32; 1 << LENGTH_BITS];

/// The codes of a block.
pub(super) struct Tables {
    pub(super) literals: Box<[u32; LITERAL_ENTRIES]>,
    pub(super) distances: Box<[u32; DISTANCE_ENTRIES]>,
}

impl Tables {
    pub(super) fn new() -> Self {
        Self {
            literals: boxed(),
            distances: boxed(),
        }
    }

    /// Whether these lengths make complete codes. The code of distances may also be empty,
    /// or have a single word of one bit.
    pub(super) fn are_codes(literals: &[u8], distances: &[u8]) -> bool {
        let mut used = distances.iter().filter(|size| **size > 0);
        let is_little = matches!((used.next(), used.next()), (None | Some(&1), None));
        is_complete(literals) && (is_little || is_complete(distances))
    }

    /// Sets the codes whose words have these lengths; says whether there are such.
    pub(super) fn set(&mut self, literals: &[u8], distances: &[u8]) -> bool {
        if !Self::are_codes(literals, distances) {
            return false;
        }
        self.literals[..1 << LITERAL_BITS].fill(NONE);
        self.distances[..1 << DISTANCE_BITS].fill(0);
        let shape = (LITERAL_BITS, LONGER);
        fill(&mut *self.literals, literals, shape, literal_entry);
        pair_up(&mut self.literals);
        let shape = (DISTANCE_BITS, LONGER_DISTANCE);
        fill(&mut *self.distances, distances, shape, distance_entry);
        true
    }

    /// Sets the codes of a block without codes of its own.
    pub(super) fn set_fixed(&mut self) {
        let size = |symbol| match symbol {
            144..=255 => 9,
            256..=279 => 7,
            _ => 8,
        };
        let sizes: [u8; 288] = std::array::from_fn(size);
        self.set(&sizes, &[5; 32]);
    }
}

/// An array that was never on the stack.
pub(super) fn boxed<T: Copy + Default, const SIZE: usize>() -> Box<[T; SIZE]> {
    let entries = vec![T::default(); SIZE].into_boxed_slice();
    let array = entries.try_into();
    array.unwrap_or_else(|_| Box::new([T::default(); SIZE]))
}

/// Whether words of these lengths leave none unused.
fn is_complete(sizes: &[u8]) -> bool {
    let share = |size: &u8| {
        if *size == 0 {
            0
        } else {
            1_u32 << (LONGEST - u32::from(*size))
        }
    };
    sizes.iter().map(share).sum::<u32>() == 1 << LONGEST
}

/// Sets the code of the lengths in a header, which is complete.
pub(super) fn set_lengths(table: &mut LengthTable, sizes: &[u8; 19]) {
    fill(table, sizes, (LENGTH_BITS, LONGER), |symbol| symbol << 8);
}

/// Writes each word's entry wherever the next bits begin with it.
fn fill(table: &mut [u32], sizes: &[u8], (bits, longer): (u32, u32), entry: impl Fn(u32) -> u32) {
    let mut words = first_words(sizes);
    let mut end = 1 << bits;
    for (symbol, size) in (0_u32..).zip(sizes).filter(|(_, size)| **size > 0) {
        let size = u32::from(*size);
        let word = &mut words[size as usize];
        let first = word.reverse_bits() >> (32 - size);
        *word += 1;
        if size <= bits {
            write(
                &mut table[..1 << bits],
                first as usize,
                size,
                entry(symbol) + size,
            );
            continue;
        }
        let main = (first & ((1 << bits) - 1)) as usize;
        if table[main] & longer == 0 {
            table[main] = longer | u32::try_from(end).unwrap_or(0) << 8 | bits;
            table[end..end + (1 << (LONGEST - bits))].fill(0);
            end += 1 << (LONGEST - bits);
        }
        let start = (table[main] >> 8 & 0xFFFF) as usize;
        let part = &mut table[start..start + (1 << (LONGEST - bits))];
        let (first, size) = (first >> bits, size - bits);
        write(part, first as usize, size, entry(symbol) + size);
    }
}

/// Writes an entry to each position whose lowest bits are a word.
fn write(table: &mut [u32], word: usize, size: u32, entry: u32) {
    for position in table.iter_mut().skip(word).step_by(1 << size) {
        *position = entry;
    }
}

/// The first word of each length (RFC 1951, section 3.2.2).
fn first_words(sizes: &[u8]) -> [u32; 16] {
    let mut counts = [0_u32; 16];
    for size in sizes.iter().filter(|size| **size > 0) {
        counts[usize::from(*size & 15)] += 1;
    }
    let mut words = [0; 16];
    for size in 1..16 {
        words[size] = (words[size - 1] + counts[size - 1]) << 1;
    }
    words
}

/// Makes one entry of two literals, where the bits hold both.
fn pair_up(table: &mut [u32; LITERAL_ENTRIES]) {
    // From behind: what follows a literal is found at a lower position, or at the same.
    for position in (0..1_usize << LITERAL_BITS).rev() {
        let first = table[position];
        let used = first & 0xFF;
        let second = table[position >> used];
        let both = used + (second & 0xFF);
        let is_pair = first & LITERAL != 0 && second & LITERAL != 0 && second & PAIR == 0;
        if is_pair && both <= LITERAL_BITS {
            table[position] = LITERAL | PAIR | first & 0xFF00 | (second & 0xFF00) << 8 | both;
        }
    }
}

fn literal_entry(symbol: u32) -> u32 {
    match symbol {
        0..=255 => LITERAL | symbol << 8,
        256 => END,
        _ => {
            let known = LENGTHS.get(symbol as usize - 257);
            known.map_or(NONE, |(least, more)| {
                u32::from(*least) << 16 | u32::from(*more) << 8
            })
        }
    }
}

fn distance_entry(symbol: u32) -> u32 {
    let known = DISTANCES.get(symbol as usize);
    known.map_or(0, |(least, more)| {
        u32::from(*least) << 16 | u32::from(*more) << 8
    })
}

/// Whether an entry that ends a block is of no symbol.
pub(super) fn is_none(entry: u32) -> bool {
    entry & NONE == NONE
}
