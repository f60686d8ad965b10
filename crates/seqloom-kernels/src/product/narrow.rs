//! Products of a small matrix with a large matrix. The comments of this module describe
//! the product `left @ right.T`, in which both matrices consist of rows.
//!
//! Packing the large matrix takes more time than it saves, so the large matrix is read
//! in place. [`DotProducts`] is for contiguous rows, and loads several values of a row into a
//! register. [`AdjacentLines`] is for rows that are interleaved in memory, and loads
//! one value of several rows into a register.

use std::ops::Range;

use pulp::Simd;
use seqloom_macros::vectorized;

use super::{Epilogue, Lines};
use crate::lanes::Lanes;
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::tuned::{ADJACENT_MAX_ROWS, ADJACENT_PREFETCH, DOTS_MAX_LINES, NARROW_LINES, TLB_SPAN};
use crate::{Float, machine, parallel};

/// Fills `out` if one matrix has few rows and the other matrix can be read in place; if
/// not, returns `out` unchanged.
pub(super) fn fill_narrow<'a, T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    out: MatrixMut<'a, T>,
    epilogue: Epilogue<'_, T>,
    threads: usize,
) -> Option<MatrixMut<'a, T>> {
    let are_contiguous = left.line(0).is_some() && right.line(0).is_some();
    if are_contiguous && left.line_count() <= DOTS_MAX_LINES {
        let rows = out.rows_count();
        fill_pieces(out, (rows, NARROW_LINES), threads, |(_, column, out)| {
            let epilogue = epilogue.for_columns(column, true);
            fill_dots(DotProducts::<_, _, _, true> {
                few: left,
                many: right,
                first: column,
                epilogue,
                out,
            });
        });
    } else if are_contiguous && right.line_count() <= DOTS_MAX_LINES {
        let columns = out.columns_count();
        fill_pieces(out, (NARROW_LINES, columns), threads, |(row, _, out)| {
            fill_dots(DotProducts::<_, _, _, false> {
                few: right,
                many: left,
                first: row,
                epilogue,
                out,
            });
        });
    } else if left.line_count() <= ADJACENT_MAX_ROWS && right.adjacent_lines().is_some() {
        fill_adjacent(left, right, out, epilogue, threads);
    } else {
        return Some(out);
    }
    None
}

