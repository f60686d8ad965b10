//! Output channels as products of a packed filter and a sample's windows.

use pulp::Simd;
use seqloom_macros::vectorized;

use super::rows::Rows;
use crate::machine::dispatch;
use crate::{
    Float,
    lanes::{Lanes, Registers},
    machine, parallel,
};

/// A matrix of weights, `rows` by `taps`, and what is added to each row.
#[derive(Clone, Copy)]
pub(super) struct Filter<'a, T> {
    pub(super) rows: usize,
    pub(super) taps: usize,
    pub(super) weight: &'a dyn Fn(usize, usize) -> T,
    pub(super) bias: Option<&'a [T]>,
}

/// The windows that the filter is applied to.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) input: Rows,
    /// Windows of a sample, and positions of an output channel: height and width.
    pub(super) size: [usize; 2],
}

/// Numbers of a tile of rows: with the weights in use they fit into a first-level cache.
const TILE: usize = 6144;

impl Product {
    /// Fills `out` (batch, filter rows, height, width).
    pub(super) fn fill<T: Float>(
        self,
        filter: Filter<'_, T>,
        x: &[T],
        out: &mut [T],
        threads: usize,
    ) {
        if out.is_empty() {
            return;
        }
        let Registers { lanes, are_many } = Registers::of::<T>();
        let rows = if are_many { MANY_ROWS } else { ROWS };
        let block = rows * (filter.taps + 1);
        T::with_scratch(filter.rows.div_ceil(rows) * block, |packed| {
            pack(&filter, rows, packed);
            let job = Job {
                product: self,
                tile: self.tile(2 * lanes),
                packed,
                block,
            };
            job.run(filter.rows, x, out, threads);
        });
    }

    /// Windows that are worked on at a time, a multiple of register blocks.
    fn tile(self, step: usize) -> usize {
        let [_, width] = self.size;
        let fitting = TILE / self.input.scratch(1).max(1);
        let tile = fitting.clamp(64, width.max(64));
        tile.min(width).next_multiple_of(step)
    }
}

/// Filter rows that are worked on at a time: twelve sums, two inputs and a weight are what
/// sixteen registers hold.
const ROWS: usize = 6;
/// The same of thirty-two registers.
const MANY_ROWS: usize = 12;

/// Lays blocks of rows out in the order of their use: the biases, then tap by tap.
fn pack<T: Float>(filter: &Filter<'_, T>, rows: usize, packed: &mut [T]) {
    for (number, block) in packed
        .chunks_exact_mut(rows * (filter.taps + 1))
        .enumerate()
    {
        for (row, position) in (number * rows..).zip(0..rows) {
            let column = block[position..].iter_mut().step_by(rows);
            if row >= filter.rows {
                column.for_each(|value| *value = T::ZERO);
                continue;
            }
            let bias = filter.bias.map_or(T::ZERO, |bias| bias[row]);
            let weights = (0..filter.taps).map(|tap| (filter.weight)(row, tap));
            column
                .zip(std::iter::once(bias).chain(weights))
                .for_each(|(value, weight)| *value = weight);
        }
    }
}

/// A product with its weights packed.
#[derive(Clone, Copy)]
struct Job<'a, T> {
    product: Product,
    tile: usize,
    packed: &'a [T],
    /// Numbers in a block of packed rows.
    block: usize,
}

impl<T: Float> Job<'_, T> {
    fn run(self, rows: usize, x: &[T], out: &mut [T], threads: usize) {
        let Product { input, size } = self.product;
        let offsets: Vec<usize> = input.offsets(self.tile).collect();
        let sample_size = input.sample();
        parallel::chunks(out, rows * size[0] * size[1], threads, |number, out| {
            let sample = &x[number * sample_size..][..sample_size];
            T::with_scratch(input.scratch(self.tile), |scratch| {
                for position in positions(size, self.tile) {
                    input.fill(sample, position, self.tile, scratch);
                    fill_tile(Tile {
                        job: self,
                        offsets: &offsets,
                        scratch,
                        position,
                        out: &mut *out,
                    });
                }
            });
        });
    }
}

