//! The product of two matrices.
//!
//! The output is split into blocks, at least one per thread. A thread packs the inputs
//! of its block: some left rows, which remain in an L2 cache, and the right columns,
//! panel by panel.

use seqloom_macros::compiled_once;
use std::ops::Range;

use super::kernel::{Tiles, l1_panel_count, take_tiles};
use super::rows::OutputRows;
use super::{Epilogue, Lines, Matrix, PanelSizes, direct, k_blocks, narrow};
use crate::{Float, Instances, matrix::MatrixMut, parallel, tuned};

/// Multiplies each left matrix with its right matrix. Fills `out` (pairs, left rows,
/// right columns) with the products plus `bias`.
#[compiled_once]
pub fn multiply_pairs<T: Float>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    let (rows, columns) = (left.lines, right.lines);
    let epilogue = Epilogue::with_bias(bias);
    // If there is one pair of matrices, the threads split it; otherwise each thread
    // computes some pairs.
    let (between, within) = if out.len() > rows * columns {
        (threads, 1)
    } else {
        (1, threads)
    };
    parallel::fill_chunks(out, rows * columns, between, |number, out| {
        let (left, right) = (left.nth_matrix(number), right.nth_matrix(number));
        let out = MatrixMut::new(out, rows, columns, columns);
        fill_product(&left, &right, out, epilogue, within);
    });
}

/// Multiplies one pair of matrices of any types that implement [`Lines`].
pub(crate) fn fill_product<T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    mut out: MatrixMut<'_, T>,
    epilogue: Epilogue<'_, T>,
    threads: usize,
) {
    if left.k() == 0 || out.rows_count() == 0 || out.columns_count() == 0 {
        return epilogue.fill_empty(&mut out);
    }
    let Some(out) = narrow::fill_narrow(left, right, out, epilogue, threads)
        .and_then(|out| direct::fill_directly(left, right, out, epilogue, threads))
    else {
        return;
    };
    let panels = PanelSizes::for_type::<T>();
    parallel::run_tasks(
        split_output(out, &panels, threads),
        threads,
        |(row, column, out)| {
            let piece = OutputPiece {
                left,
                right,
                epilogue,
                panels,
                row,
                column,
            };
            piece.fill(out);
        },
    );
}

/// Splits an output into nearly square blocks, because each thread packs all rows and
/// columns of its block.
fn split_output<'a, T: Float>(
    out: MatrixMut<'a, T>,
    panels: &PanelSizes,
    threads: usize,
) -> Vec<(usize, usize, MatrixMut<'a, T>)> {
    let (rows, columns) = (out.rows_count(), out.columns_count());
    let wanted = if threads <= 1 {
        1
    } else {
        tuned::PRODUCT_BLOCKS_PER_THREAD * threads
    };
    let lines = |across: &usize| rows / wanted.div_ceil(*across) + columns / across;
    let across = (1..=wanted).min_by_key(lines).unwrap_or(1);
    let down = wanted.div_ceil(across);
    out.blocks(
        rows.div_ceil(down).next_multiple_of(panels.left),
        columns.div_ceil(across).next_multiple_of(panels.right),
    )
}

/// A block of the output that one thread fills, with its first row and column.
struct OutputPiece<'a, A, B, T> {
    left: &'a A,
    right: &'a B,
    epilogue: Epilogue<'a, T>,
    panels: PanelSizes,
    row: usize,
    column: usize,
}

impl<T: Float, A: Lines<T>, B: Lines<T>> OutputPiece<'_, A, B, T> {
    fn fill(&self, mut out: MatrixMut<'_, T>) {
        for columns in split_range(out.columns_count(), tuned::KEPT_ROW_BYTES / size_of::<T>()) {
            let mut out = out.columns(columns.clone());
            for k in k_blocks(self.left.k()) {
                let column = self.column + columns.start;
                InnerBlock::new(self, column, k, &out).add_products(&mut out);
            }
        }
    }
}

/// A block of the inner axis, for a range of columns of an output block.
struct InnerBlock<'a, A, B, T> {
    piece: &'a OutputPiece<'a, A, B, T>,
    /// The index of the first output column.
    column: usize,
    k: Range<usize>,
    /// The number of left rows that are packed together.
    band: usize,
    /// The number of right columns that are packed together.
    group: usize,
    /// True if the packed columns are kept, because several bands of rows use them.
    keeps: bool,
}

impl<'a, T: Float, A: Lines<T>, B: Lines<T>> InnerBlock<'a, A, B, T> {
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
            group: l1_panel_count(panel).max(tuned::MIN_GROUP_PANELS) * piece.panels.right,
            keeps: bands > 1,
        }
    }

    /// Adds the products of this block to the output.
    fn add_products(&self, out: &mut MatrixMut<'_, T>) {
        let (rows, columns) = (out.rows_count(), out.columns_count());
        let kept = if self.keeps {
            columns
        } else {
            self.group.min(columns)
        };
        let panels = &self.piece.panels;
        let lefts = panels.left_lines(self.band.min(rows)) * self.k.len();
        let lefts = lefts.next_multiple_of(tuned::CACHE_LINE_FLOATS);
        let rights = panels.right_lines(kept) * self.k.len();
        T::with_scratch(lefts + rights, |scratch| {
            let (lefts, rights) = scratch.split_at_mut(lefts);
            for rows in split_range(rows, self.band) {
                self.add_band(rows.start, (lefts, rights), &mut out.rows(rows));
            }
        });
    }

    /// Adds the products of a band of rows. Columns are packed only for the first band.
    fn add_band(
        &self,
        row: usize,
        (lefts, rights): (&mut [T], &mut [T]),
        out: &mut MatrixMut<'_, T>,
    ) {
        let OutputPiece { left, panels, .. } = self.piece;
        let lefts = &mut lefts[..panels.left_lines(out.rows_count()) * self.k.len()];
        left.pack_panels(self.piece.row + row, self.k.clone(), panels.left, lefts);
        for columns in split_range(out.columns_count(), self.group) {
            let column = self.column + columns.start;
            let epilogue = self.piece.epilogue.for_columns(column, self.k.start == 0);
            let from = if self.keeps { columns.start } else { 0 };
            let rights = &mut rights[from * self.k.len()..];
            take_tiles(Tiles {
                k: self.k.len(),
                left: lefts,
                right: self.packed_columns(column, columns.len(), row == 0, rights),
                take: OutputRows {
                    out: out.columns(columns),
                    epilogue,
                },
            });
        }
    }

    /// Returns the packed columns from `first`. If `is_new` is true, this call packs
    /// the columns; if `is_new` is false, an earlier band of rows has packed the
    /// columns.
    fn packed_columns<'b>(
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

/// Splits the range from 0 to `count` into ranges of at most `most` elements.
fn split_range(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count)
        .step_by(most.max(1))
        .map(move |start| start..count.min(start + most))
}
