//! Which bytes are plain members, in a form that the compiler turns into vectors.

/// Letters that are looked at together: a verdict's byte can count so many.
pub(crate) const CHUNK: usize = 64;

/// Runs that are compared together, so that what they find stays in registers.
const RUNS: usize = 4;

/// The first byte of a run, and how many follow it.
type Run = (u8, u8);

/// Plain members as runs of neighbouring bytes.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    /// The last run again, where there are fewer.
    runs: Vec<[Run; RUNS]>,
    /// Whether lower case counts as upper case.
    pub(super) folds: bool,
}

/// What was seen in chunks of letters, position by position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// 1 where every letter was a plain member.
    plain: [u8; CHUNK],
    /// Not 0 where a letter was lower case.
    lower: [u8; CHUNK],
}

impl Seen {
    pub(crate) const NOTHING: Self = Self {
        plain: [1; CHUNK],
        lower: [0; CHUNK],
    };

    /// Adds a chunk: where its letters are plain, and what they are before and after
    /// raising.
    #[inline(always)]
    fn add(&mut self, plain: &[u8; CHUNK], (letters, upper): (&[u8; CHUNK], &[u8; CHUNK])) {
        for at in 0..CHUNK {
            self.plain[at] &= plain[at];
            self.lower[at] |= letters[at] ^ upper[at];
        }
    }

    /// Whether there was a letter that is no plain member.
    #[inline(always)]
    pub(crate) fn is_odd(&self) -> bool {
        self.plain.iter().fold(1, |all, plain| all & plain) == 0
    }

    /// Whether there was lower case that counts as upper case.
    #[inline(always)]
    pub(crate) fn is_lower(&self) -> bool {
        self.lower.iter().fold(0, |any, lower| any | lower) != 0
    }
}

impl Plain {
    pub(super) fn new(is_plain: impl Fn(u8) -> bool, folds: bool) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for byte in (0..=u8::MAX).filter(|byte| is_plain(*byte)) {
            match runs.last_mut() {
                Some((first, more)) if *first + *more + 1 == byte => *more += 1,
                _ => runs.push((byte, 0)),
            }
        }
        let repeated = |some: &[Run]| std::array::from_fn(|at| some[at.min(some.len() - 1)]);
        let runs = runs.chunks(RUNS).map(repeated).collect();
        Self { runs, folds }
    }

    /// Looks at every letter.
    #[inline(always)]
    pub(super) fn look(&self, letters: &[u8]) -> Seen {
        let mut seen = Seen::NOTHING;
        let (chunks, rest) = letters.as_chunks::<CHUNK>();
        for chunk in chunks {
            self.look_at(chunk, &mut seen);
        }
        match letters.last_chunk::<CHUNK>() {
            _ if rest.is_empty() => {}
            // The last letters again with some before them.
            Some(last) => _ = self.look_at(last, &mut seen),
            None => {
                let mut chunk = [self.filler(); CHUNK];
                chunk[..rest.len()].copy_from_slice(rest);
                self.look_at(&chunk, &mut seen);
            }
        }
        seen
    }

    /// Looks at a chunk, and tells what its letters count as if they are plain.
    #[inline(always)]
    pub(super) fn look_at(&self, chunk: &[u8; CHUNK], seen: &mut Seen) -> [u8; CHUNK] {
        let upper = self.raised(chunk);
        let mut is_plain = [0_u8; CHUNK];
        for runs in &self.runs {
            for (flag, letter) in is_plain.iter_mut().zip(&upper) {
                *flag |= within(runs, *letter);
            }
        }
        seen.add(&is_plain, (chunk, &upper));
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
    let is_lower = |letter: &u8| u64::from(letter.is_ascii_lowercase());
    letters.iter().map(is_lower).sum()
}

/// 1 for a letter in one of the runs.
#[inline(always)]
fn within(runs: &[Run; RUNS], letter: u8) -> u8 {
    let mut found = 0;
    for (first, more) in runs {
        found |= u8::from(letter.wrapping_sub(*first) <= *more);
    }
    found
}
