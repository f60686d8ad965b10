//! Random crops and shifts.

use seqloom_core::{Error, Key, Result};

use super::{AugmentedRow, random::RandomChoices};

/// The window to which a longer sequence is cropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CropMode {
    /// A window at a random position.
    Random,
    /// The window in the middle of the sequence.
    Centre,
    /// The window at the start of the sequence.
    Start,
}

/// Crops longer sequences to a fixed length; shorter sequences do not change.
#[derive(Clone, Debug)]
pub struct Crop {
    length: usize,
    mode: CropMode,
}

impl Crop {
    /// Creates a crop to `length` residues.
    pub fn new(length: usize, mode: CropMode) -> Result<Self> {
        if length == 0 {
            return Err(Error::argument("length must be at least 1, got 0"));
        }
        Ok(Self { length, mode })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let Some(spare) = row.letters.len().checked_sub(self.length) else {
            return;
        };
        let start = match self.mode {
            CropMode::Random => RandomChoices::new(key).next_below(spare + 1),
            CropMode::Centre => spare / 2,
            CropMode::Start => 0,
        };
        for bytes in [&mut row.letters, &mut row.qualities] {
            bytes.truncate(start + self.length);
            bytes.drain(..start.min(bytes.len()));
        }
    }
}

/// A shift of a sequence to the right or left, which keeps its length.
#[derive(Clone, Debug)]
pub struct Shift {
    max_shift: usize,
    fill: Option<u8>,
}

/// The quality of a fill residue: Phred 0, encoded with offset 33.
const FILL_QUALITY: u8 = b'!';

impl Shift {
    /// Creates a shift by at most `max_shift` positions. Vacated positions are filled
    /// with `fill`. If `fill` is `None`, vacated positions are filled with the residues
    /// that were shifted out at the other end.
    pub fn new(max_shift: usize, fill: Option<u8>) -> Result<Self> {
        if max_shift > usize::MAX / 4 {
            return Err(Error::argument(format!(
                "max_shift must be at most {}, got {max_shift}",
                usize::MAX / 4
            )));
        }
        Ok(Self { max_shift, fill })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let sampled = RandomChoices::new(key).next_below(2 * self.max_shift + 1);
        let (right, left) = (
            sampled.saturating_sub(self.max_shift),
            self.max_shift.saturating_sub(sampled),
        );
        match self.fill {
            Some(letter) => shift_and_fill(row, letter, right, left),
            None => rotate_row(row, right, left),
        }
    }
}

fn shift_and_fill(row: &mut AugmentedRow, letter: u8, right: usize, left: usize) {
    let length = row.letters.len();
    let (right, left) = (right.min(length), left.min(length));
    row.clear_output();
    row.append(letter, FILL_QUALITY, right);
    row.copy_range(left, length - right);
    row.append(letter, FILL_QUALITY, left);
    row.replace_sequence();
}

fn rotate_row(row: &mut AugmentedRow, right: usize, left: usize) {
    for bytes in [&mut row.letters, &mut row.qualities] {
        let length = bytes.len().max(1);
        bytes.rotate_right(right % length);
        bytes.rotate_left(left % length);
    }
}
