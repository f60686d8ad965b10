//! Huffman codes with lookup tables.

/// For each length symbol of deflate, the smallest match length and the number of extra
/// bits.
pub(super) const MATCH_LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
/// For each distance symbol of deflate, the smallest distance and the number of extra
/// bits.
pub(super) const MATCH_DISTANCES: [(u16, u8); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// Maximal length of a Huffman code in bits.
const MAX_CODE_LENGTH: usize = 15;
/// Maximal length in bits of Huffman codes that a single lookup can decode.
pub(super) const LOOKUP_BITS: usize = 10;

/// A canonical Huffman code.
pub(super) struct HuffmanCode {
    /// The symbol and the length of its code, indexed by the next [`LOOKUP_BITS`] bits
    /// of the input. The length is 0 if the code is longer.
    pub(super) lookup: [(u16, u8); 1 << LOOKUP_BITS],
    /// The number of codes of each length.
    counts: [u16; MAX_CODE_LENGTH + 1],
    /// The symbols, sorted by their codes.
    symbols: [u16; 288],
}

impl HuffmanCode {
    /// Creates a Huffman code from the code lengths of its symbols. Returns `None` if
    /// the lengths are invalid.
    ///
    /// As in zlib, only a code with a single symbol may leave bit patterns unused.
    pub(super) fn new(sizes: &[u8]) -> Option<Self> {
        let mut counts = [0_u16; MAX_CODE_LENGTH + 1];
        for size in sizes {
            *counts.get_mut(usize::from(*size))? += 1;
        }
        counts[0] = 0;
        let mut starts = [0_u16; MAX_CODE_LENGTH + 2];
        let mut left = 1_i32;
        for (size, count) in counts.iter().enumerate().skip(1) {
            left = 2 * left - i32::from(*count);
            if left < 0 {
                return None;
            }
            let start = *starts.get(size)?;
            *starts.get_mut(size + 1)? = start + count;
        }
        let used: u16 = counts.iter().sum();
        if left > 0 && used > 1 {
            return None;
        }
        let mut symbols = [0; 288];
        for (symbol, size) in (0_u16..).zip(sizes).filter(|(_, size)| **size > 0) {
            let position = starts.get_mut(usize::from(*size))?;
            *symbols.get_mut(usize::from(*position))? = symbol;
            *position += 1;
        }
        let lookup = [(0, 0); 1 << LOOKUP_BITS];
        let mut code = Self {
            lookup,
            counts,
            symbols,
        };
        code.fill_lookup_table()?;
        Some(code)
    }

    /// Writes the symbol of each short code to all table entries whose index begins
    /// with the code.
    fn fill_lookup_table(&mut self) -> Option<()> {
        let (mut word, mut symbols) = (0_u32, self.symbols.iter());
        for (size, count) in self.counts.iter().enumerate().take(LOOKUP_BITS + 1).skip(1) {
            word <<= 1;
            for _ in 0..*count {
                let first = (word.reverse_bits() >> (32 - size)) as usize;
                let entry = (*symbols.next()?, u8::try_from(size).ok()?);
                let places = self.lookup.iter_mut().skip(first);
                places.step_by(1 << size).for_each(|place| *place = entry);
                word += 1;
            }
        }
        Some(())
    }

    /// Finds, by a linear search, the symbol whose code is a prefix of the next bits.
    pub(super) fn find_symbol(&self, next: u64) -> Option<(u16, u8)> {
        let (mut word, mut first, mut before) = (0_u32, 0_u32, 0_u32);
        for (size, count) in self.counts.iter().enumerate().skip(1) {
            word |= u32::from((next >> (size - 1)) & 1 == 1);
            let count = u32::from(*count);
            if word < first + count {
                let position = usize::try_from(before + word - first).ok()?;
                return Some((*self.symbols.get(position)?, u8::try_from(size).ok()?));
            }
            before += count;
            first = (first + count) << 1;
            word <<= 1;
        }
        None
    }

    /// Returns the fixed Huffman code for lengths, which is used by blocks without
    /// their own codes.
    pub(super) fn fixed_length_code() -> Self {
        let size = |symbol| match symbol {
            144..=255 => 9,
            256..=279 => 7,
            _ => 8,
        };
        let sizes: [u8; 288] = std::array::from_fn(size);
        Self::from_fixed_sizes(&sizes)
    }

    /// Returns the fixed Huffman code for distances, which is used by blocks without
    /// their own codes.
    pub(super) fn fixed_distance_code() -> Self {
        Self::from_fixed_sizes(&[5; 32])
    }

    fn from_fixed_sizes(sizes: &[u8]) -> Self {
        Self::new(sizes).unwrap_or(Self {
            lookup: [(0, 0); 1 << LOOKUP_BITS],
            counts: [0; MAX_CODE_LENGTH + 1],
            symbols: [0; 288],
        })
    }
}
