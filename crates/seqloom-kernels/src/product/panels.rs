//! The sizes of panels, and the blocks of K.

use std::ops::Range;

use crate::tuned::{MAX_BLOCK_K, TILE_16, TILE_32};
use crate::{Float, lanes::Registers};

/// The number of lines of a panel. Left values are broadcast one by one; right values
/// fill registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panels {
    /// The number of lines of a left panel.
    pub(crate) left: usize,
    /// The number of lines of a left panel is a multiple of this.
    pub(crate) left_step: usize,
    /// The number of lines of a right panel, a multiple of the register size.
    pub(crate) right: usize,
    /// The number of values in a register.
    pub(crate) lanes: usize,
}

impl Panels {
    /// Returns the panel sizes for the registers of this processor.
    pub(crate) fn for_type<T: Float>() -> Self {
        let Registers { lanes, are_many } = Registers::for_type::<T>();
        let ((left, wide), left_step) = if are_many { (TILE_32, 4) } else { (TILE_16, 2) };
        Self {
            left,
            left_step,
            right: wide * lanes,
            lanes,
        }
    }

    /// Returns the number of packed lines for `count` left lines, including padding;
    /// the last panel may be narrower.
    pub(crate) fn left_lines(&self, count: usize) -> usize {
        count.next_multiple_of(self.left_step)
    }

    /// Returns the number of packed lines for `count` right lines, including padding;
    /// the last panel may be narrower.
    pub(crate) fn right_lines(&self, count: usize) -> usize {
        count.next_multiple_of(self.lanes)
    }
}

/// Splits K into equal blocks of at most [`tuned::MAX_BLOCK_K`] positions.
pub(crate) fn blocks(k: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let size = k.div_ceil(k.div_ceil(MAX_BLOCK_K).max(1)).max(1);
    (0..k)
        .step_by(size)
        .map(move |start| start..k.min(start + size))
}
