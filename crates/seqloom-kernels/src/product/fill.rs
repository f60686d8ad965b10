//! The product of two matrices into a third.
//!
//! The output is cut into pieces, one or more for each thread. A piece is filled by one
//! thread from its own packed copies: some rows of the left factor, which stay in a
//! second-level cache, and, panel by panel, the columns of the right one.

use seqloom_macros::compiled_once;
use std::ops::Range;

use super::kernel::{Tiles, near, take_tiles};
use super::rows::OutputRows;
use super::{Epilogue, Lines, Matrix, Panels, blocks, direct, narrow};
use crate::matrix::MatrixMut;
use crate::{Float, Instances, parallel, tuned};

/// The products of as many pairs of matrices as stand one after the other in memory: to
/// `out` (pairs, left lines, right lines), each line of it plus `bias`.
#[compiled_once]
pub fn products<T: Float>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    let (rows, columns) = (left.lines, right.lines);
    let epilogue = Epilogue::with_bias(bias);
    // A single pair is shared by the threads; of several, each thread takes some.
    let (between, within) = if out.len() > rows * columns {
        (threads, 1)
    } else {
        (1, threads)
    };
    parallel::chunks(out, rows * columns, between, |number, out| {
        let (left, right) = (left.nth(number), right.nth(number));
        let out = MatrixMut::new(out, rows, columns, columns);
        fill(&left, &right, out, epilogue, within);
    });
}

/// The same for one pair of factors that are packed from anywhere.
pub(crate) fn fill<T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    mut out: MatrixMut<'_, T>,
    epilogue: Epilogue<'_, T>,
    threads: usize,
) {
    if left.k() == 0 || out.rows_count() == 0 || out.columns_count() == 0 {
        return epilogue.fill(&mut out);
    }
    let Some(out) = narrow::fill_narrow(left, right, out, epilogue, threads)
        .and_then(|out| direct::fill(left, right, out, epilogue, threads))
    else {
        return;
    };
    let panels = Panels::of::<T>();
    parallel::each(cut(out, &panels, threads), threads, |(row, column, out)| {
        let piece = OutputPiece {
            left,
            right,
            epilogue,
            panels,
            row,
            column,
        };
        piece.fill(out);
    });
}

/// Cuts an output into pieces: the fewer lines of both factors a piece needs, the less its
/// thread packs.
fn cut<'a, T: Float>(
    out: MatrixMut<'a, T>,
    panels: &Panels,
    threads: usize,
) -> Vec<(usize, usize, MatrixMut<'a, T>)> {
    let (rows, columns) = (out.rows_count(), out.columns_count());
    let wanted = if threads <= 1 {
        1
    } else {
        tuned::PRODUCT_PIECES * threads
    };
    let lines = |across: &usize| rows / wanted.div_ceil(*across) + columns / across;
    let across = (1..=wanted).min_by_key(lines).unwrap_or(1);
    let down = wanted.div_ceil(across);
    out.cut(
        rows.div_ceil(down).next_multiple_of(panels.left),
        columns.div_ceil(across).next_multiple_of(panels.right),
    )
}

/// A piece of the output that one thread fills, and where it starts.
struct OutputPiece<'a, A, B, T> {
    left: &'a A,
    right: &'a B,
    epilogue: Epilogue<'a, T>,
    panels: Panels,
    row: usize,
    column: usize,
}

impl<T: Float, A: Lines<T>, B: Lines<T>> OutputPiece<'_, A, B, T> {
    fn fill(&self, mut out: MatrixMut<'_, T>) {
        for columns in ranges(out.columns_count(), tuned::ROW_BYTES / size_of::<T>()) {
            let mut out = out.columns(columns.clone());
            for k in blocks(self.left.k()) {
                let column = self.column + columns.start;
                KBlock::new(self, column, k, &out).add(&mut out);
            }
        }
    }
}

/// A block of K, for some columns of a piece.
struct KBlock<'a, A, B, T> {
    piece: &'a OutputPiece<'a, A, B, T>,
    /// The first of the columns.
    column: usize,
    k: Range<usize>,
    /// Rows that are packed at a time.
    band: usize,
    /// Columns that are packed at a time.
    group: usize,
    /// Whether there are more rows than a band has: packed columns are kept for them.
    keeps: bool,
}

impl<'a, T: Float, A: Lines<T>, B: Lines<T>> KBlock<'a, A, B, T> {
    fn new(
        piece: &'a OutputPiece<'a, A, B, T>,
        column: usize,
        k: Range<usize>,
        out: &MatrixMut<'_, T>,
    ) -> Self {
        let rows = out.rows_count();
        let bands = rows.div_ceil(tuned::BAND_BYTES / size_of::<T>());
        let panel = piece.panels.right * k.len() * size_of::<T>();
        Self {
            piece,
            column,
            k,
            band: rows.div_ceil(bands).next_multiple_of(piece.panels.left),
            group: near(panel).max(tuned::MIN_GROUP_PANELS) * piece.panels.right,
            keeps: bands > 1,
        }
    }

    /// Adds the block's products.
    fn add(&self, out: &mut MatrixMut<'_, T>) {
        let (rows, columns) = (out.rows_count(), out.columns_count());
        let kept = if self.keeps {
            columns
        } else {
            self.group.min(columns)
        };
        let panels = &self.piece.panels;
        let lefts = panels.left_lines(self.band.min(rows)) * self.k.len();
        let lefts = lefts.next_multiple_of(tuned::LINE_NUMBERS);
        let rights = panels.right_lines(kept) * self.k.len();
        T::with_scratch(lefts + rights, |scratch| {
            let (lefts, rights) = scratch.split_at_mut(lefts);
            for rows in ranges(rows, self.band) {
                self.add_band(rows.start, (lefts, rights), &mut out.rows(rows));
            }
        });
    }

    /// Adds those of a band of rows; with the first one the columns are packed.
    fn add_band(
        &self,
        row: usize,
        (lefts, rights): (&mut [T], &mut [T]),
        out: &mut MatrixMut<'_, T>,
    ) {
        let OutputPiece { left, panels, .. } = self.piece;
        let lefts = &mut lefts[..panels.left_lines(out.rows_count()) * self.k.len()];
        left.pack_panels(self.piece.row + row, self.k.clone(), panels.left, lefts);
        for columns in ranges(out.columns_count(), self.group) {
            let column = self.column + columns.start;
            let epilogue = self.piece.epilogue.of(column, self.k.start == 0);
            let from = if self.keeps { columns.start } else { 0 };
            let rights = &mut rights[from * self.k.len()..];
            take_tiles(Tiles {
                k: self.k.len(),
                left: lefts,
                right: self.columns(column, columns.len(), row == 0, rights),
                take: OutputRows {
                    out: out.columns(columns),
                    epilogue,
                },
            });
        }
    }

    /// Packed columns from `first` on; those that are not new were packed for an earlier band.
    fn columns<'b>(
        &self,
        first: usize,
        count: usize,
        is_new: bool,
        rights: &'b mut [T],
    ) -> &'b [T] {
        let OutputPiece { right, panels, .. } = self.piece;
        let rights = &mut rights[..panels.right_lines(count) * self.k.len()];
        if is_new {
            right.pack_panels(first, self.k.clone(), panels.right, rights);
        }
        rights
    }
}

/// Cuts numbers from 0 to `count` into ranges of at most so many.
fn ranges(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count)
        .step_by(most.max(1))
        .map(move |start| start..count.min(start + most))
}
