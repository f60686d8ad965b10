//! Convolution, computed as products of a packed filter and the windows of a sample.

use std::ops::Range;

use pulp::Simd;
use seqloom_macros::vectorized;

use super::rows::InputRows;
use crate::machine::dispatch;
use crate::{
    Float,
    lanes::{Lanes, Registers},
    machine,
    matrix::MatrixMut,
    parallel, tuned,
};

/// The weights of a filter as a matrix (output channels, taps), and the bias of each
/// output channel.
#[derive(Clone, Copy)]
pub(super) struct Filter<'a, T> {
    pub(super) rows: usize,
    pub(super) taps: usize,
    pub(super) weight: &'a dyn Fn(usize, usize) -> T,
    pub(super) bias: Option<&'a [T]>,
}

/// The memory layout of the input windows, and the size of the output.
#[derive(Clone, Copy)]
pub(super) struct WindowProduct {
    pub(super) input: InputRows,
    /// The height and width of an output channel.
    pub(super) size: [usize; 2],
}

/// The least common multiple of the possible block widths, which are two and three
/// registers.
const BLOCK_REGISTERS: usize = 6;
impl WindowProduct {
    /// Fills the output of the convolution, of shape (batch, filter rows, height,
    /// width).
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
        let Registers { lanes, are_many } = Registers::for_type::<T>();
        let form = BlockForm::new(filter.rows, are_many);
        let block = form.rows * (filter.taps + 1);
        T::with_scratch(filter.rows.div_ceil(form.rows) * block, |packed| {
            pack_filter(&filter, form.rows, packed);
            let tile = tuned::CONV_TILE_WINDOWS
                .min(self.size[1].next_multiple_of(BLOCK_REGISTERS * lanes));
            let job = FilterJob {
                product: self,
                form,
                tile,
                channels: self.channels_per_group(tile),
                packed,
                block,
            };
            job.run(filter.rows, x, out, threads);
        });
    }

    /// Returns the number of input channels that are processed together. All groups of
    /// channels have about the same size.
    fn channels_per_group(self, tile: usize) -> usize {
        let all = self.input.channels.max(1);
        let fitting = (tuned::CONV_TILE_INPUTS
            / self.input.with_channels(1).scratch_size(tile).max(1))
        .max(1);
        all.div_ceil(all.div_ceil(fitting))
    }
}

/// The size of a block of sums: some filter rows by some registers of adjacent windows.
/// The sums, their inputs and one weight together fill all vector registers.
#[derive(Clone, Copy)]
struct BlockForm {
    rows: usize,
    wide: usize,
}

impl BlockForm {
    /// The block size for processors with 16 registers. A block with three registers of
    /// windows would need more than 16 registers.
    const FOR_16_REGISTERS: Self = Self {
        rows: tuned::CONV_TILE_ROWS_16,
        wide: 2,
    };
    /// The block sizes for processors with 32 registers.
    const FOR_32_REGISTERS: [Self; 2] = [Self { rows: 12, wide: 2 }, Self { rows: 8, wide: 3 }];

    /// Returns the block size that leaves the fewest rows unused.
    fn new(rows: usize, are_many: bool) -> Self {
        let [high, low] = Self::FOR_32_REGISTERS;
        match are_many {
            false => Self::FOR_16_REGISTERS,
            true if high.computed_rows(rows) <= low.computed_rows(rows) => high,
            true => low,
        }
    }

    /// Returns the number of rows that are computed for `rows` filter rows: a multiple
    /// of half a block.
    fn computed_rows(self, rows: usize) -> usize {
        rows.next_multiple_of(self.rows / 2)
    }
}

/// Packs blocks of filter rows in order of use: first the biases, then the weights of
/// each tap.
fn pack_filter<T: Float>(filter: &Filter<'_, T>, rows: usize, packed: &mut [T]) {
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

/// A convolution with packed weights, as a matrix product.
#[derive(Clone, Copy)]
struct FilterJob<'a, T> {
    product: WindowProduct,
    form: BlockForm,
    tile: usize,
    /// The number of input channels that are processed together.
    channels: usize,
    packed: &'a [T],
    /// The number of values in a block of packed rows.
    block: usize,
}

