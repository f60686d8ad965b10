//! Decodes each row of a `.bed` to a column of the result.
//!
//! A block of `.bed` rows is read. After the read, each thread transposes the genotypes
//! of some result rows, and writes the columns of the block to these rows.
//!

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::{CodeTable, Genotype, column};

use super::chunks::{self, Buffer, RowSlot};
use super::gather::{LinePositions, LineReads};
use super::indices::{Indices, LineRequest};
use super::source::LineSource;

/// Maximum size in bytes of a block of `.bed` rows.
const LINE_BLOCK_BYTES: usize = 1 << 22;
/// Minimum number of rows of a block.
const MIN_BLOCK_LINES: usize = 64;
/// Number of `.bed` rows that are transposed in one call, so that they fit in the L1 cache.
const TRANSPOSED_LINES: usize = 1024;
/// Number of bytes that a thread reads in one call.
const BYTES_PER_FETCH: usize = 1 << 18;
/// Number of result rows that are written together.
const ROWS_PER_STRIP: usize = 4 * column::SQUARE_SIDE;

/// Fills `out`, a matrix with a row for each selected position and a column for each `.bed`
/// row.
pub(super) fn read_transposed<T: Genotype>(
    source: &impl LineSource,
    request: &LineRequest<T>,
    out: &mut [T],
) -> Result<()> {
    let count = request.lines.len();
    if out.is_empty() {
        return Ok(());
    }
    let gather = LineReads::new(source, &request.positions, LinePositions::packed);
    let (stride, mut rows) = (stride(&gather), sorted_result_rows(&gather, out, count));
    let lines = (LINE_BLOCK_BYTES / gather.width().max(1) / MIN_BLOCK_LINES * MIN_BLOCK_LINES)
        .max(MIN_BLOCK_LINES)
        .min(count);
    let mut bytes = Buffer::of_size(lines * stride)?;
    for first in (0..count).step_by(lines) {
        let columns = first..count.min(first + lines);
        let block = &mut bytes.bytes()[..columns.len() * stride];
        fetch_block(&gather, &request.lines, (first, stride), block)?;
        let block = FetchedLines {
            lines: block,
            stride,
            columns,
        };
        block.write(&request.table, &mut rows)?;
    }
    Ok(())
}

/// Returns the number of bytes between the starts of two `.bed` rows in a block.
fn stride(gather: &LineReads<'_, impl LineSource>) -> usize {
    match &gather.positions {
        LinePositions::Kept(kept, _) => kept.stride(),
        _ => gather.width(),
    }
}

/// Returns the result rows, sorted by position.
fn sorted_result_rows<'a, T>(
    gather: &LineReads<'_, impl LineSource>,
    out: &'a mut [T],
    count: usize,
) -> Vec<RowSlot<'a, T>> {
    let rows = out.chunks_exact_mut(count);
    match &gather.positions {
        LinePositions::Kept(_, Some(ranks)) => chunks::numbered_slices(ranks, rows),
        LinePositions::From(first) => (*first..).zip(rows).collect(),
        _ => rows.enumerate().collect(),
    }
}

/// Reads a block of `.bed` rows in parallel.
fn fetch_block(
    gather: &LineReads<'_, impl LineSource>,
    lines: &Indices,
    (first, stride): (usize, usize),
    block: &mut [u8],
) -> Result<()> {
    let share = (BYTES_PER_FETCH / (gather.width() * gather.read_ratio(lines)).max(1)).max(1);
    match lines {
        Indices::Range(range) => {
            let start = range.start + first;
            let fill = |(): &mut (), number: usize, out: &mut [u8]| {
                fetch_consecutive(gather, start + number * share, stride, out)
            };
            chunks::fill_chunks(block, share * stride, || (), fill)
        }
        Indices::Some(lines) => {
            let slots = block.chunks_exact_mut(stride);
            let mut slots = chunks::numbered_slices(&lines[first..][..slots.len()], slots);
            let fill = |(): &mut (), _, slots: &mut [RowSlot<'_, u8>]| fetch_some(gather, slots);
            chunks::fill_chunks(&mut slots, share, || (), fill)
        }
    }
}

/// Reads consecutive `.bed` rows.
fn fetch_consecutive(
    gather: &LineReads<'_, impl LineSource>,
    first: usize,
    stride: usize,
    out: &mut [u8],
) -> Result<()> {
    let LinePositions::Kept(kept, _) = &gather.positions else {
        return gather.fetch_lines(first, out);
    };
    let (count, width) = (out.len() / stride, gather.width());
    let mut bytes = Buffer::of_size(gather.line_bytes(count))?;
    let fetched = bytes.bytes();
    gather.fetch_lines(first, &mut fetched[..count * width])?;
    let lines = (0..count).map(|line| &fetched[line * width..]);
    let slots = lines.zip(out.chunks_exact_mut(stride));
    slots.for_each(|(line, slot)| kept.line(line, slot));
    Ok(())
}

/// Reads `.bed` rows in file order, and stores each row in its slot of the block.
fn fetch_some(
    gather: &LineReads<'_, impl LineSource>,
    slots: &mut [RowSlot<'_, u8>],
) -> Result<()> {
    let numbers: Vec<usize> = slots.iter().map(|(line, _)| *line).collect();
    let mut bytes = Buffer::of_size(gather.run_bytes(&numbers))?;
    let lines = gather.fetch_runs(&numbers, bytes.bytes())?.into_iter();
    lines
        .zip(slots)
        .for_each(|(line, (_, slot))| match &gather.positions {
            LinePositions::Kept(kept, _) => kept.line(line, slot),
            _ => slot.copy_from_slice(&line[..slot.len()]),
        });
    Ok(())
}

/// A block of `.bed` rows in memory.
struct FetchedLines<'a> {
    lines: &'a [u8],
    stride: usize,
    /// The columns of the result that these `.bed` rows fill.
    columns: Range<usize>,
}

impl FetchedLines<'_> {
    /// Writes the columns of the block in every result row.
    fn write<T: Genotype>(&self, table: &CodeTable<T>, rows: &mut [RowSlot<'_, T>]) -> Result<()> {
        chunks::fill_chunks(rows, ROWS_PER_STRIP, Vec::new, |transposed, _, rows| {
            for start in (0..self.columns.len()).step_by(TRANSPOSED_LINES) {
                let range = start..self.columns.len().min(start + TRANSPOSED_LINES);
                self.write_strip(table, rows, range, transposed);
            }
            Ok(())
        })
    }

    /// Writes neighbouring result rows for a range of the `.bed` rows.
    fn write_strip<T: Genotype>(
        &self,
        table: &CodeTable<T>,
        rows: &mut [RowSlot<'_, T>],
        range: Range<usize>,
        transposed: &mut Vec<u8>,
    ) {
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
            return;
        };
        let bytes = first / 4..last / 4 + 1;
        let count = range.len();
        transposed.resize(bytes.len() * count, 0);
        let lines = &self.lines[range.start * self.stride..range.end * self.stride];
        column::transpose_packed_rows(lines, self.stride, bytes.start, transposed);
        let start = self.columns.start + range.start;
        for (position, row) in rows {
            let column = &transposed[(*position / 4 - bytes.start) * count..][..count];
            column::decode_column(column, *position, table, &mut row[start..][..count]);
        }
    }
}