/// Where tiles of so many positions start, row by row.
pub(super) fn positions(
    [height, width]: [usize; 2],
    tile: usize,
) -> impl Iterator<Item = [usize; 2]> {
    let row = move |line| {
        (0..width)
            .step_by(tile.max(1))
            .map(move |first| [line, first])
    };
    (0..height).flat_map(row)
}

/// Windows of a row, in scratch, from the one at `position`; and the sample's output channels.
struct Tile<'a, T> {
    job: Job<'a, T>,
    offsets: &'a [usize],
    scratch: &'a [T],
    position: [usize; 2],
    out: &'a mut [T],
}

#[vectorized]
fn fill_tile<S: Simd, T: Float>(simd: S, tile: Tile<'_, T>) {
    if machine::has_many_registers::<S>() {
        tile.blocks::<S, MANY_ROWS>(simd);
    } else {
        tile.blocks::<S, ROWS>(simd);
    }
}

impl<T: Float> Tile<'_, T> {
    #[inline(always)]
    fn blocks<S: Simd, const R: usize>(self, simd: S) {
        let lanes = Lanes::<S, T>::COUNT;
        let [height, width] = self.job.product.size;
        let [line, first] = self.position;
        let (positions, plane) = ((width - first).min(self.job.tile), height * width);
        let blocks = self.job.packed.chunks_exact(self.job.block);
        for (block, out) in blocks.zip(self.out.chunks_mut(R * plane)) {
            let (block, _) = block.as_chunks::<R>();
            for position in (0..positions).step_by(2 * lanes) {
                let input = &self.scratch[position..];
                let left = positions - position;
                let out = &mut out[line * width + first + position..];
                if left > lanes {
                    let sums = sums::<S, T, R, 2>(simd, block, self.offsets, input);
                    store(sums, left, plane, out);
                } else {
                    let sums = sums::<S, T, R, 1>(simd, block, self.offsets, input);
                    store(sums, left, plane, out);
                }
            }
        }
    }
}

/// The sums of `R` filter rows at `V` registers of neighbouring windows.
#[inline(always)]
fn sums<S: Simd, T: Float, const R: usize, const V: usize>(
    simd: S,
    block: &[[T; R]],
    offsets: &[usize],
    input: &[T],
) -> [[Lanes<S, T>; V]; R] {
    let Some((biases, taps)) = block.split_first() else {
        return [[Lanes::splat(simd, T::ZERO); V]; R];
    };
    // Loops: closures of arrays are not always inlined, and vectors are lost then.
    let zero = Lanes::splat(simd, T::ZERO);
    let mut sums = [[zero; V]; R];
    for (sums, &bias) in sums.iter_mut().zip(biases) {
        *sums = [Lanes::splat(simd, bias); V];
    }
    for (weights, &offset) in taps.iter().zip(offsets) {
        let (x, _) = T::split::<S>(&input[offset..][..V * Lanes::<S, T>::COUNT]);
        let mut inputs = [zero; V];
        for (input, &x) in inputs.iter_mut().zip(x) {
            *input = Lanes::new(simd, x);
        }
        for (sums, &weight) in sums.iter_mut().zip(weights) {
            let weight = Lanes::splat(simd, weight);
            for (sum, input) in sums.iter_mut().zip(inputs) {
                *sum = weight.mul_add(input, *sum);
            }
        }
    }
    sums
}

/// Stores the sums of the first `positions` windows into channels that stand `plane` apart.
#[inline(always)]
fn store<S: Simd, T: Float, const R: usize, const V: usize>(
    sums: [[Lanes<S, T>; V]; R],
    positions: usize,
    plane: usize,
    out: &mut [T],
) {
    let lanes = Lanes::<S, T>::COUNT;
    for (number, sums) in sums.into_iter().enumerate() {
        let Some(row) = out.get_mut(number * plane..) else {
            return;
        };
        let row = if positions < row.len() {
            &mut row[..positions]
        } else {
            row
        };
        for (sum, out) in sums.into_iter().zip(row.chunks_mut(lanes)) {
            sum.store(out);
        }
    }
}
