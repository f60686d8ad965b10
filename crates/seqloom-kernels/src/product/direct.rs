//! Products in which one of the two matrices is not packed but read in place.
//!
//! Contiguous rows need no packing, because a tile can read one value from each of
//! several rows. Reading a matrix in place is faster if the other matrix is small.
//! Examples are a layer with few outputs and, transposed, a small batch with large
//! weights.

use std::{marker::PhantomData, ops::Range};

use pulp::Simd;
use seqloom_macros::vectorized;

use super::kernel::{add_products, store_tile};
use super::transpose::transpose;
use super::{Epilogue, Lines};
use crate::lanes::{Lanes, Registers};
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::{Float, machine, parallel, tuned};

/// Fills `out` (left rows, right columns) if one matrix can be read in place. Returns
/// `out` if neither matrix can be read in place.
pub(super) fn fill_directly<'a, T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    mut out: MatrixMut<'a, T>,
    epilogue: Epilogue<'_, T>,
    threads: usize,
) -> Option<MatrixMut<'a, T>> {
    if should_pack_left(left, right) {
        DirectProduct::<_, _, T, true>::new(left, right).fill(&mut out, epilogue, threads);
        return None;
    }
    if left.line(0).is_none() || right.line_count() > tuned::DIRECT_MAX_RIGHT_LINES {
        return Some(out);
    }
    DirectProduct::<_, _, T, false>::new(right, left).fill(&mut out, epilogue, threads);
    None
}

/// Returns true if the left matrix is small enough to be packed while the right matrix
/// is read in place.
fn should_pack_left<T>(left: &impl Lines<T>, right: &impl Lines<T>) -> bool {
    let are_few = left.line_count() <= tuned::DIRECT_MAX_LEFT_LINES
        && right.line_count() >= 2 * left.line_count();
    are_few && left.k() >= tuned::DIRECT_MIN_TRANSPOSED_K && right.line(0).is_some()
}

/// The product of a packed matrix and a matrix that is read in place. `TRANSPOSED` is
/// true if the right matrix is read in place.
struct DirectProduct<'a, A, B, T, const TRANSPOSED: bool> {
    packed: &'a A,
    read: &'a B,
    panels: PackedPanels,
    of: PhantomData<T>,
}

impl<'a, A: Lines<T>, B: Lines<T>, T: Float, const TRANSPOSED: bool>
    DirectProduct<'a, A, B, T, TRANSPOSED>
{
    fn new(packed: &'a A, read: &'a B) -> Self {
        Self {
            packed,
            read,
            panels: PackedPanels::new::<T>(packed.line_count()),
            of: PhantomData,
        }
    }

    fn fill(&self, out: &mut MatrixMut<'_, T>, epilogue: Epilogue<'_, T>, threads: usize) {
        let lines = self.panels.count * self.panels.width;
        T::with_scratch(lines * self.read.k(), |packed| {
            self.pack(packed, threads);
            let pieces = split_output::<_, TRANSPOSED>(out, threads);
            parallel::run_tasks(pieces, threads, |piece| {
                self.fill_piece(piece, packed, epilogue);
            });
        });
    }

    /// Adds the products to one block of the output, one block of the inner axis at a
    /// time.
    fn fill_piece(
        &self,
        (row, column, mut out): (usize, usize, MatrixMut<'_, T>),
        packed: &[T],
        epilogue: Epilogue<'_, T>,
    ) {
        let lines = self.panels.count * self.panels.width;
        let first = if TRANSPOSED { column } else { row };
        for k in self.k_blocks() {
            add_block(DirectBlock::<_, T, TRANSPOSED> {
                panels: self.panels,
                packed: &packed[k.start * lines..k.end * lines],
                read: self.read,
                first,
                epilogue: epilogue.for_columns(column, k.start == 0),
                k,
                out: out.reborrow(),
            });
        }
    }

    /// Packs the smaller matrix, one block of the inner axis at a time.
    fn pack(&self, out: &mut [T], threads: usize) {
        let PackedPanels { count, width } = self.panels;
        for k in self.k_blocks() {
            let block = &mut out[k.start * count * width..k.end * count * width];
            let size = if threads <= 1 { count } else { 1 } * width * k.len();
            parallel::fill_chunks(block, size, threads, |number, out| {
                self.packed
                    .pack_panels(number * width, k.clone(), width, out);
            });
        }
    }

    /// Returns the blocks into which the inner axis is split. The packed panels of a
    /// block fit in an L2 cache.
    fn k_blocks(&self) -> impl Iterator<Item = Range<usize>> + use<A, B, T, TRANSPOSED> {
        let longest = tuned::DIRECT_BLOCK_VALUES / (self.panels.count * self.panels.width).max(1);
        let longest = longest.clamp(tuned::DIRECT_MIN_BLOCK_K, tuned::DIRECT_MAX_BLOCK_K);
        let k = self.read.k();
        let size = k.div_ceil(k.div_ceil(longest).max(1)).max(1);
        (0..k)
            .step_by(size)
            .map(move |start| start..k.min(start + size))
    }
}

/// Splits an output along the rows or columns of the matrix that is read in place.
fn split_output<'a, T: Float, const TRANSPOSED: bool>(
    out: &'a mut MatrixMut<'_, T>,
    threads: usize,
) -> Vec<(usize, usize, MatrixMut<'a, T>)> {
    let (rows, columns) = (out.rows_count(), out.columns_count());
    let some = |count: usize| match threads {
        0 | 1 => count,
        _ => count
            .div_ceil(4 * threads)
            .next_multiple_of(tuned::DIRECT_STRIPE_LINES),
    };
    if TRANSPOSED {
        out.reborrow().blocks(rows, some(columns))
    } else {
        out.reborrow().blocks(some(rows), columns)
    }
}

