//! How lines are cut into panels, and K into blocks.

use std::ops::Range;

use crate::tuned::{MAX_BLOCK_K, TILE_16, TILE_32};
use crate::{Float, lanes::Registers};

/// Lines of a panel. Those of the left factor are numbers that are multiplied one by one,
/// those of the right factor fill registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panels {
    /// Lines of a left panel.
    pub(crate) left: usize,
    /// Lines of a left panel are a multiple of so many.
    pub(crate) left_step: usize,
    /// Lines of a right panel, a multiple of registers.
    pub(crate) right: usize,
    /// Numbers of a register.
    pub(crate) lanes: usize,
}

impl Panels {
    /// Those of this machine's registers.
    pub(crate) fn of<T: Float>() -> Self {
        let Registers { lanes, are_many } = Registers::of::<T>();
        let ((left, wide), left_step) = if are_many { (TILE_32, 4) } else { (TILE_16, 2) };
        Self {
            left,
            left_step,
            right: wide * lanes,
            lanes,
        }
    }

    /// Lines that are packed of so many left ones: the last panel may be narrower.
    pub(crate) fn left_lines(&self, count: usize) -> usize {
        count.next_multiple_of(self.left_step)
    }

    /// Lines that are packed of so many right ones: the last panel may be narrower.
    pub(crate) fn right_lines(&self, count: usize) -> usize {
        count.next_multiple_of(self.lanes)
    }
}

/// Cuts K into equal blocks of at most [`tuned::MAX_BLOCK_K`] positions.
pub(crate) fn blocks(k: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let size = k.div_ceil(k.div_ceil(MAX_BLOCK_K).max(1)).max(1);
    (0..k)
        .step_by(size)
        .map(move |start| start..k.min(start + size))
}
