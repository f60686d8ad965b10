//! Products of which one factor is read where it stands.
//!
//! Lines whose numbers are neighbours need no packing: a tile takes one number of each of
//! some lines at a time. That pays where the other factor has few lines, and its packed
//! numbers are few: a layer of few outputs or, transposed, a small batch with large weights.

use std::marker::PhantomData;
use std::ops::Range;

use pulp::Simd;
use seqloom_macros::vectorized;

use super::kernel::{add_products, store};
use super::transpose::transpose;
use super::{Epilogue, Lines};
use crate::lanes::{Lanes, Registers};
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::{Float, machine, parallel, tuned};

/// Fills `out` (left lines, right lines) if a factor's lines can be read; else gives it
/// back.
pub(super) fn fill<'a, T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    mut out: MatrixMut<'a, T>,
    epilogue: Epilogue<'_, T>,
    threads: usize,
) -> Option<MatrixMut<'a, T>> {
    if suits_transposed(left, right) {
        DirectProduct::<_, _, T, true>::new(left, right).fill(&mut out, epilogue, threads);
        return None;
    }
    if left.line(0).is_none() || right.count() > tuned::DIRECT_MAX_RIGHT_LINES {
        return Some(out);
    }
    DirectProduct::<_, _, T, false>::new(right, left).fill(&mut out, epilogue, threads);
    None
}

/// Whether the left factor is that much smaller that it is the one to be packed.
fn suits_transposed<T>(left: &impl Lines<T>, right: &impl Lines<T>) -> bool {
    let are_few = left.count() <= tuned::DIRECT_MAX_LEFT_LINES && right.count() >= 2 * left.count();
    are_few && left.k() >= tuned::DIRECT_MIN_TRANSPOSED_K && right.line(0).is_some()
}

/// A factor that is packed, and one whose lines are read: `TRANSPOSED` where the latter is the
/// right one.
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
            panels: PackedPanels::new::<T>(packed.count()),
            of: PhantomData,
        }
    }

    fn fill(&self, out: &mut MatrixMut<'_, T>, epilogue: Epilogue<'_, T>, threads: usize) {
        let lines = self.panels.count * self.panels.width;
        T::with_scratch(lines * self.read.k(), |packed| {
            self.pack(packed, threads);
            let pieces = pieces::<_, TRANSPOSED>(out, threads);
            parallel::each(pieces, threads, |piece| {
                self.fill_piece(piece, packed, epilogue);
            });
        });
    }

    /// Adds the products of one piece of the output, a part of K at a time.
    fn fill_piece(
        &self,
        (row, column, mut out): (usize, usize, MatrixMut<'_, T>),
        packed: &[T],
        epilogue: Epilogue<'_, T>,
    ) {
        let lines = self.panels.count * self.panels.width;
        let first = if TRANSPOSED { column } else { row };
        for k in self.blocks() {
            add_block(DirectBlock::<_, T, TRANSPOSED> {
                panels: self.panels,
                packed: &packed[k.start * lines..k.end * lines],
                read: self.read,
                first,
                epilogue: epilogue.of(column, k.start == 0),
                k,
                out: out.lend(),
            });
        }
    }

    /// Packs the lines, block after block of K.
    fn pack(&self, out: &mut [T], threads: usize) {
        let PackedPanels { count, width } = self.panels;
        for k in self.blocks() {
            let block = &mut out[k.start * count * width..k.end * count * width];
            let size = if threads <= 1 { count } else { 1 } * width * k.len();
            parallel::chunks(block, size, threads, |number, out| {
                self.packed
                    .pack_panels(number * width, k.clone(), width, out);
            });
        }
    }

    /// The parts of K: as long as such a part of all panels stays near.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<A, B, T, TRANSPOSED> {
        let longest = tuned::DIRECT_BLOCK_NUMBERS / (self.panels.count * self.panels.width).max(1);
        let longest = longest.clamp(tuned::DIRECT_MIN_BLOCK_K, tuned::DIRECT_MAX_BLOCK_K);
        let k = self.read.k();
        let size = k.div_ceil(k.div_ceil(longest).max(1)).max(1);
        (0..k)
            .step_by(size)
            .map(move |start| start..k.min(start + size))
    }
}

/// Cuts an output along the lines that are read.
fn pieces<'a, T: Float, const TRANSPOSED: bool>(
    out: &'a mut MatrixMut<'_, T>,
    threads: usize,
) -> Vec<(usize, usize, MatrixMut<'a, T>)> {
    let (rows, columns) = (out.rows_count(), out.columns_count());
    let some = |count: usize| match threads {
        0 | 1 => count,
        _ => count
            .div_ceil(4 * threads)
            .next_multiple_of(tuned::DIRECT_STRIPE),
    };
    if TRANSPOSED {
        out.lend().cut(rows, some(columns))
    } else {
        out.lend().cut(some(rows), columns)
    }
}

