//! Words of at most 16 letters among four, many at a time.

use crate::letters::CHUNK;

/// No member, so the words that hold it have no number.
pub(super) const NONE: u8 = u8::MAX;

/// Longer words' numbers do not fit half a register's lane.
const LONGEST: usize = 16;

/// The letters of [`CHUNK`] words.
const SPAN: usize = CHUNK + LONGEST;

/// For each digit the letters that mean it: a member, and its lower case or the member again.
type Pairs = [[u8; 2]; 4];

/// Words of four members, where they are short.
#[derive(Clone, Copy, Debug)]
pub(super) struct Four {
    pairs: Pairs,
    k: usize,
    stride: usize,
    is_canonical: bool,
}

impl Four {
    /// The words of `k` letters, one at each `stride`-th position; nothing where there are not
    /// four members, or words are long.
    pub(super) fn new(
        members: &[u8],
        digits: &[u8; 256],
        (k, stride): (usize, usize),
        is_canonical: bool,
    ) -> Option<Self> {
        let members: [u8; 4] = members.try_into().ok()?;
        let pair = |member: u8| {
            let lower = member.to_ascii_lowercase();
            let digit = digits[usize::from(member)];
            let is_same = digit != NONE && digits[usize::from(lower)] == digit;
            [member, if is_same { lower } else { member }]
        };
        (k <= LONGEST).then(|| Self {
            pairs: members.map(pair),
            k,
            stride,
            is_canonical,
        })
    }

    /// Gives the numbers of all words, some at a time, where all letters are members.
    #[inline(always)]
    pub(super) fn each(&self, letters: &[u8], mut give: impl FnMut(&[u32])) {
        let starts = (letters.len() + 1).saturating_sub(self.k);
        let mut start = 0;
        while start < starts {
            let some = CHUNK.min(starts - start);
            let numbers = self.numbers(&digits(self.pairs, &letters[start..]));
            if self.stride == 1 {
                give(&numbers[..some]);
                start += some;
                continue;
            }
            for number in numbers[..some].iter().step_by(self.stride) {
                give(std::slice::from_ref(number));
            }
            start += some.div_ceil(self.stride) * self.stride;
        }
    }

    /// The numbers of the words that begin with the first digits.
    #[inline(always)]
    fn numbers(&self, digits: &[u8; SPAN]) -> [u32; CHUNK] {
        let mut forward = [0; CHUNK];
        for position in 0..self.k {
            push(&mut forward, digits[position..].first_chunk(), 0);
        }
        if self.is_canonical {
            let mut backward = [0; CHUNK];
            for position in (0..self.k).rev() {
                push(&mut backward, digits[position..].first_chunk(), 3);
            }
            for (one, other) in forward.iter_mut().zip(&backward) {
                *one = (*one).min(*other);
            }
        }
        forward
    }
}

/// Appends a digit to each number, combined by exclusive or with `mask`: 3 makes its complement.
#[inline(always)]
fn push(numbers: &mut [u32; CHUNK], digits: Option<&[u8; CHUNK]>, mask: u8) {
    let Some(digits) = digits else { return };
    for (number, digit) in numbers.iter_mut().zip(digits) {
        *number = *number << 2 | u32::from(*digit ^ mask);
    }
}

/// The digits of the first letters.
#[inline(always)]
fn digits(pairs: Pairs, letters: &[u8]) -> [u8; SPAN] {
    let mut span = [0; SPAN];
    match letters.first_chunk::<SPAN>() {
        Some(whole) => span = *whole,
        None => span[..letters.len()].copy_from_slice(letters),
    }
    for letter in &mut span {
        let [_, second, third, fourth] =
            pairs.map(|[one, other]| *letter == one || *letter == other);
        *letter = u8::from(second) + 2 * u8::from(third) + 3 * u8::from(fourth);
    }
    span
}
