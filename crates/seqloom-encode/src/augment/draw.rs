//! Which random word decides what.
//!
//! An augmentation's words come from counters of a range of their own, which no
//! fold, name or split of a key meets: the two high bits of the first counter
//! word are set, the six below say what the word is for, and the rest of the
//! counter is an index.
//!
//! * `LETTERS`: block `i` holds one byte for each of the letters `8 i` to
//!   `8 i + 7`, little end first. Eight letters for one block is what makes it
//!   cheap to decide about each letter.
//! * `DETAILS`: block `i` belongs to letter `i` alone. Its first word's three
//!   high bytes continue the letter's byte to 32 bits, and its second word
//!   chooses among letters. It is computed only where the byte leaves it open.
//! * `CHOICES`: block `i` is the `i`-th choice about a sequence as a whole.

use seqloom_core::Key;

use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

const RANGE: u32 = 0xC000_0000;
const LETTERS: u32 = 0;
const DETAILS: u32 = 1;
const CHOICES: u32 = 2;
/// Letters that share a block.
const SHARE: usize = 8;
/// Blocks computed side by side, in vector registers.
const LANES: usize = 8;

/// The counter word that says what for; an index beyond 32 bits goes on in it.
#[inline(always)]
fn head(purpose: u32, index: u64) -> u32 {
    let [.., a, b, c, _, _, _, _] = index.to_be_bytes();
    RANGE | purpose << 24 | u32::from_be_bytes([0, a, b, c])
}

#[inline(always)]
fn tail(index: u64) -> u32 {
    let [.., a, b, c, d] = index.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// Blocks side by side: all first words, all second words.
type CounterWords = [[u32; LANES]; 2];

/// Makes words of counters.
#[vectorized]
fn blocks(key: Key, counts: CounterWords) -> CounterWords {
    words(key, counts)
}

#[inline(always)]
fn words(key: Key, counts: CounterWords) -> CounterWords {
    let [mut first, mut second] = counts;
    for (first, second) in first.iter_mut().zip(&mut second) {
        [*first, *second] = key.words([*first, *second]);
    }
    [first, second]
}

/// The counters of neighbouring blocks. A group never crosses a multiple of 2^32:
/// its first index is a multiple of its size.
#[inline(always)]
fn neighbours(purpose: u32, first: u64) -> CounterWords {
    let mut tails = [tail(first); LANES];
    for (lane, tail) in (0..).zip(&mut tails) {
        *tail += lane;
    }
    [[head(purpose, first); LANES], tails]
}

/// Writes one random byte for each of `count` letters.
pub(super) fn bytes(key: Key, count: usize, out: &mut Vec<u8>) {
    out.resize(count.next_multiple_of(SHARE * LANES), 0);
    fill_bytes(key, out);
    out.truncate(count);
}

/// A random byte for each letter, in whole groups of blocks.
#[vectorized]
fn fill_bytes(key: Key, out: &mut [u8]) {
    let firsts = (0_u64..).step_by(LANES);
    for (first, out) in firsts.zip(out.chunks_exact_mut(SHARE * LANES)) {
        let [low, high] = words(key, neighbours(LETTERS, first));
        let blocks = low.iter().zip(&high);
        for (out, (&low, &high)) in out.as_chunks_mut::<SHARE>().0.iter_mut().zip(blocks) {
            *out = (u64::from(low) | u64::from(high) << 32).to_le_bytes();
        }
    }
}

/// A letter about which its byte leaves something open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenLetter {
    pub(super) position: usize,
    /// Its byte; after [`settle`] the 32 bits that decide about it.
    pub(super) number: u32,
    /// After [`settle`], the word that chooses for it.
    pub(super) choice: u32,
}

/// Letters whose details are worked out together.
pub(super) type OpenGroup = [OpenLetter; LANES];

/// Works out the details of letters.
pub(super) fn settle(key: Key, group: &mut OpenGroup) {
    let mut counts = [[0; LANES]; 2];
    for (lane, open) in group.iter().enumerate() {
        counts[0][lane] = head(DETAILS, open.position as u64);
        counts[1][lane] = tail(open.position as u64);
    }
    let [rest, choices] = blocks(key, counts);
    for (open, (rest, choice)) in group.iter_mut().zip(rest.into_iter().zip(choices)) {
        open.number = open.number << 24 | rest >> 8;
        open.choice = choice;
    }
}

/// A number below `count` from one word; the bias is below `count / 2^32`.
pub(super) fn among(word: u32, count: usize) -> usize {
    let number = (u64::from(word) * count as u64) >> 32;
    usize::try_from(number).unwrap_or(0)
}

/// Choices about a sequence as a whole, one after the other.
pub(super) struct Choices {
    key: Key,
    index: u64,
    /// The blocks around the index.
    ready: [u64; LANES],
}

impl Choices {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            index: 0,
            ready: [0; LANES],
        }
    }

    /// The next 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        let lane = usize::try_from(self.index % LANES as u64).unwrap_or(0);
        if lane == 0 {
            let counts = neighbours(CHOICES, self.index);
            let [high, low] = blocks(self.key, counts);
            let words = high.into_iter().zip(low);
            for (ready, (high, low)) in self.ready.iter_mut().zip(words) {
                *ready = u64::from(high) << 32 | u64::from(low);
            }
        }
        self.index += 1;
        self.ready[lane]
    }

    /// A number below `count`; the bias is below `count / 2^64`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let number = (u128::from(self.next()) * count as u128) >> 64;
        usize::try_from(number).unwrap_or(0)
    }

    /// Puts things in random order (Fisher and Yates, from the end).
    pub(super) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}
