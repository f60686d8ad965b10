//! Factors that are packed once and used many times.

use std::ops::Range;

use super::kernel::{InMemory, TakeTile, Tiles, take_tiles};
use super::{Lines, Matrix, Panels, blocks};
use crate::{Float, parallel};

/// A left factor, packed block by block of its depth.
pub(crate) struct Factor<'a, T> {
    packed: &'a [T],
    depth: usize,
    /// Lines, and those that are packed: whole panels.
    count: usize,
    lines: usize,
}

impl<'a, T: Float> Factor<'a, T> {
    /// Packs some matrices of one shape and calls `work` with them.
    pub(crate) fn pack_each<'m, R>(
        count: usize,
        matrix: impl Fn(usize) -> Matrix<'m, T> + Sync,
        threads: usize,
        work: impl FnOnce(&[Factor<'_, T>]) -> R,
    ) -> R {
        let panels = Panels::of::<T>();
        let Matrix {
            lines: rows, depth, ..
        } = matrix(0);
        let lines = panels.left_lines(rows);
        T::with_scratch(count * lines * depth, |scratch| {
            for (number, packed) in scratch.chunks_mut((lines * depth).max(1)).enumerate() {
                pack_blocks(&panels, &matrix(number), packed, threads);
            }
            let packed = scratch.chunks((lines * depth).max(1));
            let factors = packed.map(|packed| Factor {
                packed,
                depth,
                count: rows,
                lines,
            });
            work(&factors.collect::<Vec<_>>())
        })
    }

    /// Packs some lines and calls `work` with them.
    pub(crate) fn pack<R>(lines: &impl Lines<T>, work: impl FnOnce(&Factor<'_, T>) -> R) -> R {
        let panels = Panels::of::<T>();
        let (count, depth) = (lines.count(), lines.depth());
        let whole = panels.left_lines(count);
        T::with_scratch(whole * depth, |packed| {
            pack_blocks(&panels, lines, packed, 1);
            work(&Factor {
                packed,
                depth,
                count,
                lines: whole,
            })
        })
    }

    /// How many lines it has.
    pub(crate) fn rows(&self) -> usize {
        self.count
    }

    /// The blocks of its depth with their panels.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Range<usize>, &'a [T])> {
        let (packed, lines) = (self.packed, self.lines);
        blocks(self.depth).map(move |depth| {
            let panels = &packed[depth.start * lines..depth.end * lines];
            (depth, panels)
        })
    }
}

/// Packs a left factor whole: the blocks one after the other, each panel by panel.
fn pack_blocks<T: Float>(panels: &Panels, lines: &impl Lines<T>, out: &mut [T], threads: usize) {
    let count = panels.left_lines(lines.count());
    let mut rest = out;
    for depth in blocks(lines.depth()) {
        let (block, next) = rest.split_at_mut(depth.len() * count);
        rest = next;
        parallel::chunks(
            block,
            SOME * panels.left * depth.len(),
            threads,
            |number, out| {
                let first = number * SOME * panels.left;
                lines.pack_panels(first, depth.clone(), panels.left, out);
            },
        );
    }
}

/// Panels that a thread packs at a time.
const SOME: usize = 4;

/// Packs a part of a right factor's depth into this thread's scratch space, and calls
/// `work` with the panels.
pub(crate) fn pack_right<T: Float>(
    panels: &Panels,
    lines: &impl Lines<T>,
    depth: Range<usize>,
    work: impl FnOnce(&[T]),
) {
    let count = panels.right_lines(lines.count());
    T::with_scratch(count * depth.len(), |right| {
        lines.pack_panels(0, depth, panels.right, right);
        work(right);
    });
}

/// Gives the tiles of one block's product away.
pub(crate) fn tiles<T: Float>(depth: usize, left: &[T], right: &[T], take: impl TakeTile<T>) {
    take_tiles(Tiles {
        depth,
        left,
        right,
        take: InMemory::new(take),
    });
}