/// Splits an output among threads. A single thread fills the whole output.
fn fill_pieces<'a, T: Float>(
    out: MatrixMut<'a, T>,
    (rows, columns): (usize, usize),
    threads: usize,
    fill: impl Fn((usize, usize, MatrixMut<'a, T>)) + Sync,
) {
    if threads <= 1 {
        fill((0, 0, out));
    } else {
        parallel::run_tasks(out.blocks(rows, columns), threads, fill);
    }
}

/// Dot products of each row of the small matrix with each row of the large matrix.
/// `LEFT` is true if the left matrix is the small matrix.
struct DotProducts<'a, 'b, A, B, T, const LEFT: bool> {
    few: &'a A,
    many: &'a B,
    /// The index of the first row of the large matrix.
    first: usize,
    epilogue: Epilogue<'a, T>,
    out: MatrixMut<'b, T>,
}

impl<A: Lines<T>, B: Lines<T>, T: Float, const LEFT: bool> DotProducts<'_, '_, A, B, T, LEFT> {
    #[inline(always)]
    fn tiles<S: Simd, const F: usize, const M: usize>(mut self, simd: S) {
        let count = if LEFT {
            self.out.columns_count()
        } else {
            self.out.rows_count()
        };
        let few: [&[T]; F] = std::array::from_fn(|line| self.few.line(line).unwrap_or_default());
        for start in (0..count).step_by(M) {
            let many: [&[T]; M] = std::array::from_fn(|line| {
                let line = self.first + (start + line).min(count - 1);
                self.many.line(line).unwrap_or_default()
            });
            let sums = dot_products::<S, T, F, M>(simd, few, many);
            self.store(start, count, &sums);
        }
    }

    /// Writes each sum of a tile to the output.
    #[inline(always)]
    fn store<const F: usize, const M: usize>(
        &mut self,
        start: usize,
        count: usize,
        sums: &[[T; M]; F],
    ) {
        for (few, sums) in sums.iter().enumerate() {
            for (many, &sum) in (start..count).zip(sums) {
                let (row, column) = if LEFT { (few, many) } else { (many, few) };
                self.epilogue
                    .store_sum(column, sum, &mut self.out.row(row)[column]);
            }
        }
    }
}

#[vectorized]
fn fill_dots<S: Simd, A: Lines<T>, B: Lines<T>, T: Float, const LEFT: bool>(
    simd: S,
    dots: DotProducts<'_, '_, A, B, T, LEFT>,
) {
    match dots.few.line_count() {
        1 => dots.tiles::<S, 1, 4>(simd),
        2 => dots.tiles::<S, 2, 4>(simd),
        3 => dots.tiles::<S, 3, 4>(simd),
        _ if machine::has_many_registers::<S>() => dots.tiles::<S, 4, 3>(simd),
        // With 16 registers, 4 x 3 sums and four rows of the small matrix would leave
        // no register for a row of the large matrix.
        _ => dots.tiles::<S, 4, 2>(simd),
    }
}

/// Returns the dot products of `F` rows of the small matrix with `M` rows of the large
/// matrix.
#[inline(always)]
fn dot_products<S: Simd, T: Float, const F: usize, const M: usize>(
    simd: S,
    few: [&[T]; F],
    many: [&[T]; M],
) -> [[T; M]; F] {
    let zero = Lanes::splat(simd, T::ZERO);
    let k = few[0].len();
    let count = k / Lanes::<S, T>::COUNT;
    // The slices have equal length, which allows the compiler to remove the bounds
    // checks.
    let few_whole = few.map(|line| &T::split::<S>(line).0[..count]);
    let many_whole = many.map(|line| &T::split::<S>(line).0[..count]);
    let (mut sums, mut lines) = ([[zero; M]; F], [zero; F]);
    // Loops over registers are used instead of `map`, because a closure that is not
    // inlined is compiled without AVX.
    for position in 0..count {
        for (register, line) in lines.iter_mut().zip(&few_whole) {
            *register = zero.with_vector(line[position]);
        }
        add_dot_products(
            &lines,
            |line| zero.with_vector(many_whole[line][position]),
            &mut sums,
        );
    }
    let rest = count * Lanes::<S, T>::COUNT;
    if rest < k {
        for (register, line) in lines.iter_mut().zip(&few) {
            *register = Lanes::load_part(simd, &line[rest..]);
        }
        add_dot_products(
            &lines,
            |line| Lanes::load_part(simd, &many[line][rest..]),
            &mut sums,
        );
    }
    let mut totals = [[T::ZERO; M]; F];
    for (totals, sums) in totals.iter_mut().zip(&sums) {
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = sum.sum();
        }
    }
    totals
}

/// Adds the products of some rows of both matrices to the sums. The rows of the small
/// matrix remain in registers, and the rows of the large matrix are loaded one by one.
#[inline(always)]
fn add_dot_products<S: Simd, T: Float, const F: usize, const M: usize>(
    few: &[Lanes<S, T>; F],
    many: impl Fn(usize) -> Lanes<S, T>,
    sums: &mut [[Lanes<S, T>; M]; F],
) {
    for line in 0..M {
        let many = many(line);
        for (few, sums) in few.iter().zip(sums.iter_mut()) {
            sums[line] = few.mul_add(many, sums[line]);
        }
    }
}

/// Adds the products of a column of left values with a row of right values to the sums.
/// The right values remain in registers.
#[inline(always)]
fn add_outer_product<S: Simd, T: Float, const R: usize, const V: usize>(
    left: &[T; R],
    right: [Lanes<S, T>; V],
    sums: &mut [[Lanes<S, T>; V]; R],
) {
    for (&number, sums) in left.iter().zip(sums) {
        let factor = right[0].like(number);
        (0..V).for_each(|v| sums[v] = factor.mul_add(right[v], sums[v]));
    }
}