/// The panels of the packed matrix, which have equal width.
#[derive(Clone, Copy)]
struct PackedPanels {
    count: usize,
    width: usize,
}

impl PackedPanels {
    /// Splits the rows of the packed matrix into panels, depending on the registers of
    /// this processor.
    fn new<T: Float>(count: usize) -> Self {
        let Registers { lanes, are_many } = Registers::for_type::<T>();
        let registers = count.div_ceil(lanes).max(1);
        // With 16 registers, 4 x 3 sums leave too few registers for the inputs, so the
        // compiler spills two sums at each step. With 6 x 2 sums, the compiler does not
        // spill.
        let widest = if are_many { 4 } else { 2 };
        let count = registers.div_ceil(widest);
        Self {
            count,
            width: registers.div_ceil(count) * lanes,
        }
    }
}

/// The packed panels for a block of the inner axis, and the matrix that is read in
/// place.
struct DirectBlock<'a, 'b, B, T, const TRANSPOSED: bool> {
    panels: PackedPanels,
    packed: &'a [T],
    read: &'a B,
    /// The index of the first output row or, if transposed, of the first output column.
    first: usize,
    k: Range<usize>,
    epilogue: Epilogue<'a, T>,
    out: MatrixMut<'b, T>,
}

#[vectorized]
fn add_block<S: Simd, T: Float, B: Lines<T>, const TRANSPOSED: bool>(
    simd: S,
    block: DirectBlock<'_, '_, B, T, TRANSPOSED>,
) {
    let registers = block.panels.width / Lanes::<S, T>::COUNT;
    match (machine::has_many_registers::<S>(), registers) {
        (_, 1) => block.compute_tiles::<S, 8, 1>(simd),
        (true, 2) => block.compute_tiles::<S, 8, 2>(simd),
        (true, 3) => block.compute_tiles::<S, 8, 3>(simd),
        (true, _) => block.compute_tiles::<S, 6, 4>(simd),
        (false, _) => block.compute_tiles::<S, 6, 2>(simd),
    }
}

/// The size of the largest tile. The rows of a tile are transposed eight at a time.
const MAX_TILE: usize = 8 * 4 * 16;

