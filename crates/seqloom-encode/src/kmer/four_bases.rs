//! K-mers of at most 16 bases in an alphabet of four, many at a time.

use crate::letters::CHUNK_RESIDUES;

/// The digit of a byte that is not a member. K-mers that contain such a byte have no
/// number.
pub(super) const NOT_A_MEMBER: u8 = u8::MAX;

/// The largest k whose numbers fit in 32 bits.
const MAX_K: usize = 16;

/// The number of bases that [`CHUNK_RESIDUES`] k-mers cover.
const SPAN_BASES: usize = CHUNK_RESIDUES + MAX_K;

/// The two characters of each digit: the member, and its lower case if that is accepted.
type CasePairs = [[u8; 2]; 4];

/// Short k-mers of an alphabet with four members.
#[derive(Clone, Copy, Debug)]
pub(super) struct FourBaseKmers {
    pairs: CasePairs,
    k: usize,
    stride: usize,
    is_canonical: bool,
}

impl FourBaseKmers {
    /// Selects the k-mers at every `stride`-th position; returns `None` if there are not four
    /// members or `k` is above [`MAX_K`].
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
            let is_same = digit != NOT_A_MEMBER && digits[usize::from(lower)] == digit;
            [member, if is_same { lower } else { member }]
        };
        (k <= MAX_K).then(|| Self {
            pairs: members.map(pair),
            k,
            stride,
            is_canonical,
        })
    }

    /// Calls `act` with the numbers of successive k-mers. All bases must be members.
    #[inline(always)]
    pub(super) fn for_each(&self, letters: &[u8], mut act: impl FnMut(&[u32])) {
        let starts = (letters.len() + 1).saturating_sub(self.k);
        let mut start = 0;
        while start < starts {
            let count = CHUNK_RESIDUES.min(starts - start);
            let numbers = self.numbers(&digits(self.pairs, &letters[start..]));
            if self.stride == 1 {
                act(&numbers[..count]);
                start += count;
                continue;
            }
            for number in numbers[..count].iter().step_by(self.stride) {
                act(std::slice::from_ref(number));
            }
            start += count.div_ceil(self.stride) * self.stride;
        }
    }

    /// Returns the numbers of the first [`CHUNK_RESIDUES`] k-mers.
    #[inline(always)]
    fn numbers(&self, digits: &[u8; SPAN_BASES]) -> [u32; CHUNK_RESIDUES] {
        let mut forward = [0; CHUNK_RESIDUES];
        for position in 0..self.k {
            push_digit(&mut forward, digits[position..].first_chunk(), 0);
        }
        if self.is_canonical {
            let mut backward = [0; CHUNK_RESIDUES];
            for position in (0..self.k).rev() {
                push_digit(&mut backward, digits[position..].first_chunk(), 3);
            }
            for (one, other) in forward.iter_mut().zip(&backward) {
                *one = (*one).min(*other);
            }
        }
        forward
    }
}

/// Appends a digit to each number, after an exclusive or of the digit with `mask`; the
/// mask 3 complements the base.
#[inline(always)]
fn push_digit(
    numbers: &mut [u32; CHUNK_RESIDUES],
    digits: Option<&[u8; CHUNK_RESIDUES]>,
    mask: u8,
) {
    let Some(digits) = digits else { return };
    for (number, digit) in numbers.iter_mut().zip(digits) {
        *number = *number << 2 | u32::from(*digit ^ mask);
    }
}

/// Returns the digits of the first bases.
#[inline(always)]
fn digits(pairs: CasePairs, letters: &[u8]) -> [u8; SPAN_BASES] {
    let mut span = [0; SPAN_BASES];
    match letters.first_chunk::<SPAN_BASES>() {
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
