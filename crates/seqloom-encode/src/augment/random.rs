//! The random numbers of augmentations, computed from a key and a counter.
//!
//! A block is a pair of 32-bit random words, computed from a key and a counter. In the
//! counters of augmentations, the two high bits of the first word are set. The next six
//! bits of the first word encode the purpose of the block. All other bits of the
//! counter encode the index of the block.
//!
//! * `PURPOSE_RESIDUE_BYTES`: block `i` contains one random byte for each of the residues `8 i`
//!   to `8 i + 7`, little-endian. Most decisions need only the random byte of the
//!   residue.
//! * `PURPOSE_RESIDUE_DETAILS`: block `i` belongs to residue `i`. The three high bytes of the
//!   first word extend the random byte of the residue to 32 bits. The second word of
//!   the block selects a new residue. The block is computed only if the random byte
//!   alone does not determine the decision.
//! * `PURPOSE_SEQUENCE_CHOICES`: block `i` is used for random choice number `i` about the whole
//!   sequence.

use seqloom_core::{Key, simd::dispatch};

use seqloom_macros::vectorized;

const AUGMENTATION_FLAG: u32 = 0xC000_0000;
const PURPOSE_RESIDUE_BYTES: u32 = 0;
const PURPOSE_RESIDUE_DETAILS: u32 = 1;
const PURPOSE_SEQUENCE_CHOICES: u32 = 2;
/// The number of residues that share a block of random bytes.
const BLOCK_RESIDUES: usize = 8;
/// The number of blocks that are computed together in vector registers.
const GROUP_BLOCKS: usize = 8;

/// Returns the first counter word, which contains the purpose and the high bits of the
/// block index.
#[inline(always)]
fn first_word(purpose: u32, index: u64) -> u32 {
    let [.., a, b, c, _, _, _, _] = index.to_be_bytes();
    AUGMENTATION_FLAG | purpose << 24 | u32::from_be_bytes([0, a, b, c])
}

/// Returns the second counter word: the low 32 bits of the block index.
#[inline(always)]
fn second_word(index: u64) -> u32 {
    let [.., a, b, c, d] = index.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The words of several blocks or counters: first all first words, then all second
/// words.
type CounterWords = [[u32; GROUP_BLOCKS]; 2];

/// Returns the random words for the given counters.
#[vectorized]
fn random_words(key: Key, counts: CounterWords) -> CounterWords {
    inline_random_words(key, counts)
}

#[inline(always)]
fn inline_random_words(key: Key, counts: CounterWords) -> CounterWords {
    let [mut first, mut second] = counts;
    for (first, second) in first.iter_mut().zip(&mut second) {
        [*first, *second] = key.random_words([*first, *second]);
    }
    [first, second]
}

/// Returns the counters of consecutive blocks. The first index is a multiple of the
/// group size, so the indices do not cross a multiple of 2^32.
#[inline(always)]
fn consecutive_counters(purpose: u32, first: u64) -> CounterWords {
    let mut second_words = [second_word(first); GROUP_BLOCKS];
    for (lane, word) in (0..).zip(&mut second_words) {
        *word += lane;
    }
    [[first_word(purpose, first); GROUP_BLOCKS], second_words]
}

/// Writes one random byte for each of `count` residues.
pub(super) fn write_random_bytes(key: Key, count: usize, out: &mut Vec<u8>) {
    out.resize(count.next_multiple_of(BLOCK_RESIDUES * GROUP_BLOCKS), 0);
    fill_random_bytes(key, out);
    out.truncate(count);
}

/// Fills `out` with random bytes, one group of blocks at a time.
#[vectorized]
fn fill_random_bytes(key: Key, out: &mut [u8]) {
    let firsts = (0_u64..).step_by(GROUP_BLOCKS);
    for (first, out) in firsts.zip(out.chunks_exact_mut(BLOCK_RESIDUES * GROUP_BLOCKS)) {
        let [low, high] =
            inline_random_words(key, consecutive_counters(PURPOSE_RESIDUE_BYTES, first));
        let blocks = low.iter().zip(&high);
        for (out, (&low, &high)) in out
            .as_chunks_mut::<BLOCK_RESIDUES>()
            .0
            .iter_mut()
            .zip(blocks)
        {
            *out = (u64::from(low) | u64::from(high) << 32).to_le_bytes();
        }
    }
}

/// A residue that may change, because its random byte is at most the first byte of the
/// threshold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidate {
    pub(super) position: usize,
    /// The random byte of the residue. [`add_random_numbers`] replaces this byte by the 32-bit
    /// number that is compared with the threshold.
    pub(super) number: u32,
    /// The random word that selects the new residue, which [`add_random_numbers`] computes.
    pub(super) choice: u32,
}

/// A group of candidates whose random numbers are computed together.
pub(super) type CandidateGroup = [Candidate; GROUP_BLOCKS];

/// Computes the 32-bit number and the second random word of each candidate.
pub(super) fn add_random_numbers(key: Key, group: &mut CandidateGroup) {
    let mut counts = [[0; GROUP_BLOCKS]; 2];
    for (lane, candidate) in group.iter().enumerate() {
        counts[0][lane] = first_word(PURPOSE_RESIDUE_DETAILS, candidate.position as u64);
        counts[1][lane] = second_word(candidate.position as u64);
    }
    let [rest, choices] = random_words(key, counts);
    for (candidate, (rest, choice)) in group.iter_mut().zip(rest.into_iter().zip(choices)) {
        candidate.number = candidate.number << 24 | rest >> 8;
        candidate.choice = choice;
    }
}

/// Converts a random word to a number below `count`. The bias is below `count / 2^32`.
pub(super) fn scale_to_range(word: u32, count: usize) -> usize {
    let number = (u64::from(word) * count as u64) >> 32;
    usize::try_from(number).unwrap_or(0)
}

/// A stream of random choices about a whole sequence.
pub(super) struct RandomChoices {
    key: Key,
    index: u64,
    /// The random words of the group of blocks that contains the current index.
    ready: [u64; GROUP_BLOCKS],
}

impl RandomChoices {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            index: 0,
            ready: [0; GROUP_BLOCKS],
        }
    }

    /// Returns the next 64 random bits.
    pub(super) fn next_bits(&mut self) -> u64 {
        let lane = usize::try_from(self.index % GROUP_BLOCKS as u64).unwrap_or(0);
        if lane == 0 {
            let counts = consecutive_counters(PURPOSE_SEQUENCE_CHOICES, self.index);
            let [high, low] = random_words(self.key, counts);
            let words = high.into_iter().zip(low);
            for (ready, (high, low)) in self.ready.iter_mut().zip(words) {
                *ready = u64::from(high) << 32 | u64::from(low);
            }
        }
        self.index += 1;
        self.ready[lane]
    }

    /// Returns a random number below `count`. The bias is below `count / 2^64`.
    pub(super) fn next_below(&mut self, count: usize) -> usize {
        let number = (u128::from(self.next_bits()) * count as u128) >> 64;
        usize::try_from(number).unwrap_or(0)
    }

    /// Shuffles `items` with the algorithm of Fisher and Yates, from the end.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.next_below(last + 1));
        }
    }
}
