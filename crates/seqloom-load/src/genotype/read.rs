//! Reads the genotypes of selected individuals and variants as numbers.

use seqloom_core::{Error, Result, interrupt::CancelToken};
use seqloom_encode::genotype::{CodeTable, Genotype};
use seqloom_plink::{Bed, BedLayout, Major, padding::PaddingCheck};

use super::indices::LineRequest;
use super::source::{BedSource, LineSource, MemorySource};
use super::{Indices, by_row, transposed};

/// The memory layout of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOrder {
    /// The individuals of a variant are contiguous.
    Variants,
    /// The variants of an individual are contiguous.
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
    pub individuals: Indices,
    /// The variants to read.
    pub variants: Indices,
    /// The decoded value of each code.
    pub table: CodeTable<T>,
    /// The memory layout of the result.
    pub order: MatrixOrder,
    /// If true, the padding of rows and the end of a whole file are validated (see
    /// [`seqloom_plink::padding`]).
    pub check: bool,
}

/// Reads the selected individuals and variants into `out`, in the threads of the current
/// pool. Compares the length of the file with its layout before and after the read.
pub fn read_genotypes<T: Genotype>(request: GenotypeRequest<'_, T>, out: &mut [T]) -> Result<()> {
    let (bed, layout) = (request.bed, request.layout);
    check_indices("individual", &request.individuals, layout.individuals)?;
    check_indices("variant", &request.variants, layout.variants)?;
    let (lines, positions) = match layout.major {
        Major::Variant => (request.variants, request.individuals),
        Major::Individual => (request.individuals, request.variants),
    };
    let source = BedSource {
        bed,
        layout,
        padding: request.check.then(PaddingCheck::default),
        stop: Some(CancelToken::current()),
    };
    let along = (request.order == MatrixOrder::Variants) == (layout.major == Major::Variant);
    let table = request.table;
    let request = LineRequest {
        lines,
        positions,
        table,
    };
    decode_request(&source, &request, along, out)?;
    bed.check_size(&layout)?;
    source
        .padding
        .map_or(Ok(()), |padding| padding.validate(bed, &layout))
}

/// Decodes selected positions of all rows in memory.
pub fn decode_memory<T: Genotype>(
    source: MemorySource<'_>,
    positions: Indices,
    table: CodeTable<T>,
    along: bool,
    out: &mut [T],
) -> Result<()> {
    check_indices("position", &positions, 4 * source.stride)?;
    let lines = source.lines.len().checked_div(source.stride).unwrap_or(0);
    let request = LineRequest {
        lines: Indices::all_of(lines),
        positions,
        table,
    };
    decode_request(&source, &request, along, out)
}

fn decode_request<T: Genotype>(
    source: &impl LineSource,
    request: &LineRequest<T>,
    along: bool,
    out: &mut [T],
) -> Result<()> {
    let expected = request.lines.len() * request.positions.len();
    if expected != out.len() {
        let found = out.len();
        return Err(Error::argument(format!(
            "expected space for {expected} genotypes, got {found}"
        )));
    }
    if along {
        by_row::read_rows(source, request, out)
    } else {
        transposed::read_transposed(source, request, out)
    }
}

fn check_indices(name: &str, picks: &Indices, count: usize) -> Result<()> {
    let last = picks.bounds().end;
    if last <= count {
        return Ok(());
    }
    Err(Error::OutOfRange {
        message: format!("{name} {} is out of bounds: there are {count}", last - 1),
    })
}

#[cfg(test)]
mod tests;