/// A range of output positions of one sample, in all output channels.
struct SamplePiece<'a, T> {
    sample: &'a [T],
    start: usize,
    out: MatrixMut<'a, T>,
}

impl<T: Float> FilterJob<'_, T> {
    fn run(self, rows: usize, x: &[T], out: &mut [T], threads: usize) {
        let WindowProduct { input, size } = self.product;
        let offsets: Vec<usize> = input
            .with_channels(self.channels)
            .tap_offsets(self.tile)
            .collect();
        let plane = size[0] * size[1];
        let samples = out.len() / (rows * plane);
        let columns = self.positions_per_task(samples, plane, threads);
        let outs = out.chunks_exact_mut(rows * plane).enumerate();
        let pieces = outs.flat_map(|(number, out)| {
            let sample = &x[number * input.sample_size()..][..input.sample_size()];
            let pieces = MatrixMut::new(out, rows, plane, plane).blocks(rows, columns);
            pieces
                .into_iter()
                .map(move |(_, start, out)| SamplePiece { sample, start, out })
        });
        parallel::run_tasks(pieces.collect(), threads, |piece| {
            self.fill_piece(piece, &offsets);
        });
    }

    /// Returns the number of positions that one task computes: full tiles along one
    /// axis, or full rows of an image.
    fn positions_per_task(self, samples: usize, plane: usize, threads: usize) -> usize {
        if parallel::is_single_threaded(threads)
            || samples >= tuned::CONV_BLOCKS_PER_THREAD * threads
        {
            return plane;
        }
        let [height, width] = self.product.size;
        let whole = if height == 1 { self.tile } else { width };
        let wanted = samples * plane / (tuned::CONV_BLOCKS_PER_THREAD * threads);
        wanted
            .next_multiple_of(whole)
            .clamp(whole, plane.max(whole))
    }

    fn fill_piece(self, mut piece: SamplePiece<'_, T>, offsets: &[usize]) {
        let WindowProduct { input, size } = self.product;
        let count = piece.out.columns_count();
        T::with_scratch(
            input.with_channels(self.channels).scratch_size(self.tile),
            |scratch| {
                for range in row_ranges(piece.start, count, size[1], self.tile) {
                    for channel in (0..input.channels.max(1)).step_by(self.channels) {
                        let some = input.with_channels(self.channels.min(input.channels - channel));
                        let scratch = &mut scratch[..some.scratch_size(self.tile)];
                        let values = &piece.sample[channel * some.plane_size()..];
                        let position = [range.start / size[1], range.start % size[1]];
                        some.copy_windows(values, position, self.tile, scratch);
                        let window = some.kernel[0] * some.kernel[1];
                        fill_tile(WindowTile {
                            job: self,
                            taps: channel * window..(channel + some.channels) * window,
                            offsets,
                            scratch,
                            columns: range.start - piece.start..range.end - piece.start,
                            out: piece.out.reborrow(),
                        });
                    }
                }
            },
        );
    }
}

/// Splits positions into ranges of at most `tile` positions, each within one row.
fn row_ranges(
    start: usize,
    count: usize,
    width: usize,
    tile: usize,
) -> impl Iterator<Item = Range<usize>> {
    let end = start + count;
    let mut next = start;
    std::iter::from_fn(move || {
        let first = next;
        next = end.min(first + tile.min(width - first % width));
        (first < end).then_some(first..next)
    })
}

/// Returns the first position of each tile of `tile` positions, row by row.
pub(super) fn tile_positions(
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

/// The input windows of part of an output row, for some of the input channels, and the
/// output of these windows.
struct WindowTile<'a, T> {
    job: FilterJob<'a, T>,
    /// The range of filter taps for these input channels, and the offset of each tap in
    /// scratch memory.
    taps: Range<usize>,
    offsets: &'a [usize],
    scratch: &'a [T],
    /// The range of output columns to fill.
    columns: Range<usize>,
    out: MatrixMut<'a, T>,
}

