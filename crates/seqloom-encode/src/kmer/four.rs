//! Words of at most 16 letters among four, many at a time.

use super::{NONE, Words};
use crate::letters::CHUNK;

/// Longer words' numbers do not fit half a register's lane.
const LONGEST: usize = 16;

/// The letters of [`CHUNK`] words.
const SPAN: usize = CHUNK + LONGEST;

/// For each digit the letters that mean it: a member, and its lower case or the member again.
pub(super) type Pairs = [[u8; 2]; 4];

/// The letters that mean each digit, where there are four members and words are short.
pub(super) fn pairs(members: &[u8], k: usize, digits: &[u8; 256]) -> Option<Pairs> {
    let members: [u8; 4] = members.try_into().ok()?;
    let pair = |member: u8| {
        let lower = member.to_ascii_lowercase();
        let digit = digits[usize::from(member)];
        let is_same = digit != NONE && digits[usize::from(lower)] == digit;
        [member, if is_same { lower } else { member }]
    };
    (k <= LONGEST).then(|| members.map(pair))
}

impl Words {
    /// Gives the numbers of all words in turn, some at a time, where all letters are members.
    #[inline(always)]
    pub(super) fn each_of_four(&self, pairs: Pairs, letters: &[u8], mut give: impl FnMut(&[u32])) {
        let starts = (letters.len() + 1).saturating_sub(self.k);
        let mut start = 0;
        while start < starts {
            let some = CHUNK.min(starts - start);
            let numbers = self.numbers(&digits(pairs, &letters[start..]));
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
        for place in 0..self.k {
            push(&mut forward, digits[place..].first_chunk(), 0);
        }
        if self.is_canonical {
            let mut backward = [0; CHUNK];
            for place in (0..self.k).rev() {
                push(&mut backward, digits[place..].first_chunk(), 3);
            }
            for (one, other) in forward.iter_mut().zip(&backward) {
                *one = (*one).min(*other);
            }
        }
        forward
    }
}

/// Appends a digit to each number, turned by `turn`: 3 makes its complement.
#[inline(always)]
fn push(numbers: &mut [u32; CHUNK], digits: Option<&[u8; CHUNK]>, turn: u8) {
    let Some(digits) = digits else { return };
    for (number, digit) in numbers.iter_mut().zip(digits) {
        *number = *number << 2 | u32::from(*digit ^ turn);
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
