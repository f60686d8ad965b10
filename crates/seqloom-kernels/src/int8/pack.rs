//! Int8 weights in panels, and the parameters of each column.

use pulp::Simd;
use seqloom_macros::vectorized;

use super::{Int8Layer, tile::Int8Tile, with_word_buffer};
use crate::{machine::dispatch, parallel};

/// Packed weights, and three parameters for each column, padded to the end of the last
/// panel.
pub(super) struct PackedWeights<'a> {
    pub(super) tile: Int8Tile,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// The factor of each input.
    pub(super) factors: &'a [f32],
    words: &'a [u32],
    /// The factor by which the integer sums of each column are multiplied.
    pub(super) scales: &'a [f32],
    /// The bias of each column.
    pub(super) bias: &'a [f32],
    /// The sum of the weights of each column.
    pub(super) totals: &'a [i32],
}

impl PackedWeights<'_> {
    /// Packs weights into scratch memory of this thread, and calls `work` with the
    /// packed weights.
    pub(super) fn pack<R>(
        tile: Int8Tile,
        layer: Int8Layer<'_>,
        threads: usize,
        work: impl FnOnce(&PackedWeights<'_>) -> R,
    ) -> R {
        let columns = layer.scales.len().next_multiple_of(tile.columns);
        let steps = tile.word_count(layer.factors.len());
        with_word_buffer(columns * (steps + 3), |scratch| {
            let (words, rest) = scratch.split_at_mut(columns * steps);
            let (totals, rest) = rest.split_at_mut(columns);
            let (scales, added) = bytemuck::cast_slice_mut(rest).split_at_mut(columns);
            let totals = bytemuck::cast_slice_mut(totals);
            copy_padded(layer.scales, scales);
            copy_padded(layer.bias.unwrap_or_default(), added);
            pack_panels(tile, layer, (&mut *words, &mut *totals), threads);
            work(&PackedWeights {
                tile,
                inputs: layer.factors.len(),
                outputs: layer.scales.len(),
                factors: layer.factors,
                words,
                scales,
                bias: added,
                totals,
            })
        })
    }

    /// Returns the 32-bit words of each panel of weights. Words are ordered by their
    /// position along the inputs.
    pub(super) fn panels(&self) -> impl Iterator<Item = &[u32]> {
        let panel = self.tile.word_count(self.inputs) * self.tile.columns;
        let count = self.scales.len() / self.tile.columns;
        (0..count).map(move |number| &self.words[number * panel..][..panel])
    }
}

/// Copies values, and fills the rest with zeros.
fn copy_padded(from: &[f32], to: &mut [f32]) {
    let (start, rest) = to.split_at_mut(from.len());
    start.copy_from_slice(from);
    rest.fill(0.0);
}

/// Packs all panels, and sums each column.
fn pack_panels(
    tile: Int8Tile,
    layer: Int8Layer<'_>,
    (words, totals): (&mut [u32], &mut [i32]),
    threads: usize,
) {
    let (columns, inputs) = (tile.columns, layer.factors.len());
    let panel = tile.word_count(inputs) * columns;
    if panel == 0 {
        return totals.fill(0);
    }
    parallel::fill_pairs(
        (words, totals),
        (panel, columns),
        threads,
        |number, words, totals| {
            let numbers = &layer.weight[number * columns * inputs..];
            let numbers = &numbers[..numbers.len().min(columns * inputs)];
            pack_panel(tile.group, numbers, inputs, words, totals);
        },
    );
}

/// Packs one panel of at most `width` columns. A 32-bit word contains `group` values.
#[vectorized]
fn pack_panel<S: Simd>(
    _simd: S,
    group: usize,
    numbers: &[i8],
    inputs: usize,
    words: &mut [u32],
    totals: &mut [i32],
) {
    let columns = totals.len();
    if numbers.len() < columns * inputs {
        words.fill(0);
        totals.fill(0);
    }
    for (numbers, total) in numbers.chunks(inputs).zip(totals) {
        *total = numbers.iter().map(|&number| i32::from(number)).sum();
    }
    for (number, numbers) in numbers.chunks(4 * inputs).enumerate() {
        let words = &mut words[4 * number..];
        match group {
            4 => pack_cols::<4>(numbers, inputs, words, columns),
            _ => pack_cols::<2>(numbers, inputs, words, columns),
        }
    }
}

/// Packs up to four columns of a panel.
#[inline(always)]
fn pack_cols<const N: usize>(numbers: &[i8], inputs: usize, words: &mut [u32], step: usize) {
    let mut done = 0;
    if numbers.len() == 4 * inputs {
        let column = |n: usize| {
            numbers[n * inputs..][..inputs]
                .as_chunks::<N>()
                .0
                .as_chunks()
                .0
        };
        let columns = [column(0), column(1), column(2), column(3)];
        done = 4 * columns[0].len();
        for (number, words) in words
            .chunks_mut(4 * step)
            .enumerate()
            .take(columns[0].len())
        {
            store_four_words(columns, number, words, step);
        }
    }
    for (column, numbers) in numbers.chunks(inputs).enumerate() {
        let groups = numbers.chunks(N).zip(words.chunks_mut(step)).skip(done);
        for (numbers, words) in groups {
            let mut group = [0; N];
            group[..numbers.len()].copy_from_slice(numbers);
            words[column] = pack_word(group);
        }
    }
}

/// Writes four consecutive words of each of four columns.
#[inline(always)]
fn store_four_words<const N: usize>(
    columns: [&[[[i8; N]; 4]]; 4],
    number: usize,
    words: &mut [u32],
    step: usize,
) {
    // Loops are used because the closure of an array's `map` is not always inlined.
    for (part, words) in words.chunks_mut(step).enumerate().take(4) {
        for (word, column) in words.iter_mut().zip(columns) {
            *word = pack_word(column[number][part]);
        }
    }
}

/// Returns a word with four 8-bit values, or with two values that are widened to 16
/// bits.
#[inline(always)]
fn pack_word<const N: usize>(numbers: [i8; N]) -> u32 {
    let mut word = 0;
    for number in numbers.into_iter().rev() {
        let wide = i32::from(number).cast_unsigned();
        word = if N == 4 {
            word << 8 | wide & 0xff
        } else {
            word << 16 | wide & 0xffff
        };
    }
    word
}