impl<'a, T: Float, B: Lines<T>, const TRANSPOSED: bool> DirectBlock<'a, '_, B, T, TRANSPOSED> {
    #[inline(always)]
    fn compute_tiles<S: Simd, const R: usize, const V: usize>(mut self, simd: S) {
        let mut numbers = [[T::ZERO; MAX_TILE]; 2];
        let panel = (self.panels.width * self.k.len()).max(1);
        for line in (0..self.line_count()).step_by(R) {
            let Some(lines) = self.lines::<R>(line) else {
                return;
            };
            for (number, panel) in self.packed.chunks_exact(panel).enumerate() {
                let position = (line, number * self.panels.width);
                self.prefetch::<R>(position);
                let sums = tile_sums::<S, T, R, V>(simd, lines, panel);
                if TRANSPOSED {
                    self.store_transposed::<S, R, V>(simd, position, &sums, &mut numbers);
                } else {
                    self.store::<S, R, V>(position, &sums);
                }
            }
        }
    }

    /// Returns the number of output rows or, if transposed, of output columns.
    #[inline(always)]
    fn line_count(&self) -> usize {
        if TRANSPOSED {
            self.out.columns_count()
        } else {
            self.out.rows_count()
        }
    }

    /// Returns adjacent rows of the matrix that is read in place. If there are too few
    /// rows, the last row is repeated.
    #[inline(always)]
    fn lines<const R: usize>(&self, line: usize) -> Option<[&'a [T]; R]> {
        let last = self.line_count() - 1;
        let mut lines = [&[][..]; R];
        for (number, cut) in lines.iter_mut().enumerate() {
            let whole = self.read.line(self.first + (line + number).min(last))?;
            *cut = &whole[self.k.clone()];
        }
        Some(lines)
    }

    /// Prefetches the output values that a tile will change.
    #[inline(always)]
    fn prefetch<const R: usize>(&mut self, (line, packed): (usize, usize)) {
        let (row, column, rows) = if TRANSPOSED {
            (packed, line, self.panels.width)
        } else {
            (line, packed, R)
        };
        for row in row..self.out.rows_count().min(row + rows) {
            let position = self.out.row(row)[column..].as_ptr();
            let lines = if TRANSPOSED { 1 } else { 4 };
            (0..lines).for_each(|line| machine::prefetch(position.wrapping_byte_add(64 * line)));
        }
    }

    /// Stores a tile in the output.
    #[inline(always)]
    fn store<S: Simd, const R: usize, const V: usize>(
        &mut self,
        (line, packed): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
    ) {
        for (row, sums) in (line..self.out.rows_count()).zip(sums) {
            self.epilogue.store_lanes(packed, sums, self.out.row(row));
        }
    }

    /// Stores a transposed tile in the output.
    #[inline(always)]
    fn store_transposed<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        (line, packed): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
        [numbers, transposed]: &mut [[T; MAX_TILE]; 2],
    ) {
        let (width, lines) = (self.panels.width, R.next_multiple_of(8));
        store_tile(sums, numbers);
        transpose(
            numbers,
            width,
            lines,
            lines,
            &mut transposed[..width * lines],
        );
        let count = R.min(self.out.columns_count() - line);
        let rows = packed..self.out.rows_count();
        for (row, sums) in rows.zip(transposed[..width * lines].chunks_exact(lines)) {
            let out = &mut self.out.row(row)[..line + count];
            self.epilogue.store_sums(simd, line, sums, out);
        }
    }
}

/// Computes a tile of sums, from `R` rows that are read in place and `V` registers of
/// packed values.
#[inline(always)]
fn tile_sums<S: Simd, T: Float, const R: usize, const V: usize>(
    simd: S,
    lines: [&[T]; R],
    panel: &[T],
) -> [[Lanes<S, T>; V]; R] {
    let (panel, _) = T::split::<S>(panel);
    let (panel, _) = panel.as_chunks::<V>();
    let lines = lines.map(|line| &line[..panel.len()]);
    let mut sums = [[Lanes::splat(simd, T::ZERO); V]; R];
    for (position, packed) in panel.iter().enumerate() {
        let number = |line: usize| {
            // SAFETY: each row was sliced to the length of the packed panel.
            #[expect(unsafe_code, reason = "bounds checks take a fifth of the loop's time")]
            unsafe {
                *lines[line].get_unchecked(position)
            }
        };
        add_products(simd, number, packed, &mut sums);
    }
    sums
}
