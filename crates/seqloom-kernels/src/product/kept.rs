//! A right factor that is packed once and multiplied by many left ones.

use super::kernel::{Tiles, take_tiles};
use super::rows::Rows;
use super::{Goal, Lines, Panels, blocks};
use crate::Float;
use crate::matrix::MatrixMut;

/// A right factor, packed block by block of its depth.
pub(crate) struct KeptFactor<'a, T> {
    packed: &'a [T],
    depth: usize,
    /// Columns that are packed: whole registers.
    columns: usize,
}

impl<T: Float> KeptFactor<'_, T> {
    /// Packs the lines into this thread's scratch space, and calls `work` with them.
    pub(crate) fn pack<R>(lines: &impl Lines<T>, work: impl FnOnce(&KeptFactor<'_, T>) -> R) -> R {
        let panels = Panels::of::<T>();
        let (columns, depth) = (panels.right_lines(lines.count()), lines.depth());
        T::with_scratch(columns * depth, |packed| {
            for depth in blocks(depth) {
                let block = &mut packed[depth.start * columns..depth.end * columns];
                lines.pack_panels(0, depth, panels.right, block);
            }
            work(&KeptFactor {
                packed,
                depth,
                columns,
            })
        })
    }

    /// Fills `out` with the product of `left` and this factor, on one thread.
    pub(crate) fn multiply(
        &self,
        left: &impl Lines<T>,
        mut out: MatrixMut<'_, T>,
        goal: Goal<'_, T>,
    ) {
        let panels = Panels::of::<T>();
        let lines = panels.left_lines(left.count());
        for depth in blocks(self.depth) {
            T::with_scratch(lines * depth.len(), |packed| {
                left.pack_panels(0, depth.clone(), panels.left, packed);
                take_tiles(Tiles {
                    depth: depth.len(),
                    left: packed,
                    right: &self.packed[depth.start * self.columns..depth.end * self.columns],
                    take: Rows {
                        out: out.lend(),
                        goal: goal.of(0, depth.start == 0),
                    },
                });
            });
        }
    }
}
