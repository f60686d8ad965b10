//! The symbols of a block, of which some stand for text that is not known.

#![expect(
    clippy::inline_always,
    reason = "the loop over symbols is quick only as one function"
)]

use super::bits::{Bits, Stop};
use super::table::{
    DISTANCE_BITS, END, LITERAL, LITERAL_BITS, LONGER, LONGER_DISTANCE, LONGEST, PAIR, Tables,
    is_none,
};

/// How many symbols are copied at once.
const STRIDE: usize = 16;
/// The longest match.
const LONGEST_MATCH: usize = 258;
/// Room that one round of the loop may write to: three entries of two literals, a
/// match, and what copying by strides writes behind it.
const ROOM: usize = 6 + LONGEST_MATCH + STRIDE;

/// Text that is being written, in symbols of 16 bits.
pub(super) struct Sink<'a> {
    pub(super) out: &'a mut [u16],
    /// Where the next symbol is written.
    pub(super) at: usize,
    /// Where the text begins that matches may refer to.
    pub(super) base: usize,
}

impl Sink<'_> {
    /// Writes the text of a block up to its end, by these codes.
    pub(super) fn inflate(&mut self, bits: &mut Bits<'_>, tables: &Tables) -> Result<(), Stop> {
        bits.refill();
        let mut entry = tables.literals[bits.peek(LITERAL_BITS)];
        loop {
            if bits.is_behind() {
                return Err(Stop::Cut);
            }
            if self.at + ROOM > self.out.len() {
                return Err(Stop::Full);
            }
            entry = self.literals(entry, bits, tables);
            if entry & LONGER != 0 {
                bits.drop(LITERAL_BITS);
                let start = (entry >> 8 & 0xFFFF) as usize;
                entry = tables.literals[start + bits.peek(LONGEST - LITERAL_BITS)];
            }
            bits.drop(entry & 0xFF);
            if entry & (LITERAL | END) == 0 {
                let length = (entry >> 16) as usize + bits.take(entry >> 8 & 0xFF);
                let distance = distance(bits, tables);
                bits.refill();
                entry = tables.literals[bits.peek(LITERAL_BITS)];
                self.repeat(distance, length)?;
                continue;
            }
            if entry & END != 0 {
                return if is_none(entry) {
                    Err(Stop::Unusual)
                } else {
                    Ok(())
                };
            }
            self.put(entry);
            bits.refill();
            entry = tables.literals[bits.peek(LITERAL_BITS)];
        }
    }

    /// Writes up to two entries of literals; gives the entry behind them, for which
    /// bits are ready.
    #[inline(always)]
    fn literals(&mut self, first: u32, bits: &mut Bits<'_>, tables: &Tables) -> u32 {
        let mut entry = first;
        if entry & LITERAL == 0 {
            return entry;
        }
        bits.drop(entry & 0xFF);
        self.put(entry);
        entry = tables.literals[bits.peek(LITERAL_BITS)];
        if entry & LITERAL != 0 {
            bits.drop(entry & 0xFF);
            self.put(entry);
            entry = tables.literals[bits.peek(LITERAL_BITS)];
        }
        if entry & LITERAL == 0 {
            bits.refill();
        }
        entry
    }

    #[inline(always)]
    fn put(&mut self, entry: u32) {
        self.out[self.at] = (entry >> 8 & 0xFF) as u16;
        self.out[self.at + 1] = (entry >> 16 & 0xFF) as u16;
        self.at += 1 + usize::from(entry & PAIR != 0);
    }

    /// Repeats what stands so far before; it may write more behind.
    #[inline(always)]
    fn repeat(&mut self, distance: usize, length: usize) -> Result<(), Stop> {
        if distance.wrapping_sub(1) >= self.at - self.base {
            return Err(Stop::Unusual);
        }
        let length = length.min(LONGEST_MATCH);
        let start = self.at - distance;
        let both = &mut self.out[start..self.at + LONGEST_MATCH + STRIDE];
        if distance >= STRIDE {
            let mut done = 0;
            while done < length {
                both.copy_within(done..done + STRIDE, distance + done);
                done += STRIDE;
            }
        } else {
            for position in 0..length {
                both[distance + position] = both[position];
            }
        }
        self.at += length;
        Ok(())
    }

    /// Copies the bytes of a block that is not packed.
    pub(super) fn store(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let room = self.out.get_mut(self.at..self.at + bytes.len());
        let room = room.ok_or(Stop::Full)?;
        for (symbol, byte) in room.iter_mut().zip(bytes) {
            *symbol = u16::from(*byte);
        }
        self.at += bytes.len();
        Ok(())
    }
}

/// Reads how far back a match begins; 0 where there is no such distance.
#[inline(always)]
fn distance(bits: &mut Bits<'_>, tables: &Tables) -> usize {
    let mut entry = tables.distances[bits.peek(DISTANCE_BITS)];
    if entry & LONGER_DISTANCE != 0 {
        bits.drop(DISTANCE_BITS);
        let start = (entry >> 8 & 0xFFFF) as usize;
        entry = tables.distances[start + bits.peek(LONGEST - DISTANCE_BITS)];
    }
    bits.drop(entry & 0x7F);
    (entry >> 16) as usize + bits.take(entry >> 8 & 0xFF)
}
