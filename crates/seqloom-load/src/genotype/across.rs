//! A line of the file becomes a column of the result.
//!
//! A block of lines is fetched; then each thread takes some rows of the result, transposes the
//! bytes of their positions, and writes a long part of each row.

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::{CodeTable, Genotype, column};

use super::gather::{Gather, LinePositions};
use super::picks::{LineRequest, Picks};
use super::shares::{self, Bytes, RowSlot};
use super::source::LineSource;

/// So many bytes of a file are transposed together, and at least so many lines.
const BLOCK: usize = 1 << 22;
const LINES: usize = 64;
/// So many lines are transposed in the first-level cache.
const PIECE: usize = 1024;
/// So many bytes of a file are fetched by a thread at once.
const SHARE: usize = 1 << 18;
/// So many rows of the result are written together.
const STRIP: usize = 4 * column::SQUARE_SIDE;

/// Fills `out`, in which a row is a position and has a number for each line.
pub(super) fn read<T: Genotype>(
    source: &impl LineSource,
    request: &LineRequest<T>,
    out: &mut [T],
) -> Result<()> {
    let count = request.lines.len();
    if out.is_empty() {
        return Ok(());
    }
    let gather = Gather::new(source, &request.positions, LinePositions::kept);
    let (stride, mut rows) = (stride(&gather), rows(&gather, out, count));
    let lines = (BLOCK / gather.width().max(1) / LINES * LINES)
        .max(LINES)
        .min(count);
    let mut bytes = Bytes::take(lines * stride)?;
    for first in (0..count).step_by(lines) {
        let part = first..count.min(first + lines);
        let block = &mut bytes.all()[..part.len() * stride];
        fetch(&gather, &request.lines, (first, stride), block)?;
        let block = FetchedLines {
            lines: block,
            stride,
            part,
        };
        block.write(&request.table, &mut rows)?;
    }
    Ok(())
}

/// The bytes from one line of a block to the next.
fn stride(gather: &Gather<'_, impl LineSource>) -> usize {
    match &gather.positions {
        LinePositions::Kept(kept, _) => kept.stride(),
        _ => gather.width(),
    }
}

/// The rows of the result, in the order of their positions.
fn rows<'a, T>(
    gather: &Gather<'_, impl LineSource>,
    out: &'a mut [T],
    count: usize,
) -> Vec<RowSlot<'a, T>> {
    let rows = out.chunks_exact_mut(count);
    match &gather.positions {
        LinePositions::Kept(_, Some(ranks)) => shares::rows(ranks, rows),
        LinePositions::From(first) => (*first..).zip(rows).collect(),
        _ => rows.enumerate().collect(),
    }
}

/// Fetches a block, share by share.
fn fetch(
    gather: &Gather<'_, impl LineSource>,
    lines: &Picks,
    (first, stride): (usize, usize),
    block: &mut [u8],
) -> Result<()> {
    let share = (SHARE / (gather.width() * gather.spread(lines)).max(1)).max(1);
    match lines {
        Picks::Range(range) => {
            let start = range.start + first;
            let fill = |(): &mut (), number: usize, out: &mut [u8]| {
                consecutive(gather, start + number * share, stride, out)
            };
            shares::chunks(block, share * stride, || (), fill)
        }
        Picks::Some(lines) => {
            let slots = block.chunks_exact_mut(stride);
            let mut slots = shares::rows(&lines[first..][..slots.len()], slots);
            let fill = |(): &mut (), _, slots: &mut [RowSlot<'_, u8>]| some(gather, slots);
            shares::chunks(&mut slots, share, || (), fill)
        }
    }
}

/// Fetches lines that follow each other.
fn consecutive(
    gather: &Gather<'_, impl LineSource>,
    first: usize,
    stride: usize,
    out: &mut [u8],
) -> Result<()> {
    let LinePositions::Kept(kept, _) = &gather.positions else {
        return gather.fetch(first, out);
    };
    let (count, width) = (out.len() / stride, gather.width());
    let mut bytes = Bytes::take(gather.size_of_lines(count))?;
    let fetched = bytes.all();
    gather.fetch(first, &mut fetched[..count * width])?;
    let lines = (0..count).map(|line| &fetched[line * width..]);
    let slots = lines.zip(out.chunks_exact_mut(stride));
    slots.for_each(|(line, slot)| kept.line(line, slot));
    Ok(())
}

/// Fetches some lines in the order of the file, wherever they are wanted.
fn some(gather: &Gather<'_, impl LineSource>, slots: &mut [RowSlot<'_, u8>]) -> Result<()> {
    let numbers: Vec<usize> = slots.iter().map(|(line, _)| *line).collect();
    let mut bytes = Bytes::take(gather.size_of_runs(&numbers))?;
    let lines = gather.fetch_some(&numbers, bytes.all())?.into_iter();
    lines
        .zip(slots)
        .for_each(|(line, (_, slot))| match &gather.positions {
            LinePositions::Kept(kept, _) => kept.line(line, slot),
            _ => slot.copy_from_slice(&line[..slot.len()]),
        });
    Ok(())
}

/// A block of lines that were fetched.
struct FetchedLines<'a> {
    lines: &'a [u8],
    stride: usize,
    /// Where they stand in a row of the result.
    part: Range<usize>,
}

impl FetchedLines<'_> {
    /// Writes a part of every row.
    fn write<T: Genotype>(&self, table: &CodeTable<T>, rows: &mut [RowSlot<'_, T>]) -> Result<()> {
        shares::chunks(rows, STRIP, Vec::new, |transposed, _, rows| {
            for start in (0..self.part.len()).step_by(PIECE) {
                let piece = start..self.part.len().min(start + PIECE);
                self.strip(table, rows, piece, transposed);
            }
            Ok(())
        })
    }

    /// Writes a piece of neighbouring rows.
    fn strip<T: Genotype>(
        &self,
        table: &CodeTable<T>,
        rows: &mut [RowSlot<'_, T>],
        piece: Range<usize>,
        transposed: &mut Vec<u8>,
    ) {
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
            return;
        };
        let bytes = first / 4..last / 4 + 1;
        let count = piece.len();
        transposed.resize(bytes.len() * count, 0);
        let lines = &self.lines[piece.start * self.stride..piece.end * self.stride];
        column::transpose(lines, self.stride, bytes.start, transposed);
        let (first, last) = (self.part.start + piece.start, self.part.start + piece.end);
        for (position, row) in rows {
            let column = &transposed[(*position / 4 - bytes.start) * count..][..count];
            column::decode(column, *position, table, &mut row[first..last]);
        }
    }
}
