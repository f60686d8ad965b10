//! The next bits of a piece of a file, the lowest of each byte first.

#![expect(
    clippy::inline_always,
    reason = "the loop over symbols is quick only as one function"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "at most 57 bits, where usize has 64"
)]

/// How many bytes must stand behind a piece of a file, of any value: more are
/// looked at than are used.
pub(crate) const PADDING: usize = 32;

/// Why no more can be inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The piece ends.
    Cut,
    /// There is no more room for text.
    Full,
    /// What follows is damaged, or unusual.
    Unusual,
}

/// Reads bits; behind the end there are zeros.
#[derive(Clone)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    next: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// The bits from a position on.
    pub(super) fn new(bytes: &'a [u8], bit: usize) -> Self {
        let mut bits = Self {
            bytes,
            at: bit / 8,
            next: 0,
            count: 0,
        };
        bits.refill();
        bits.skip_bits(bit % 8);
        bits
    }

    /// Drops the bits of the first byte that come before the position.
    fn skip_bits(&mut self, bits: usize) {
        self.drop(u32::try_from(bits).unwrap_or(0));
    }

    /// Makes at least 56 bits (0x38) ready to be used; right after it all 64 may be looked
    /// at. Whole bytes alone are counted: the bits above them are loaded again next time.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        let word = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk);
        let word = word.map_or(0, |word| u64::from_le_bytes(*word));
        self.next |= word << self.count;
        self.at += ((63 - self.count) >> 3) as usize;
        self.count |= 0x38;
    }

    #[inline(always)]
    pub(super) fn drop(&mut self, bits: u32) {
        self.next >>= bits;
        self.count -= bits;
    }

    /// The next bits, which stay, as a position in a table.
    #[inline(always)]
    pub(super) fn peek(&self, bits: u32) -> usize {
        (self.next & ((1_u64 << bits) - 1)) as usize
    }

    /// The next bits as a number; they must be ready.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u32) -> usize {
        let value = self.peek(bits);
        self.drop(bits);
        value
    }

    /// Makes bits ready and takes some.
    pub(super) fn number(&mut self, bits: u32) -> usize {
        self.refill();
        self.take(bits)
    }

    /// The position of the next bit.
    pub(super) fn position(&self) -> usize {
        self.at * 8 - self.count as usize
    }

    /// Whether what was made ready reaches into what stands behind the piece.
    #[inline(always)]
    pub(super) fn is_behind(&self) -> bool {
        self.at + PADDING / 2 > self.bytes.len()
    }

    /// Whether no bit of what stands behind the piece was used.
    pub(super) fn is_within(&self) -> bool {
        self.position() + PADDING * 8 <= self.bytes.len() * 8
    }

    /// Whether bits that were looked at may stand behind the piece.
    pub(super) fn is_near_end(&self) -> bool {
        self.position() + (PADDING + size_of::<u64>()) * 8 > self.bytes.len() * 8
    }

    /// Goes on where so many bytes are left.
    pub(super) fn skip_to(&mut self, left: usize) {
        let at = self.bytes.len() - PADDING - left;
        *self = Self::new(self.bytes, at * 8);
    }

    /// The bytes from the next whole one on.
    pub(super) fn rest(&self) -> &'a [u8] {
        let start = self.position().div_ceil(8);
        let end = self.bytes.len() - PADDING;
        self.bytes.get(start..end).unwrap_or_default()
    }
}
