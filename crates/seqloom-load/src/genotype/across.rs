//! A line of the file becomes a column of the result.
//!
//! A block of lines is fetched; then each thread takes some rows of the result, turns the
//! bytes of their places, and writes a long part of each row.

use std::ops::Range;

use seqloom_core::Result;
use seqloom_encode::genotype::{Genotype, Table, column};

use super::gather::Gather;
use super::read::Request;
use super::shares::{self, Bytes};
use super::source::Source;

/// So many bytes of a file are turned together, and at least so many lines.
const BLOCK: usize = 1 << 22;
const LINES: usize = 64;
/// So many lines are turned in the first-level cache.
const PIECE: usize = 1024;
/// So many bytes of a file are fetched by a thread at once.
const SHARE: usize = 1 << 18;
/// So many rows of the result are written together.
const STRIP: usize = 4 * column::WIDTH;

/// A row of the result, and the place it is of.
type Row<'a, T> = (usize, &'a mut [T]);

/// Fills `out`, in which a row is a place and has a number for each line.
pub(super) fn read<T: Genotype>(
    source: &impl Source,
    request: &Request<T>,
    out: &mut [T],
) -> Result<()> {
    let count = request.lines.len();
    if out.is_empty() {
        return Ok(());
    }
    let gather = Gather::new(source.stride(), &request.places);
    let mut rows = rows(&gather, out, count);
    let lines = (BLOCK / gather.width().max(1) / LINES * LINES)
        .max(LINES)
        .min(count);
    let mut bytes = Bytes::take(lines * gather.stride())?;
    for first in (0..count).step_by(lines) {
        let part = first..count.min(first + lines);
        let block = &mut bytes.all()[..part.len() * gather.stride()];
        fetch(source, request, (&gather, first), block)?;
        let block = Block {
            lines: block,
            stride: gather.stride(),
            part,
        };
        block.write(&request.table, &mut rows)?;
    }
    Ok(())
}

/// The rows of the result, in the order of their places.
fn rows<'a, T>(gather: &Gather, out: &'a mut [T], count: usize) -> Vec<Row<'a, T>> {
    let rows = out.chunks_exact_mut(count);
    let Some(ranks) = gather.ranks() else {
        return (gather.first()..).zip(rows).collect();
    };
    let mut rows: Vec<_> = ranks.iter().copied().zip(rows).collect();
    rows.sort_by_key(|(place, _)| *place);
    rows
}

/// Fetches a block, share by share.
fn fetch<T: Genotype>(
    source: &impl Source,
    request: &Request<T>,
    (gather, first): (&Gather, usize),
    block: &mut [u8],
) -> Result<()> {
    let stride = gather.stride();
    let share = (SHARE / gather.width().max(1)).max(1);
    shares::chunks(
        block,
        share * stride,
        || (),
        |(), number, out| {
            let (start, lines) = (first + number * share, out.len() / stride);
            let runs = request.lines.runs(start..start + lines);
            let mut bytes = Bytes::take(gather.size(lines))?;
            out.copy_from_slice(gather.fetch(source, &runs, bytes.all())?);
            Ok(())
        },
    )
}

/// Some lines, in memory.
struct Block<'a> {
    lines: &'a [u8],
    stride: usize,
    /// Where they stand in a row of the result.
    part: Range<usize>,
}

impl Block<'_> {
    /// Writes a part of every row.
    fn write<T: Genotype>(&self, table: &Table<T>, rows: &mut [Row<'_, T>]) -> Result<()> {
        shares::chunks(rows, STRIP, Vec::new, |turned, _, rows| {
            for start in (0..self.part.len()).step_by(PIECE) {
                let piece = start..self.part.len().min(start + PIECE);
                self.strip(table, rows, piece, turned);
            }
            Ok(())
        })
    }

    /// Writes a piece of neighbouring rows.
    fn strip<T: Genotype>(
        &self,
        table: &Table<T>,
        rows: &mut [Row<'_, T>],
        piece: Range<usize>,
        turned: &mut Vec<u8>,
    ) {
        let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
            return;
        };
        let bytes = first / 4..last / 4 + 1;
        let count = piece.len();
        turned.resize(bytes.len() * count, 0);
        let lines = &self.lines[piece.start * self.stride..piece.end * self.stride];
        column::turn(lines, self.stride, bytes.start, turned);
        let (first, last) = (self.part.start + piece.start, self.part.start + piece.end);
        for (place, row) in rows {
            let column = &turned[(*place / 4 - bytes.start) * count..][..count];
            column::decode(column, *place, table, &mut row[first..last]);
        }
    }
}
