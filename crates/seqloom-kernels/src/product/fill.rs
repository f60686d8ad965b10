//! The product of two matrices into a third.

use std::ops::Range;

use super::{Lines, Matrix, Panels, Take, Tile, blocks, panels::pack, tiles};
use crate::{Float, parallel};

/// Fills `out` (left lines, right lines), row by row, with the products of the lines.
pub fn product<T: Float>(left: Matrix<'_, T>, right: Matrix<'_, T>, out: &mut [T], threads: usize) {
    fill(&left, &right, out, threads);
}

/// The products of as many pairs of matrices as stand one after the other in memory.
pub fn products<T: Float>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    out: &mut [T],
    threads: usize,
) {
    let size = left.lines * right.lines;
    // A single pair is shared by the threads; of several, each thread takes some.
    let (between, within) = if out.len() > size {
        (threads, 1)
    } else {
        (1, threads)
    };
    parallel::chunks(out, size, between, |number, out| {
        fill(&left.nth(number), &right.nth(number), out, within);
    });
}

/// The same for factors that are packed from anywhere.
pub(crate) fn fill<T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    out: &mut [T],
    threads: usize,
) {
    let panels = Panels::of::<T>();
    let deepest = blocks(left.depth()).next().map_or(0, |block| block.len());
    let lines = (
        panels.left_lines(left.count()),
        panels.right_lines(right.count()),
    );
    if deepest == 0 {
        return out.fill(T::ZERO);
    }
    T::with_scratch((lines.0 + lines.1) * deepest, |scratch| {
        let (lefts, rights) = scratch.split_at_mut(lines.0 * deepest);
        for depth in blocks(left.depth()) {
            let lefts = &mut lefts[..lines.0 * depth.len()];
            let rights = &mut rights[..lines.1 * depth.len()];
            pack_side_by_side(left, (depth.clone(), panels.left), lefts, threads);
            pack_side_by_side(right, (depth.clone(), panels.right), rights, threads);
            let block = Block {
                depth,
                lefts,
                rights,
                columns: right.count(),
            };
            block.add(band(left.count(), panels.left), out, threads);
        }
    });
}

/// Packs a block of the depth, panels of `width` lines, by many threads.
fn pack_side_by_side<T: Float>(
    lines: &impl Lines<T>,
    (depth, width): (Range<usize>, usize),
    out: &mut [T],
    threads: usize,
) {
    let some = (SOME / width).max(1) * width;
    parallel::chunks(out, some * depth.len(), threads, |number, out| {
        pack(lines, number * some, (depth.clone(), width), out);
    });
}

/// Lines that a thread packs at a time.
const SOME: usize = 32;

/// Rows that a thread takes at a time: an eighth of all, but not many.
fn band(rows: usize, panel: usize) -> usize {
    rows.div_ceil(8).min(64).next_multiple_of(panel)
}

/// A block of the depth of both factors, packed.
struct Block<'a, T> {
    depth: Range<usize>,
    lefts: &'a [T],
    rights: &'a [T],
    columns: usize,
}

impl<T: Float> Block<'_, T> {
    /// Adds its products to the output, a band of rows at a time.
    fn add(&self, band: usize, out: &mut [T], threads: usize) {
        let (columns, depth) = (self.columns, self.depth.len());
        parallel::chunks(out, band * columns, threads, |number, out| {
            let lefts = &self.lefts[number * band * depth..];
            let lefts = &lefts[..lefts.len().min(band * depth)];
            let rows = Rows {
                out,
                columns,
                is_first: self.depth.start == 0,
            };
            tiles(depth, lefts, self.rights, rows);
        });
    }
}

/// Rows of the output, to which tiles are added; the first ones are stored.
struct Rows<'a, T> {
    out: &'a mut [T],
    columns: usize,
    is_first: bool,
}

impl<T: Float> Take<T> for Rows<'_, T> {
    #[inline(always)]
    fn take(&mut self, tile: Tile<'_, T>) {
        let rows = self.out[tile.row * self.columns..].chunks_mut(self.columns);
        for (row, sums) in rows.zip(tile.sums.chunks_exact(tile.width)) {
            let row = row[tile.column..].iter_mut();
            if self.is_first {
                row.zip(sums).for_each(|(out, &sum)| *out = sum);
            } else {
                row.zip(sums).for_each(|(out, &sum)| *out += sum);
            }
        }
    }
}
