//! Plain members as runs of bytes, which the compiler compares with vector instructions.

/// Letters that are compared at once; at most as many as a byte of a verdict can count.
pub(crate) const CHUNK: usize = 64;

/// Runs that are compared at once, so that the results stay in registers.
const RUNS: usize = 4;

/// The first byte of a run, and how many follow it.
type ByteRun = (u8, u8);

/// Plain members as runs of consecutive bytes.
#[derive(Clone, Debug)]
pub(super) struct MemberRuns {
    /// Groups of [`RUNS`] runs; the last group repeats its last run.
    runs: Vec<[ByteRun; RUNS]>,
    /// Whether lower case counts as upper case.
    pub(super) folds: bool,
}

/// Flags of the letters of all chunks, combined for each position of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkFlags {
    /// 1 where every letter was a plain member.
    plain: [u8; CHUNK],
    /// Not 0 where a letter was lower case.
    lower: [u8; CHUNK],
}

impl ChunkFlags {
    pub(crate) const NOTHING: Self = Self {
        plain: [1; CHUNK],
        lower: [0; CHUNK],
    };

    /// Adds a chunk: which letters are plain, and the letters before and after the change to
    /// upper case.
    #[inline(always)]
    fn add(&mut self, plain: &[u8; CHUNK], (letters, upper): (&[u8; CHUNK], &[u8; CHUNK])) {
        for at in 0..CHUNK {
            self.plain[at] &= plain[at];
            self.lower[at] |= letters[at] ^ upper[at];
        }
    }

    /// Returns whether there was a letter that is no plain member.
    #[inline(always)]
    pub(crate) fn has_other(&self) -> bool {
        self.plain.iter().fold(1, |all, plain| all & plain) == 0
    }

    /// Returns whether there was lower case that counts as upper case.
    #[inline(always)]
    pub(crate) fn has_lower(&self) -> bool {
        self.lower.iter().fold(0, |any, lower| any | lower) != 0
    }
}

impl MemberRuns {
    pub(super) fn new(is_plain: impl Fn(u8) -> bool, folds: bool) -> Self {
        let mut runs: Vec<ByteRun> = Vec::new();
        for byte in (0..=u8::MAX).filter(|byte| is_plain(*byte)) {
            match runs.last_mut() {
                Some((first, more)) if *first + *more + 1 == byte => *more += 1,
                _ => runs.push((byte, 0)),
            }
        }
        let repeated = |some: &[ByteRun]| std::array::from_fn(|at| some[at.min(some.len() - 1)]);
        let runs = runs.chunks(RUNS).map(repeated).collect();
        Self { runs, folds }
    }

    /// Compares every letter with the runs.
    #[inline(always)]
    pub(super) fn scan(&self, letters: &[u8]) -> ChunkFlags {
        let mut flags = ChunkFlags::NOTHING;
        let (chunks, rest) = letters.as_chunks::<CHUNK>();
        for chunk in chunks {
            self.scan_chunk(chunk, &mut flags);
        }
        match letters.last_chunk::<CHUNK>() {
            _ if rest.is_empty() => {}
            // The last letters again with some before them.
            Some(last) => _ = self.scan_chunk(last, &mut flags),
            None => {
                let mut chunk = [self.filler(); CHUNK];
                chunk[..rest.len()].copy_from_slice(rest);
                self.scan_chunk(&chunk, &mut flags);
            }
        }
        flags
    }

    /// Compares the letters of a chunk with the runs, and returns them in upper case if lower
    /// case counts as such.
    #[inline(always)]
    pub(super) fn scan_chunk(&self, chunk: &[u8; CHUNK], flags: &mut ChunkFlags) -> [u8; CHUNK] {
        let upper = self.raised(chunk);
        let mut is_plain = [0_u8; CHUNK];
        for runs in &self.runs {
            for (flag, letter) in is_plain.iter_mut().zip(&upper) {
                *flag |= within(runs, *letter);
            }
        }
        flags.add(&is_plain, (chunk, &upper));
        upper
    }

    /// A plain member.
    fn filler(&self) -> u8 {
        self.runs.first().map_or(0, |runs| runs[0].0)
    }

    /// What plain letters count as.
    #[inline(always)]
    pub(super) fn raised<const N: usize>(&self, chunk: &[u8; N]) -> [u8; N] {
        let mut upper = *chunk;
        if self.folds {
            for letter in &mut upper {
                *letter = letter.to_ascii_uppercase();
            }
        }
        upper
    }
}

/// How many letters are lower case.
#[inline(always)]
pub(super) fn count_lower(letters: &[u8]) -> u64 {
    let has_lower = |letter: &u8| u64::from(letter.is_ascii_lowercase());
    letters.iter().map(has_lower).sum()
}

/// 1 for a letter in one of the runs.
#[inline(always)]
fn within(runs: &[ByteRun; RUNS], letter: u8) -> u8 {
    let mut found = 0;
    for (first, more) in runs {
        found |= u8::from(letter.wrapping_sub(*first) <= *more);
    }
    found
}
