//! A linear layer with int8 weights.

use super::Int8Layer;
use super::epilogue::{Int8Epilogue, store_tile};
use super::pack::PackedWeights;
use super::quantize::{QuantizedRow, quantize_rows};
use super::tile::{Int8Tile, MAX_TILE_SUMS};
use super::with_word_buffer;
use crate::dense::{Rotation, for_each_band, rotate_heads};
use crate::tuned;

/// Fills `out` with the outputs of the linear layer for the rows of `x`, plus the
/// residual if there is one.
pub fn linear(
    layer: Int8Layer<'_>,
    x: &[f32],
    residual: Option<&[f32]>,
    out: &mut [f32],
    threads: usize,
) {
    linear_with_tile(Int8Tile::current(), layer, (x, residual), out, threads);
}

/// Fills `out` with the outputs of the linear layer, computed by the given tile kernel.
pub(super) fn linear_with_tile(
    tile: Int8Tile,
    layer: Int8Layer<'_>,
    (x, residual): (&[f32], Option<&[f32]>),
    out: &mut [f32],
    threads: usize,
) {
    run_bands(tile, layer, out, threads, |packed, first, out| {
        let start = first * packed.outputs;
        let epilogue = Int8Epilogue {
            gelu: false,
            added: residual.map(|residual| &residual[start..][..out.len()]),
        };
        multiply_band(packed, &x[first * packed.inputs..], epilogue, out);
    });
}

/// Fills `out` with the outputs of the linear layer for the rows of `x`, and rotates
/// the first heads of each row.
pub fn linear_then_rotate(
    layer: Int8Layer<'_>,
    rotation: Rotation<'_, f32>,
    x: &[f32],
    out: &mut [f32],
    threads: usize,
) {
    run_bands(
        Int8Tile::current(),
        layer,
        out,
        threads,
        |packed, first, out| {
            multiply_band(
                packed,
                &x[first * packed.inputs..],
                Int8Epilogue::default(),
                out,
            );
            rotate_heads(rotation.starting_at_row(first), packed.outputs, out);
        },
    );
}

/// Packs the weights, and calls `work` for each band of rows with the index of its
/// first row.
fn run_bands(
    tile: Int8Tile,
    layer: Int8Layer<'_>,
    out: &mut [f32],
    threads: usize,
    work: impl Fn(&PackedWeights<'_>, usize, &mut [f32]) + Sync,
) {
    let (inputs, outputs) = (layer.factors.len(), layer.scales.len());
    if out.is_empty() {
        return;
    }
    PackedWeights::pack(tile, layer, threads, |packed| {
        for_each_band(out, outputs, inputs / 4 + outputs, threads, |first, out| {
            work(packed, first, out);
        });
    });
}

/// Fills a band of output rows, on one thread.
pub(super) fn multiply_band(
    packed: &PackedWeights<'_>,
    x: &[f32],
    epilogue: Int8Epilogue<'_>,
    out: &mut [f32],
) {
    let tile = packed.tile;
    let length = tile.tile_words(packed.inputs);
    let mut rows = [QuantizedRow::default(); tuned::DENSE_MAX_BAND_ROWS];
    let rows = &mut rows[..out.len() / packed.outputs];
    with_word_buffer(rows.len().div_ceil(tile.rows) * length, |words| {
        quantize_rows(packed, x, rows, words);
        let mut sums = [0; MAX_TILE_SUMS];
        let sums = &mut sums[..tile.rows * tile.columns];
        for (number, panel) in packed.panels().enumerate() {
            let column = number * tile.columns;
            for (number, words) in words.chunks(length).enumerate() {
                (tile.sum)(words, panel, sums);
                let row = number * tile.rows;
                let rows = &rows[row..rows.len().min(row + tile.rows)];
                store_tile(packed, epilogue, (row, column), (sums, rows), out);
            }
        }
    });
}