/// Panels of equal width, which hold all packed lines.
#[derive(Clone, Copy)]
struct PackedPanels {
    count: usize,
    width: usize,
}

impl PackedPanels {
    /// Cuts lines into panels for this machine's registers.
    fn new<T: Float>(count: usize) -> Self {
        let Registers { lanes, are_many } = Registers::of::<T>();
        let registers = count.div_ceil(lanes).max(1);
        // Of sixteen registers, twelve sums of 4 by 3 leave the compiler too few for the
        // inputs: it stores and loads two sums at each step. Those of 6 by 2 stay.
        let widest = if are_many { 4 } else { 2 };
        let count = registers.div_ceil(widest);
        Self {
            count,
            width: registers.div_ceil(count) * lanes,
        }
    }
}

/// Packed panels along a part of K, and the lines that are read.
struct DirectBlock<'a, 'b, B, T, const TRANSPOSED: bool> {
    panels: PackedPanels,
    packed: &'a [T],
    read: &'a B,
    /// The line that belongs to the output's first row or, transposed, column.
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
        (_, 1) => block.tiles::<S, 8, 1>(simd),
        (true, 2) => block.tiles::<S, 8, 2>(simd),
        (true, 3) => block.tiles::<S, 8, 3>(simd),
        (true, _) => block.tiles::<S, 6, 4>(simd),
        (false, _) => block.tiles::<S, 6, 2>(simd),
    }
}

/// Numbers of the largest tile, whose rows are transposed eight at a time.
const MAX_TILE: usize = 8 * 4 * 16;

impl<'a, T: Float, B: Lines<T>, const TRANSPOSED: bool> DirectBlock<'a, '_, B, T, TRANSPOSED> {
    #[inline(always)]
    fn tiles<S: Simd, const R: usize, const V: usize>(mut self, simd: S) {
        let mut numbers = [[T::ZERO; MAX_TILE]; 2];
        let panel = (self.panels.width * self.k.len()).max(1);
        for line in (0..self.count()).step_by(R) {
            let Some(lines) = self.lines::<R>(line) else {
                return;
            };
            for (number, panel) in self.packed.chunks_exact(panel).enumerate() {
                let position = (line, number * self.panels.width);
                self.expect::<R>(position);
                let sums = sum::<S, T, R, V>(simd, lines, panel);
                if TRANSPOSED {
                    self.put_transposed::<S, R, V>(simd, position, &sums, &mut numbers);
                } else {
                    self.put::<S, R, V>(position, &sums);
                }
            }
        }
    }

    /// How many lines are read.
    #[inline(always)]
    fn count(&self) -> usize {
        if TRANSPOSED {
            self.out.columns_count()
        } else {
            self.out.rows_count()
        }
    }

    /// The numbers of some lines; beyond the last, that one again.
    #[inline(always)]
    fn lines<const R: usize>(&self, line: usize) -> Option<[&'a [T]; R]> {
        let last = self.count() - 1;
        let mut lines = [&[][..]; R];
        for (number, cut) in lines.iter_mut().enumerate() {
            let whole = self.read.line(self.first + (line + number).min(last))?;
            *cut = &whole[self.k.clone()];
        }
        Some(lines)
    }

    /// Calls for the positions of a tile.
    #[inline(always)]
    fn expect<const R: usize>(&mut self, (line, packed): (usize, usize)) {
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

    /// Puts a tile into the output.
    #[inline(always)]
    fn put<S: Simd, const R: usize, const V: usize>(
        &mut self,
        (line, packed): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
    ) {
        for (row, sums) in (line..self.out.rows_count()).zip(sums) {
            self.epilogue.put_lanes(packed, sums, self.out.row(row));
        }
    }

    /// Puts a tile into the output, transposed.
    #[inline(always)]
    fn put_transposed<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        (line, packed): (usize, usize),
        sums: &[[Lanes<S, T>; V]; R],
        [numbers, transposed]: &mut [[T; MAX_TILE]; 2],
    ) {
        let (width, lines) = (self.panels.width, R.next_multiple_of(8));
        store(sums, numbers);
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
            self.epilogue.put(simd, line, sums, out);
        }
    }
}

/// Sums a tile of `R` lines by `V` registers of packed ones.
#[inline(always)]
fn sum<S: Simd, T: Float, const R: usize, const V: usize>(
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
            // SAFETY: each line was cut to as many positions as the panel has.
            #[expect(unsafe_code, reason = "the checks are a fifth of the loop's work")]
            unsafe {
                *lines[line].get_unchecked(position)
            }
        };
        add_products(simd, number, packed, &mut sums);
    }
    sums
}
