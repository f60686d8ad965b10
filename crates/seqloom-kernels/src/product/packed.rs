//! Matrices that are packed into panels once and multiplied many times.

use std::ops::Range;

use super::kernel::{StoredTiles, TileReader, Tiles, take_tiles};
use super::rows::OutputRows;
use super::{Epilogue, Lines, Matrix, PanelSizes, k_blocks};
use crate::{Float, matrix::MatrixMut, parallel, tuned};

/// The role of a matrix in a product: left or right matrix. Left and right panels have
/// different widths.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    /// Returns the number of left rows or right columns, including padding.
    fn padded_lines<T: Float>(self, lines: &impl Lines<T>) -> usize {
        let panels = PanelSizes::for_type::<T>();
        match self {
            Self::Left => panels.left_lines(lines.line_count()),
            Self::Right => panels.right_lines(lines.line_count()),
        }
    }

    /// Returns the number of elements of the packed matrix, including padding.
    pub(crate) fn packed_size<T: Float>(self, lines: &impl Lines<T>) -> usize {
        self.padded_lines(lines) * lines.k()
    }
}

/// A matrix that is packed into panels, one block of the inner axis at a time.
pub(crate) struct Panels<'a, T> {
    numbers: &'a [T],
    k: usize,
    count: usize,
    /// The number of left rows or right columns, including padding.
    padded_lines: usize,
}

impl<'a, T: Float> Panels<'a, T> {
    /// Packs a matrix into memory of [`Side::packed_size`] elements.
    pub(crate) fn pack_into(
        side: Side,
        lines: &impl Lines<T>,
        packed: &'a mut [T],
        threads: usize,
    ) -> Self {
        let panels = PanelSizes::for_type::<T>();
        let padded_lines = side.padded_lines(lines);
        let width = match side {
            Side::Left => panels.left,
            Side::Right => panels.right,
        };
        for k in k_blocks(lines.k()) {
            let block = &mut packed[k.start * padded_lines..k.end * padded_lines];
            let together = tuned::PACK_PANELS * width;
            parallel::fill_chunks(block, together * k.len(), threads, |number, out| {
                lines.pack_panels(number * together, k.clone(), width, out);
            });
        }
        Self {
            numbers: packed,
            k: lines.k(),
            count: lines.line_count(),
            padded_lines,
        }
    }

    /// Packs a matrix into the scratch memory of this thread, and calls `work` with the
    /// packed matrix.
    pub(crate) fn pack<R>(
        side: Side,
        lines: &impl Lines<T>,
        work: impl FnOnce(&Panels<'_, T>) -> R,
    ) -> R {
        T::with_scratch(side.packed_size(lines), |packed| {
            work(&Panels::pack_into(side, lines, packed, 1))
        })
    }

    /// Packs `count` left matrices of the same non-empty shape, and calls `work` with
    /// the packed matrices.
    pub(crate) fn pack_matrices<'m, R>(
        count: usize,
        matrix: impl Fn(usize) -> Matrix<'m, T> + Sync,
        threads: usize,
        work: impl FnOnce(&[Panels<'_, T>]) -> R,
    ) -> R {
        let size = Side::Left.packed_size(&matrix(0));
        T::with_scratch(count * size, |scratch| {
            let packed = scratch.chunks_mut(size.max(1)).enumerate();
            let packed = packed.map(|(number, packed)| {
                Panels::pack_into(Side::Left, &matrix(number), packed, threads)
            });
            work(&packed.collect::<Vec<_>>())
        })
    }

    /// Returns the number of left rows or right columns, without padding.
    pub(crate) fn rows(&self) -> usize {
        self.count
    }

    /// Returns the blocks of the inner axis with their panels.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Range<usize>, &'a [T])> {
        let (packed, lines) = (self.numbers, self.padded_lines);
        k_blocks(self.k).map(move |k| {
            let panels = &packed[k.start * lines..k.end * lines];
            (k, panels)
        })
    }

    /// Fills `out` with the product of `left` and this right matrix, on one thread.
    pub(crate) fn multiply(
        &self,
        left: &impl Lines<T>,
        out: MatrixMut<'_, T>,
        epilogue: Epilogue<'_, T>,
    ) {
        Panels::pack(Side::Left, left, |left| {
            self.multiply_packed(left, out, epilogue);
        });
    }

    /// Does the same as [`multiply`](Self::multiply), for a left matrix that is already
    /// packed.
    pub(crate) fn multiply_packed(
        &self,
        left: &Panels<'_, T>,
        mut out: MatrixMut<'_, T>,
        epilogue: Epilogue<'_, T>,
    ) {
        if self.k == 0 {
            return epilogue.fill_empty(&mut out);
        }
        for ((k, left), (_, right)) in left.blocks().zip(self.blocks()) {
            take_tiles(Tiles {
                k: k.len(),
                left,
                right,
                take: OutputRows {
                    out: out.reborrow(),
                    epilogue: epilogue.for_columns(0, k.start == 0),
                },
            });
        }
    }
}

/// Packs a range of the inner axis of a right matrix into the scratch memory of this
/// thread, and calls `work` with the panels.
pub(crate) fn pack_right<T: Float>(
    panels: &PanelSizes,
    lines: &impl Lines<T>,
    k: Range<usize>,
    work: impl FnOnce(&[T]),
) {
    let count = panels.right_lines(lines.line_count());
    T::with_scratch(count * k.len(), |right| {
        lines.pack_panels(0, k, panels.right, right);
        work(right);
    });
}

/// Calls `take` with each tile of the product of two packed blocks of the inner axis.
pub(crate) fn for_each_tile<T: Float>(k: usize, left: &[T], right: &[T], take: impl TileReader<T>) {
    take_tiles(Tiles {
        k,
        left,
        right,
        take: StoredTiles::new(take),
    });
}
