//! The epilogue of int8 products, which converts integer sums to floats.

use pulp::Simd;
use seqloom_macros::vectorized;

use super::{pack::PackedWeights, quantize::QuantizedRow, tile::TILE_COLUMNS};
use crate::{Float, lanes::Lanes, machine::dispatch, special};

/// The operations after the product and the bias: gelu, and the addition of a residual.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Int8Epilogue<'a> {
    /// If true, applies the exact gelu.
    pub(super) gelu: bool,
    /// The residual: one value for each position of the output.
    pub(super) added: Option<&'a [f32]>,
}

impl Int8Epilogue<'_> {
    /// Returns the epilogue for a range of output values.
    fn slice(self, start: usize, length: usize) -> Self {
        Self {
            added: self.added.map(|added| &added[start..][..length]),
            ..self
        }
    }
}

type TileRow<T> = [T; TILE_COLUMNS];

/// Converts a tile of integer sums into output values.
#[vectorized]
pub(super) fn store_tile<S: Simd>(
    simd: S,
    packed: &PackedWeights<'_>,
    epilogue: Int8Epilogue<'_>,
    (row, column): (usize, usize),
    (sums, rows): (&[i32], &[QuantizedRow]),
    out: &mut [f32],
) {
    let columns = TileColumns::new(packed, column);
    let start = row * packed.outputs + column;
    let outs = out[start..].chunks_mut(packed.outputs);
    let sums = sums.chunks(packed.tile.columns).zip(rows);
    for (number, (sums, out)) in sums.zip(outs).enumerate() {
        let start = start + number * packed.outputs;
        let epilogue = epilogue.slice(start, columns.count);
        columns.store_row(simd, epilogue, sums, &mut out[..columns.count]);
    }
}

/// The parameters of the columns of a tile.
struct TileColumns<'a> {
    /// The number of columns of the output.
    count: usize,
    totals: &'a [TileRow<i32>],
    scales: &'a [TileRow<f32>],
    bias: &'a [TileRow<f32>],
}

impl<'a> TileColumns<'a> {
    #[inline(always)]
    fn new(packed: &PackedWeights<'a>, column: usize) -> Self {
        Self {
            count: (packed.outputs - column).min(packed.tile.columns),
            totals: packed.totals[column..].as_chunks().0,
            scales: packed.scales[column..].as_chunks().0,
            bias: packed.bias[column..].as_chunks().0,
        }
    }

    /// Converts the sums of one row into output values.
    #[inline(always)]
    fn store_row<S: Simd>(
        &self,
        simd: S,
        epilogue: Int8Epilogue<'_>,
        (sums, row): (&[i32], &QuantizedRow),
        out: &mut [f32],
    ) {
        let columns = self.totals.iter().zip(self.scales).zip(self.bias);
        let mut columns = sums.as_chunks().0.iter().zip(columns);
        let (wholes, rest) = out.as_chunks_mut();
        let (more, last) = epilogue
            .added
            .unwrap_or_default()
            .as_chunks::<TILE_COLUMNS>();
        let mut more = more.iter();
        for (out, (sums, column)) in wholes.iter_mut().zip(&mut columns) {
            let mut values = to_floats(sums, *row, column);
            if epilogue.gelu {
                gelu(simd, &mut values);
            }
            if let Some(added) = more.next() {
                (0..TILE_COLUMNS).for_each(|lane| values[lane] += added[lane]);
            }
            *out = values;
        }
        if let Some((sums, column)) = columns.next().filter(|_| !rest.is_empty()) {
            let mut values = to_floats(sums, *row, column);
            if epilogue.gelu {
                gelu(simd, &mut values);
            }
            write_row(&values, last, rest);
        }
    }
}

type Column<'a> = ((&'a TileRow<i32>, &'a TileRow<f32>), &'a TileRow<f32>);

/// Returns the integer sums of one row as floats.
#[inline(always)]
fn to_floats(
    sums: &TileRow<i32>,
    row: QuantizedRow,
    ((totals, scales), bias): Column<'_>,
) -> TileRow<f32> {
    let mut values = [0.0; TILE_COLUMNS];
    for lane in 0..TILE_COLUMNS {
        let sum = sums[lane] - row.zero * totals[lane];
        values[lane] = to_float(sum) * (row.scale * scales[lane]) + bias[lane];
    }
    values
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "the sum is rounded once")]
fn to_float(sum: i32) -> f32 {
    sum as f32
}

#[inline(always)]
fn gelu<S: Simd>(simd: S, values: &mut TileRow<f32>) {
    let (vectors, _) = f32::split_mut::<S>(values);
    for vector in vectors {
        let x = Lanes::<S, f32>::new(simd, *vector);
        *vector = (x * special::normal_cdf(x).0).vector;
    }
}

/// Writes the values that are inside `out`, plus the residual if there is one.
#[cold]
fn write_row(values: &TileRow<f32>, added: &[f32], out: &mut [f32]) {
    out.copy_from_slice(&values[..out.len()]);
    for (out, added) in out.iter_mut().zip(added) {
        *out += added;
    }
}
