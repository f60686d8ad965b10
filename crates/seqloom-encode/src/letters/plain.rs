//! Plain residues as ranges of bytes, for comparison with a sequence by vector
//! instructions.
//!
//! A plain residue is a residue of the alphabet that needs no conversion, except to
//! upper case.

/// The number of residues in a chunk. An eight-bit counter can count up to this number.
pub(crate) const CHUNK_RESIDUES: usize = 64;

/// A chunk of residues that are compared together.
type Chunk = [u8; CHUNK_RESIDUES];

/// The number of ranges that are compared together, so that the results remain in
/// registers.
const GROUP_RANGES: usize = 4;

/// The first byte of a range, and the number of bytes after the first.
type ByteRange = (u8, u8);

/// The plain residues of an alphabet as ranges of bytes.
#[derive(Clone, Debug)]
pub(super) struct ResidueRanges {
    /// Groups of [`GROUP_RANGES`] ranges. The last group is padded with copies of the
    /// last range.
    ranges: Vec<[ByteRange; GROUP_RANGES]>,
    /// True if lower case is read as upper case.
    pub(super) folds_case: bool,
}

/// Flags for each position in a chunk, combined over all chunks of a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkFlags {
    /// The flag of a position is 1 if the residues at this position are plain in all
    /// chunks.
    plain: [u8; CHUNK_RESIDUES],
    /// The flag of a position is not 0 if the residue at this position is lower case in
    /// any chunk.
    lower: [u8; CHUNK_RESIDUES],
}

impl ChunkFlags {
    pub(crate) const ALL_PLAIN: Self = Self {
        plain: [1; CHUNK_RESIDUES],
        lower: [0; CHUNK_RESIDUES],
    };

    /// Adds the flags of a chunk. `plain` is 1 for each plain residue; `letters` and
    /// `upper` are the residues before and after the conversion to upper case.
    #[inline(always)]
    fn add_chunk(&mut self, plain: &Chunk, (letters, upper): (&Chunk, &Chunk)) {
        for at in 0..CHUNK_RESIDUES {
            self.plain[at] &= plain[at];
            self.lower[at] |= letters[at] ^ upper[at];
        }
    }

    /// Returns true if any residue is not plain.
    #[inline(always)]
    pub(crate) fn has_special(&self) -> bool {
        self.plain.iter().fold(1, |all, plain| all & plain) == 0
    }

    /// Returns true if any lower-case residue was converted to upper case.
    #[inline(always)]
    pub(crate) fn has_lower(&self) -> bool {
        self.lower.iter().fold(0, |any, lower| any | lower) != 0
    }
}

impl ResidueRanges {
    pub(super) fn new(is_plain: impl Fn(u8) -> bool, folds_case: bool) -> Self {
        let mut ranges: Vec<ByteRange> = Vec::new();
        for byte in (0..=u8::MAX).filter(|byte| is_plain(*byte)) {
            match ranges.last_mut() {
                Some((first, more)) if *first + *more + 1 == byte => *more += 1,
                _ => ranges.push((byte, 0)),
            }
        }
        let repeated = |some: &[ByteRange]| std::array::from_fn(|at| some[at.min(some.len() - 1)]);
        let ranges = ranges.chunks(GROUP_RANGES).map(repeated).collect();
        Self { ranges, folds_case }
    }

    /// Compares all residues of a sequence with the ranges.
    #[inline(always)]
    pub(super) fn scan_sequence(&self, letters: &[u8]) -> ChunkFlags {
        let mut flags = ChunkFlags::ALL_PLAIN;
        let (chunks, rest) = letters.as_chunks::<CHUNK_RESIDUES>();
        for chunk in chunks {
            self.scan_chunk(chunk, &mut flags);
        }
        match letters.last_chunk::<CHUNK_RESIDUES>() {
            _ if rest.is_empty() => {}
            // The last residues are compared as a whole chunk, which overlaps the
            // previous chunk.
            Some(last) => _ = self.scan_chunk(last, &mut flags),
            None => {
                let mut chunk = [self.padding_residue(); CHUNK_RESIDUES];
                chunk[..rest.len()].copy_from_slice(rest);
                self.scan_chunk(&chunk, &mut flags);
            }
        }
        flags
    }

    /// Compares the residues of a chunk with the ranges. Returns the residues, in upper
    /// case if the policy folds case.
    #[inline(always)]
    pub(super) fn scan_chunk(&self, chunk: &Chunk, flags: &mut ChunkFlags) -> Chunk {
        let upper = self.to_upper(chunk);
        let mut is_plain = [0_u8; CHUNK_RESIDUES];
        for ranges in &self.ranges {
            for (flag, letter) in is_plain.iter_mut().zip(&upper) {
                *flag |= is_in_ranges(ranges, *letter);
            }
        }
        flags.add_chunk(&is_plain, (chunk, &upper));
        upper
    }

    /// Returns any plain residue, to pad a chunk.
    fn padding_residue(&self) -> u8 {
        self.ranges.first().map_or(0, |ranges| ranges[0].0)
    }

    /// Converts residues to upper case, if the policy folds case.
    #[inline(always)]
    pub(super) fn to_upper<const N: usize>(&self, chunk: &[u8; N]) -> [u8; N] {
        let mut upper = *chunk;
        if self.folds_case {
            for letter in &mut upper {
                *letter = letter.to_ascii_uppercase();
            }
        }
        upper
    }
}

/// Returns the number of lower-case residues.
#[inline(always)]
pub(super) fn count_lower(letters: &[u8]) -> u64 {
    let has_lower = |letter: &u8| u64::from(letter.is_ascii_lowercase());
    letters.iter().map(has_lower).sum()
}

/// Returns 1 if a byte is in one of the ranges, otherwise 0.
#[inline(always)]
fn is_in_ranges(ranges: &[ByteRange; GROUP_RANGES], letter: u8) -> u8 {
    let mut found = 0;
    for (first, more) in ranges {
        found |= u8::from(letter.wrapping_sub(*first) <= *more);
    }
    found
}
