//! Genotypes of some individuals and variants, as numbers.

use seqloom_core::interrupt::Stop;
use seqloom_core::{Error, Result};
use seqloom_encode::genotype::{Genotype, CodeTable};
use seqloom_plink::padding::PaddingCheck;
use seqloom_plink::{Bed, BedLayout, Major};

use super::picks::Request;
use super::source::{Checked, Held, Source};
use super::{Picks, across, along};

/// How a result lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All individuals of a variant together.
    Variants,
    /// All variants of an individual together.
    Individuals,
}

/// Reads some individuals and variants of a file into `out`, by the threads of the current
/// pool.
///
/// The file's length is compared with the layout before and after; with `check`, so are the
/// bits that fill lines up, and the last positions of a whole file (see
/// [`seqloom_plink::padding`]).
pub fn read<T: Genotype>(
    (bed, layout): (&Bed, BedLayout),
    (individuals, variants): (Picks, Picks),
    (table, order): (CodeTable<T>, Order),
    out: &mut [T],
    check: bool,
) -> Result<()> {
    bounds("individual", &individuals, layout.individuals)?;
    bounds("variant", &variants, layout.variants)?;
    let (lines, positions) = match layout.major {
        Major::Variant => (variants, individuals),
        Major::Individual => (individuals, variants),
    };
    let source = Checked {
        bed,
        layout,
        padding: check.then(PaddingCheck::default),
        stop: Some(Stop::current()),
    };
    let request = Request {
        lines,
        positions,
        table,
    };
    let along = (order == Order::Variants) == (layout.major == Major::Variant);
    decode(&source, &request, along, out)?;
    bed.measure(&layout)?;
    source.padding.map_or(Ok(()), |padding| padding.validate(bed, &layout))
}

/// Decodes lines that are in memory: positions by `index`, all lines.
pub fn decode_held<T: Genotype>(
    held: Held<'_>,
    positions: Picks,
    table: CodeTable<T>,
    along: bool,
    out: &mut [T],
) -> Result<()> {
    bounds("position", &positions, 4 * held.stride)?;
    let lines = held.lines.len().checked_div(held.stride).unwrap_or(0);
    let request = Request {
        lines: Picks::all(lines),
        positions,
        table,
    };
    decode(&held, &request, along, out)
}

fn decode<T: Genotype>(
    source: &impl Source,
    request: &Request<T>,
    along: bool,
    out: &mut [T],
) -> Result<()> {
    let expected = request.lines.len() * request.positions.len();
    if expected != out.len() {
        let found = out.len();
        return Err(Error::argument(format!(
            "expected room for {expected} genotypes, got {found}"
        )));
    }
    if along {
        along::read(source, request, out)
    } else {
        across::read(source, request, out)
    }
}

fn bounds(name: &str, picks: &Picks, count: usize) -> Result<()> {
    let last = picks.hull().end;
    if last <= count {
        return Ok(());
    }
    Err(Error::OutOfRange {
        message: format!("{name} {} is out of bounds: there are {count}", last - 1),
    })
}
