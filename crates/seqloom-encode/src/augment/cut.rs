//! A part of a sequence, or the sequence moved.

use seqloom_core::{Error, Key, Result};

use super::AugmentedRow;
use super::draw::Choices;

/// Which part of a longer sequence a crop keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CropMode {
    /// A window at a random position.
    Random,
    /// The middle.
    Centre,
    /// The first letters.
    Start,
}

/// Cuts a part of fixed length out of longer sequences; shorter ones stay.
#[derive(Clone, Debug)]
pub struct Crop {
    length: usize,
    mode: CropMode,
}

impl Crop {
    /// Parts of `length` letters.
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
            CropMode::Random => Choices::new(key).below(spare + 1),
            CropMode::Centre => spare / 2,
            CropMode::Start => 0,
        };
        for bytes in [&mut row.letters, &mut row.qualities] {
            bytes.truncate(start + self.length);
            bytes.drain(..start.min(bytes.len()));
        }
    }
}

/// Moves a sequence to the right or to the left; its length stays.
#[derive(Clone, Debug)]
pub struct Shift {
    most: usize,
    fill: Option<u8>,
}

/// The quality of a letter that nobody read: 0, as phred33 writes it.
const UNREAD: u8 = b'!';

impl Shift {
    /// By at most `most` positions; `fill` stands where letters left, or, if there
    /// is none, those that left at the other end.
    pub fn new(most: usize, fill: Option<u8>) -> Result<Self> {
        if most > usize::MAX / 4 {
            return Err(Error::argument(format!(
                "max_shift must be at most {}, got {most}",
                usize::MAX / 4
            )));
        }
        Ok(Self { most, fill })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let drawn = Choices::new(key).below(2 * self.most + 1);
        let (right, left) = (
            drawn.saturating_sub(self.most),
            self.most.saturating_sub(drawn),
        );
        match self.fill {
            Some(letter) => fill(row, letter, right, left),
            None => roll(row, right, left),
        }
    }
}

fn fill(row: &mut AugmentedRow, letter: u8, right: usize, left: usize) {
    let length = row.letters.len();
    let (right, left) = (right.min(length), left.min(length));
    row.begin();
    row.put(letter, UNREAD, right);
    row.copy(left, length - right);
    row.put(letter, UNREAD, left);
    row.finish();
}

fn roll(row: &mut AugmentedRow, right: usize, left: usize) {
    for bytes in [&mut row.letters, &mut row.qualities] {
        let length = bytes.len().max(1);
        bytes.rotate_right(right % length);
        bytes.rotate_left(left % length);
    }
}