#[vectorized]
fn fill_tile<S: Simd, T: Float>(simd: S, tile: WindowTile<'_, T>) {
    match (machine::has_many_registers::<S>(), tile.job.form.wide) {
        (true, 2) => tile.fill_blocks::<S, 12, 6, 2>(simd),
        (true, _) => tile.fill_blocks::<S, 8, 4, 3>(simd),
        (false, _) => tile
            .fill_blocks::<S, { tuned::CONV_TILE_ROWS_16 }, { tuned::CONV_TILE_ROWS_16 / 2 }, 2>(
                simd,
            ),
    }
}

impl<T: Float> WindowTile<'_, T> {
    /// Fills all output rows, `R` at a time. If the last block is at most half full,
    /// the last `H = R / 2` rows are computed by a smaller block.
    #[inline(always)]
    fn fill_blocks<S: Simd, const R: usize, const H: usize, const V: usize>(mut self, simd: S) {
        let blocks = self.job.packed.chunks_exact(self.job.block);
        for (number, block) in blocks.enumerate() {
            let (block, _) = block.as_chunks::<R>();
            let row = number * R;
            if self.out.rows_count() - row > H {
                self.fill_rows::<S, R, R, V>(simd, block, row);
            } else {
                self.fill_rows::<S, R, H, 3>(simd, block, row);
            }
        }
    }

    /// Fills up to `K` output rows, `V` registers of windows at a time.
    #[inline(always)]
    fn fill_rows<S: Simd, const R: usize, const K: usize, const V: usize>(
        &mut self,
        simd: S,
        block: &[[T; R]],
        row: usize,
    ) {
        let lanes = Lanes::<S, T>::COUNT;
        for position in (0..self.columns.len()).step_by(V * lanes) {
            match (self.columns.len() - position).div_ceil(lanes) {
                1 => self.fill_block::<S, R, K, 1>(simd, block, row, position),
                2 => self.fill_block::<S, R, K, 2>(simd, block, row, position),
                _ => self.fill_block::<S, R, K, V>(simd, block, row, position),
            }
        }
    }

    /// Computes `K` rows for `V` registers of adjacent windows, and stores the sums or
    /// adds them to the output.
    #[inline(always)]
    fn fill_block<S: Simd, const R: usize, const K: usize, const V: usize>(
        &mut self,
        simd: S,
        block: &[[T; R]],
        row: usize,
        position: usize,
    ) {
        let Some((biases, weights)) = block.split_first() else {
            return;
        };
        let (first, lanes) = (self.columns.start + position, Lanes::<S, T>::COUNT);
        let columns = first..self.columns.end.min(first + V * lanes);
        let rows = row..self.out.rows_count().min(row + K);
        // Loops are used instead of closures, because closures over arrays are not
        // always inlined and then do not use vector instructions.
        let mut sums = [[Lanes::splat(simd, T::ZERO); V]; K];
        if self.taps.start == 0 {
            for (sums, &bias) in sums.iter_mut().zip(biases) {
                *sums = [Lanes::splat(simd, bias); V];
            }
        } else {
            for (sums, row) in sums.iter_mut().zip(rows.clone()) {
                let found = self.out.row(row)[columns.clone()].chunks(lanes);
                for (sum, found) in sums.iter_mut().zip(found) {
                    *sum = sum.load(found);
                }
            }
        }
        let weights = &weights[self.taps.clone()];
        let sums = add_products(simd, sums, weights, self.offsets, &self.scratch[position..]);
        for (sums, row) in sums.into_iter().zip(rows) {
            let outs = self.out.row(row)[columns.clone()].chunks_mut(lanes);
            for (sum, out) in sums.into_iter().zip(outs) {
                sum.store(out);
            }
        }
    }
}

/// Adds the products of the first `K` of `R` filter rows with `V` registers of adjacent
/// windows.
#[inline(always)]
fn add_products<S: Simd, T: Float, const R: usize, const K: usize, const V: usize>(
    simd: S,
    mut sums: [[Lanes<S, T>; V]; K],
    weights: &[[T; R]],
    offsets: &[usize],
    input: &[T],
) -> [[Lanes<S, T>; V]; K] {
    for (weights, &offset) in weights.iter().zip(offsets) {
        let (x, _) = T::split::<S>(&input[offset..][..V * Lanes::<S, T>::COUNT]);
        let mut inputs = [Lanes::splat(simd, T::ZERO); V];
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