/// Fills an output with few rows from a right matrix whose columns are adjacent in
/// memory.
fn fill_adjacent<T: Float>(
    left: &impl Lines<T>,
    right: &impl Lines<T>,
    out: MatrixMut<'_, T>,
    epilogue: Epilogue<'_, T>,
    threads: usize,
) {
    let (rows, k) = (left.line_count(), left.k());
    T::with_scratch(rows * k, |lefts| {
        left.pack_panels(0, 0..k, rows, lefts);
        fill_pieces(
            out,
            (rows, NARROW_LINES),
            threads,
            |(_, column, mut out)| {
                for k in (0..k).step_by(TLB_SPAN).map(|at| at..k.min(at + TLB_SPAN)) {
                    let Some((values, step)) = right.adjacent_lines() else {
                        return;
                    };
                    add_adjacent(AdjacentLines {
                        left: &lefts[k.start * rows..k.end * rows],
                        right: &values[k.start * step + column..],
                        step,
                        epilogue: epilogue.for_columns(column, k.start == 0),
                        out: out.reborrow(),
                    });
                }
            },
        );
    });
}

/// The packed left matrix, and a right matrix whose columns are adjacent in memory.
/// `step` is the stride of the inner axis.
struct AdjacentLines<'a, 'b, T> {
    left: &'a [T],
    right: &'a [T],
    step: usize,
    epilogue: Epilogue<'a, T>,
    out: MatrixMut<'b, T>,
}

#[vectorized]
fn add_adjacent<S: Simd, T: Float>(simd: S, lines: AdjacentLines<'_, '_, T>) {
    match lines.out.rows_count() {
        1 => lines.tiles::<S, 1, 8>(simd),
        2 => lines.tiles::<S, 2, 6>(simd),
        3 => lines.tiles::<S, 3, 4>(simd),
        4 => lines.tiles::<S, 4, 3>(simd),
        5 => lines.tiles::<S, 5, 2>(simd),
        _ => lines.tiles::<S, 6, 2>(simd),
    }
}

impl<T: Float> AdjacentLines<'_, '_, T> {
    #[inline(always)]
    fn tiles<S: Simd, const R: usize, const V: usize>(mut self, simd: S) {
        let (lanes, count) = (Lanes::<S, T>::COUNT, self.out.columns_count());
        let whole = count / (V * lanes) * V * lanes;
        for column in (0..whole).step_by(V * lanes) {
            let sums = self.sum::<S, R, V>(simd, column..column + V * lanes);
            self.epilogue.store_tile((0, column), &sums, &mut self.out);
        }
        for column in (whole..count).step_by(lanes) {
            let sums = self.sum::<S, R, 1>(simd, column..count.min(column + lanes));
            for (row, sums) in sums.iter().enumerate() {
                self.epilogue.store_lanes(column, sums, self.out.row(row));
            }
        }
    }

    /// Computes a tile of `R` rows by `V` registers. If `V` is 1, the register may be
    /// partly filled.
    #[inline(always)]
    fn sum<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        columns: Range<usize>,
    ) -> [[Lanes<S, T>; V]; R] {
        let lanes = Lanes::<S, T>::COUNT;
        let zero = Lanes::splat(simd, T::ZERO);
        let mut sums = [[zero; V]; R];
        let (lefts, _) = self.left.as_chunks::<R>();
        for (position, left) in lefts.iter().enumerate() {
            let row = &self.right[position * self.step..][columns.clone()];
            machine::prefetch(row.as_ptr().wrapping_add(ADJACENT_PREFETCH * V * lanes));
            let right = |v: usize| zero.load(&row[v * lanes..row.len().min((v + 1) * lanes)]);
            if R < V {
                let mut factors = [zero; R];
                for (factor, &number) in factors.iter_mut().zip(left) {
                    *factor = zero.like(number);
                }
                add_dot_products(&factors, right, &mut sums);
            } else {
                add_outer_product(left, std::array::from_fn(right), &mut sums);
            }
        }
        sums
    }
}
