//! The sizes of panels, and the blocks of the inner axis.

use std::ops::Range;

use crate::tuned::{MAX_BLOCK_K, TILE_16, TILE_32};
use crate::{Float, lanes::Registers};

/// The number of left rows or right columns in a panel. Left values are broadcast one
/// by one; right values fill registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PanelSizes {
    /// The number of rows of a left panel.
    pub(crate) left: usize,
    /// The number of rows of a left panel is a multiple of this number.
    pub(crate) left_step: usize,
    /// The number of columns of a right panel, a multiple of the register size.
    pub(crate) right: usize,
    /// The number of values in a register.
    pub(crate) lanes: usize,
}

impl PanelSizes {
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

    /// Returns the number of packed rows for `count` left rows, including padding. The
    /// last panel may be narrower.
    pub(crate) fn left_lines(&self, count: usize) -> usize {
        count.next_multiple_of(self.left_step)
    }

    /// Returns the number of packed columns for `count` right columns, including
    /// padding. The last panel may be narrower.
    pub(crate) fn right_lines(&self, count: usize) -> usize {
        count.next_multiple_of(self.lanes)
    }
}

/// Splits the inner axis into equal blocks of at most [`MAX_BLOCK_K`] positions.
pub(crate) fn k_blocks(k: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let size = k.div_ceil(k.div_ceil(MAX_BLOCK_K).max(1)).max(1);
    (0..k)
        .step_by(size)
        .map(move |start| start..k.min(start + size))
}
