//! The product of two matrices into a third.

use std::ops::Range;

use super::kernel::Tiles;
use super::rows::Rows;
use super::{Goal, Lines, Matrix, Panels, blocks, direct};
use crate::matrix::MatrixMut;
use crate::{Float, machine, parallel};

/// The products of as many pairs of matrices as stand one after the other in memory: to
/// `out` (pairs, left lines, right lines), each line of it plus `bias`.
pub fn products<T: Float>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    let (rows, columns) = (left.lines, right.lines);
    let goal = Goal {
        bias,
        ..Goal::new()
    };
    // A single pair is shared by the threads; of several, each thread takes some.
    let (between, within) = if out.len() > rows * columns {
        (threads, 1)
    } else {
        (1, threads)
    };
    parallel::chunks(out, rows * columns, between, |number, out| {
        let (left, right) = (left.nth(number), right.nth(number));
        let out = MatrixMut::new(out, rows, columns, columns);
        fill(&left, &right, out, goal, within);
    });
}

/// The same for one pair of factors that are packed from anywhere.
pub(crate) fn fill<T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    mut out: MatrixMut<'_, T>,
    goal: Goal<'_, T>,
    threads: usize,
) {
    if left.depth() == 0 {
        return goal.fill(&mut out);
    }
    let Some(mut out) = direct::fill(left, right, out, goal, threads) else {
        return;
    };
    let slab_size = (PACKED / left.depth()).max(SLAB) / SLAB * SLAB;
    let slabs = (0..right.count()).step_by(slab_size);
    for columns in slabs.map(|start| start..right.count().min(start + slab_size)) {
        let out = &mut out.columns(columns.clone());
        for depth in deeps(left.depth()) {
            let goal = goal.of(columns.start, depth.start == 0);
            slab(
                left,
                right,
                (columns.clone(), depth),
                (out.lend(), goal),
                threads,
            );
        }
    }
}

/// Numbers of the right factor that are packed at once: some megabytes.
const PACKED: usize = 1 << 21;
/// A whole number of panels on every machine.
const SLAB: usize = 1008;
/// Blocks of the depth that are packed at once, where it is long.
const DEEP: usize = 5;

/// Blocks of the depth that are packed at once, as one range.
fn deeps(depth: usize) -> impl Iterator<Item = Range<usize>> {
    let size = blocks(depth).next().map_or(1, |block| block.len()) * DEEP;
    (0..depth)
        .step_by(size)
        .map(move |start| start..depth.min(start + size))
}

/// Adds the products of some right lines along a part of the depth.
fn slab<T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    (columns, depth): (Range<usize>, Range<usize>),
    (out, goal): (MatrixMut<'_, T>, Goal<'_, T>),
    threads: usize,
) {
    let panels = Panels::of::<T>();
    let lines = panels.right_lines(columns.len());
    T::with_scratch(lines * depth.len(), |rights| {
        let mut rest = &mut *rights;
        for block in within(&depth) {
            let (out, next) = rest.split_at_mut(lines * block.len());
            pack_side_by_side(right, columns.start, (block, panels.right), out, threads);
            rest = next;
        }
        let slab = Slab {
            left,
            depth,
            rights,
            lines,
            goal,
        };
        let (band, stripe) = sizes(&panels, left.count(), columns.len(), threads);
        parallel::each(out.cut(band, stripe), threads, |piece| slab.fill(piece));
    });
}

/// The blocks of a part of the depth.
fn within(depth: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let start = depth.start;
    blocks(depth.len()).map(move |block| start + block.start..start + block.end)
}

/// Packs a block of the depth, panels of `width` lines, by many threads.
fn pack_side_by_side<T: Float>(
    lines: &impl Lines<T>,
    start: usize,
    (depth, width): (Range<usize>, usize),
    out: &mut [T],
    threads: usize,
) {
    let some = if threads <= 1 {
        out.len()
    } else {
        width * depth.len()
    };
    parallel::chunks(out, some, threads, |number, out| {
        lines.pack_panels(start + number * width, depth.clone(), width, out);
    });
}

/// Rows and columns that a thread takes at a time: all columns, but where there are too
/// few rows for all threads.
fn sizes(panels: &Panels, rows: usize, columns: usize, threads: usize) -> (usize, usize) {
    let bands = rows.div_ceil(BAND).next_multiple_of(threads.max(1));
    let band = rows.div_ceil(bands.max(1)).next_multiple_of(panels.left);
    if threads <= 1 || rows >= threads * BAND / 2 {
        return (band, columns);
    }
    let stripe = columns.div_ceil(2 * threads).next_multiple_of(panels.right);
    (rows.min(BAND), stripe)
}

/// Rows whose left lines a second-level cache holds beside some right panels.
const BAND: usize = 128;

/// Packed right lines along a part of the depth, and what they are multiplied with.
struct Slab<'a, L, T> {
    left: &'a L,
    depth: Range<usize>,
    rights: &'a [T],
    /// Right lines, with those that fill the last panel up.
    lines: usize,
    goal: Goal<'a, T>,
}

impl<T: Float, L: Lines<T>> Slab<'_, L, T> {
    /// Adds the products of one piece of the output, a block of the depth at a time.
    fn fill(&self, (row, column, mut out): (usize, usize, MatrixMut<'_, T>)) {
        let panels = Panels::of::<T>();
        let lines = panels.left_lines(out.rows_count());
        let columns = column..(column + panels.right_lines(out.columns_count()));
        for depth in within(&self.depth) {
            let before = (depth.start - self.depth.start) * self.lines;
            let rights = &self.rights[before + columns.start * depth.len()..];
            let rights = &rights[..columns.len() * depth.len()];
            T::with_scratch(lines * depth.len(), |lefts| {
                self.left
                    .pack_panels(row, depth.clone(), panels.left, lefts);
                let goal = self.goal.of(column, depth.start == self.depth.start);
                machine::dispatch(Tiles {
                    depth: depth.len(),
                    left: lefts,
                    right: rights,
                    take: Rows {
                        out: out.lend(),
                        goal,
                    },
                });
            });
        }
    }
}
