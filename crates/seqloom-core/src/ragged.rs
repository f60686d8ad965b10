//! Sequences of unequal lengths, end to end in one buffer.

use crate::{Error, Result};

/// Many sequences: one buffer of letters, and where each begins.
///
/// Sequence `i` is `data[offsets[i]..offsets[i + 1]]`; that the offsets rise
/// and stay inside the buffer is checked once, at the door.
#[derive(Clone, Copy, Debug)]
pub struct Ragged<'a> {
    data: &'a [u8],
    offsets: &'a [i64],
}

impl<'a> Ragged<'a> {
    /// Checks the offsets against the data.
    pub fn new(data: &'a [u8], offsets: &'a [i64]) -> Result<Self> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err(Error::argument("offsets must hold at least one number"));
        };
        let rises = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        let fits = usize::try_from(last).is_ok_and(|last| last <= data.len());
        if first < 0 || !rises || !fits {
            return Err(Error::argument(format!(
                "offsets must rise from 0 to at most {} (the number of letters)",
                data.len()
            )));
        }
        Ok(Self { data, offsets })
    }

    /// The number of sequences.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no sequence.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The letters of sequence `index`; nothing beyond the last.
    pub fn get(&self, index: usize) -> &'a [u8] {
        let bound = |at: usize| usize::try_from(*self.offsets.get(at)?).ok();
        bound(index)
            .zip(bound(index + 1))
            .and_then(|(start, stop)| self.data.get(start..stop))
            .unwrap_or_default()
    }

    /// Every sequence in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let all = *self;
        (0..all.len()).map(move |index| all.get(index))
    }

    /// The length of the longest sequence.
    pub fn longest(&self) -> usize {
        self.iter().map(<[u8]>::len).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_lies_between_two_offsets() {
        let all = Ragged::new(b"ACGTA", &[0, 2, 2, 5]).unwrap();
        let found: Vec<&[u8]> = all.iter().collect();
        assert_eq!(found, [b"AC".as_slice(), b"", b"GTA"]);
        assert_eq!(all.longest(), 3);
    }

    #[test]
    fn offsets_that_fall_or_leave_the_data_are_an_error() {
        for offsets in [&[][..], &[0, 6], &[-1, 2], &[0, 3, 2]] {
            assert!(Ragged::new(b"ACGTA", offsets).is_err(), "{offsets:?}");
        }
    }
}
