//! Encodes many k-mers together, for k up to 16 and alphabets of four bases.

use crate::letters::CHUNK_RESIDUES;

/// The digit of a byte that is not in the alphabet. K-mers that contain this digit have
/// no number.
pub(super) const NO_DIGIT: u8 = u8::MAX;

/// The largest k for which the number of a k-mer fits in 32 bits.
const MAX_K: usize = 16;

/// The number of bases that the k-mers of a chunk cover.
const SPAN_BASES: usize = CHUNK_RESIDUES + MAX_K;

/// The two characters with the same digit: the base, and its lower case if lower case
/// is accepted.
type CasePairs = [[u8; 2]; 4];

/// An encoder of short k-mers for an alphabet of four bases.
#[derive(Clone, Copy, Debug)]
pub(super) struct FourBaseKmers {
    pairs: CasePairs,
    k: usize,
    stride: usize,
    is_canonical: bool,
}

impl FourBaseKmers {
    /// Selects the k-mers at every `stride`-th position. Returns `None` if the alphabet
    /// does not have four bases or `k` is above [`MAX_K`].
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
            let is_same = digit != NO_DIGIT && digits[usize::from(lower)] == digit;
            [member, if is_same { lower } else { member }]
        };
        (k <= MAX_K).then(|| Self {
            pairs: members.map(pair),
            k,
            stride,
            is_canonical,
        })
    }

    /// Calls `act` with the numbers of consecutive k-mers. All bases must be in the
    /// alphabet.
    #[inline(always)]
    pub(super) fn for_each_chunk(&self, letters: &[u8], mut act: impl FnMut(&[u32])) {
        let starts = (letters.len() + 1).saturating_sub(self.k);
        let mut start = 0;
        while start < starts {
            let count = CHUNK_RESIDUES.min(starts - start);
            let numbers = self.kmer_numbers(&base_digits(self.pairs, &letters[start..]));
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
    fn kmer_numbers(&self, digits: &[u8; SPAN_BASES]) -> [u32; CHUNK_RESIDUES] {
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

/// Appends a digit to each number, combined with `mask` by exclusive or. With the mask
/// 3, the digit of the complementary base is appended.
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

/// Returns the digits of the bases that the k-mers of a chunk cover.
#[inline(always)]
fn base_digits(pairs: CasePairs, letters: &[u8]) -> [u8; SPAN_BASES] {
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
