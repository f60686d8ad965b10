//! A line of the file becomes a line of the result.

use seqloom_core::Result;
use seqloom_encode::genotype::{Genotype, row};

use super::gather::Gather;
use super::read::Request;
use super::shares::{self, Bytes};
use super::source::Source;

/// So many bytes of a file are read at once.
const SHARE: usize = 1 << 18;

/// Fills `out`, line by line.
pub(super) fn read<T: Genotype>(
    source: &impl Source,
    request: &Request<T>,
    out: &mut [T],
) -> Result<()> {
    let row = request.places.len();
    if out.is_empty() {
        return Ok(());
    }
    let gather = Gather::new(source.stride(), &request.places);
    let widest = gather.width().max(row * size_of::<T>() / 4).max(1);
    let share = (SHARE / widest).clamp(1, request.lines.len());
    shares::chunks(out, share * row, Vec::new, |scratch, number, out| {
        let first = number * share;
        let runs = request.lines.runs(first..first + out.len() / row);
        let mut bytes = Bytes::take(gather.size(out.len() / row))?;
        let codes = gather.fetch(source, &runs, bytes.all())?;
        for (codes, out) in codes.chunks(gather.stride()).zip(out.chunks_exact_mut(row)) {
            line(&gather, codes, request, scratch, out);
        }
        Ok(())
    })
}

/// Decodes a line; `scratch` is memory that is used again.
fn line<T: Genotype>(
    gather: &Gather,
    codes: &[u8],
    request: &Request<T>,
    scratch: &mut Vec<T>,
    out: &mut [T],
) {
    let codes = &codes[gather.first() / 4..];
    let skipped = gather.first() % 4;
    match gather.ranks() {
        None if skipped == 0 => row::decode(codes, &request.table, out),
        None => {
            scratch.resize(skipped + out.len(), T::MISSING);
            row::decode(codes, &request.table, scratch);
            out.copy_from_slice(&scratch[skipped..]);
        }
        Some(ranks) => {
            scratch.resize(4 * gather.stride(), T::MISSING);
            row::decode(codes, &request.table, scratch);
            for (out, rank) in out.iter_mut().zip(ranks) {
                *out = scratch[*rank];
            }
        }
    }
}
