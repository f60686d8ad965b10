//! Right factors that are packed once and multiplied by many left ones.

use super::kernel::{Tiles, take_tiles};
use super::rows::Rows;
use super::{Factor, Goal, Lines, Panels, blocks};
use crate::matrix::MatrixMut;
use crate::{Float, parallel};

/// A right factor, packed block by block of its depth.
pub(crate) struct KeptFactor<'a, T> {
    packed: &'a [T],
    /// Columns that are packed: whole registers.
    columns: usize,
}

impl<'a, T: Float> KeptFactor<'a, T> {
    /// Packs the lines into this thread's scratch space, and calls `work` with them.
    pub(crate) fn pack<R>(lines: &impl Lines<T>, work: impl FnOnce(&KeptFactor<'_, T>) -> R) -> R {
        T::with_scratch(Self::room(lines), |packed| {
            work(&KeptFactor::pack_into(lines, packed, 1))
        })
    }

    /// How many numbers the packed lines are.
    pub(crate) fn room(lines: &impl Lines<T>) -> usize {
        Panels::of::<T>().right_lines(lines.count()) * lines.depth()
    }

    /// Packs the lines into memory that has room for them.
    pub(crate) fn pack_into(lines: &impl Lines<T>, packed: &'a mut [T], threads: usize) -> Self {
        let panels = Panels::of::<T>();
        let (columns, some) = (panels.right_lines(lines.count()), SOME * panels.right);
        for depth in blocks(lines.depth()) {
            let block = &mut packed[depth.start * columns..depth.end * columns];
            parallel::chunks(block, some * depth.len(), threads, |number, out| {
                lines.pack_panels(number * some, depth.clone(), panels.right, out);
            });
        }
        Self { packed, columns }
    }

    /// Fills `out` with the product of `left` and this factor, on one thread.
    pub(crate) fn multiply(&self, left: &impl Lines<T>, out: MatrixMut<'_, T>, goal: Goal<'_, T>) {
        Factor::pack(left, |left| self.multiply_packed(left, out, goal));
    }

    /// The same where the left factor is packed already.
    pub(crate) fn multiply_packed(
        &self,
        left: &Factor<'_, T>,
        mut out: MatrixMut<'_, T>,
        goal: Goal<'_, T>,
    ) {
        for (depth, left) in left.blocks() {
            take_tiles(Tiles {
                depth: depth.len(),
                left,
                right: &self.packed[depth.start * self.columns..depth.end * self.columns],
                take: Rows {
                    out: out.lend(),
                    goal: goal.of(0, depth.start == 0),
                },
            });
        }
    }
}

/// Panels that a thread packs at a time.
const SOME: usize = 4;
