//! Decodes each row of a `.bed` to a row of the result.

use seqloom_core::Result;
use seqloom_encode::genotype::{CodeTable, Genotype, column, row};

use super::chunks::{self, Buffer, RowSlot};
use super::gather::{LinePositions, LineReads};
use super::indices::{Indices, LineRequest};
use super::source::LineSource;

/// Number of bytes that a thread reads in one call.
const BYTES_PER_READ: usize = 1 << 18;
/// Maximum number of selected `.bed` rows that a thread reads in one call.
const MAX_READ_LINES: usize = 1 << 12;

/// Fills `out` row by row.
pub(super) fn read_rows<T: Genotype>(
    source: &impl LineSource,
    request: &LineRequest<T>,
    out: &mut [T],
) -> Result<()> {
    let row = request.positions.len();
    if out.is_empty() {
        return Ok(());
    }
    let gather = LineReads::new(source, &request.positions, LinePositions::by_fastest_method);
    let widest = (gather.width() * gather.read_ratio(&request.lines)).max(row * size_of::<T>() / 4);
    let share = (BYTES_PER_READ / widest.max(1)).clamp(1, request.lines.len());
    match &request.lines {
        Indices::Range(range) => decode_consecutive(&gather, request, (range.start, share), out),
        Indices::Some(lines) => {
            decode_some(&gather, request, (lines, share.min(MAX_READ_LINES)), out)
        }
    }
}

/// Decodes consecutive `.bed` rows, beginning with row `start`.
fn decode_consecutive<T: Genotype>(
    gather: &LineReads<'_, impl LineSource>,
    request: &LineRequest<T>,
    (start, share): (usize, usize),
    out: &mut [T],
) -> Result<()> {
    let (row, width) = (request.positions.len(), gather.width());
    chunks::fill_chunks(
        out,
        share * row,
        Buffers::default,
        |scratch, number, out| {
            let count = out.len() / row;
            let mut bytes = Buffer::of_size(gather.line_bytes(count))?;
            let fetched = bytes.bytes();
            gather.fetch_lines(start + number * share, &mut fetched[..count * width])?;
            let lines = (0..count).map(|line| &fetched[line * width..]);
            decode_rows(
                gather,
                request,
                lines.zip(out.chunks_exact_mut(row)),
                scratch,
            );
            Ok(())
        },
    )
}

/// Decodes selected `.bed` rows in file order.
fn decode_some<T: Genotype>(
    gather: &LineReads<'_, impl LineSource>,
    request: &LineRequest<T>,
    (lines, share): (&[usize], usize),
    out: &mut [T],
) -> Result<()> {
    let mut rows = chunks::numbered_slices(lines, out.chunks_exact_mut(request.positions.len()));
    chunks::fill_chunks(&mut rows, share, Buffers::default, |scratch, _, rows| {
        let numbers: Vec<usize> = rows.iter().map(|(line, _)| *line).collect();
        let mut bytes = Buffer::of_size(gather.run_bytes(&numbers))?;
        let lines = gather.fetch_runs(&numbers, bytes.bytes())?.into_iter();
        let rows = rows
            .iter_mut()
            .map(|(_, row): &mut RowSlot<'_, T>| &mut **row);
        decode_rows(gather, request, lines.zip(rows), scratch);
        Ok(())
    })
}

/// Buffers that a thread reuses.
struct Buffers<T> {
    numbers: Vec<T>,
    codes: Vec<u8>,
    transposed: Vec<[u8; column::SQUARE_SIDE]>,
}

impl<T> Default for Buffers<T> {
    fn default() -> Self {
        Self {
            numbers: Vec::new(),
            codes: Vec::new(),
            transposed: Vec::new(),
        }
    }
}

/// Decodes each `.bed` row to a result row.
fn decode_rows<'a, T: Genotype>(
    gather: &LineReads<'_, impl LineSource>,
    request: &LineRequest<T>,
    lines: impl Iterator<Item = (&'a [u8], &'a mut [T])>,
    scratch: &mut Buffers<T>,
) {
    match &gather.positions {
        LinePositions::From(first) => lines.for_each(|(line, out)| {
            let position = (&line[first / 4..], first % 4);
            decode_range(position, &request.table, &mut scratch.numbers, out);
        }),
        LinePositions::Kept(kept, _) => lines.for_each(|(line, out)| {
            scratch.codes.resize(kept.stride(), 0);
            kept.line(line, &mut scratch.codes);
            row::decode_row(&scratch.codes, &request.table, out);
        }),
        LinePositions::Chosen(chosen) => {
            let (lines, mut rows): (Vec<_>, Vec<_>) = lines.unzip();
            let lines = (&lines[..], gather.width());
            chosen.decode(lines, &request.table, &mut rows, &mut scratch.transposed);
        }
    }
}

/// Decodes consecutive genotypes; the first `skipped` genotypes of the first byte are
/// ignored.
fn decode_range<T: Genotype>(
    (codes, skipped): (&[u8], usize),
    table: &CodeTable<T>,
    scratch: &mut Vec<T>,
    out: &mut [T],
) {
    if skipped == 0 {
        row::decode_row(codes, table, out);
    } else {
        scratch.resize(skipped + out.len(), T::MISSING);
        row::decode_row(codes, table, scratch);
        out.copy_from_slice(&scratch[skipped..]);
    }
}
