//! Genotypes of some individuals and variants, as numbers.

use seqloom_core::interrupt::Stop;
use seqloom_core::{Error, Result};
use seqloom_encode::genotype::{CodeTable, Genotype};
use seqloom_plink::padding::PaddingCheck;
use seqloom_plink::{Bed, BedLayout, Major};

use super::picks::LineRequest;
use super::source::{BedSource, LineSource, MemorySource};
use super::{Picks, across, along};

/// The memory layout of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOrder {
    /// All individuals of a variant together.
    Variants,
    /// All variants of an individual together.
    Individuals,
}

/// The genotypes to read from a file.
#[derive(Clone, Debug)]
pub struct GenotypeRequest<'a, T> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// The individuals to read.
    pub individuals: Picks,
    /// The variants to read.
    pub variants: Picks,
    /// The value of each code.
    pub table: CodeTable<T>,
    /// The memory layout of the result.
    pub order: MatrixOrder,
    /// Whether to validate the padding of lines, and the last positions of a whole file (see
    /// [`seqloom_plink::padding`]).
    pub check: bool,
}

/// Reads some individuals and variants of a file into `out`, with the threads of the current
/// pool. Compares the file's length with the layout before and after.
pub fn read<T: Genotype>(request: GenotypeRequest<'_, T>, out: &mut [T]) -> Result<()> {
    let (bed, layout) = (request.bed, request.layout);
    bounds("individual", &request.individuals, layout.individuals)?;
    bounds("variant", &request.variants, layout.variants)?;
    let (lines, positions) = match layout.major {
        Major::Variant => (request.variants, request.individuals),
        Major::Individual => (request.individuals, request.variants),
    };
    let source = BedSource {
        bed,
        layout,
        padding: request.check.then(PaddingCheck::default),
        stop: Some(Stop::current()),
    };
    let along = (request.order == MatrixOrder::Variants) == (layout.major == Major::Variant);
    let table = request.table;
    let request = LineRequest {
        lines,
        positions,
        table,
    };
    decode(&source, &request, along, out)?;
    bed.measure(&layout)?;
    source
        .padding
        .map_or(Ok(()), |padding| padding.validate(bed, &layout))
}

/// Decodes some positions of all lines that are in memory.
pub fn decode_memory<T: Genotype>(
    source: MemorySource<'_>,
    positions: Picks,
    table: CodeTable<T>,
    along: bool,
    out: &mut [T],
) -> Result<()> {
    bounds("position", &positions, 4 * source.stride)?;
    let lines = source.lines.len().checked_div(source.stride).unwrap_or(0);
    let request = LineRequest {
        lines: Picks::all(lines),
        positions,
        table,
    };
    decode(&source, &request, along, out)
}

fn decode<T: Genotype>(
    source: &impl LineSource,
    request: &LineRequest<T>,
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
