//! Sequences around variants, with the reference or the alternative allele.

use seqloom_core::{Error, Result};

use crate::check::to_i64;
use crate::genome::Genome;
use crate::normalise::Records;

/// The first position of each row that is not masked, and the position after the last one.
pub type Limits<'a> = Option<(&'a [i64], &'a [i64])>;

/// The position and size of windows.
#[derive(Clone, Copy)]
pub struct WindowOptions {
    /// The number of bases before the variant's position in the reference window.
    pub left: i64,
    /// The number of bases of the reference window.
    pub width: i64,
    /// The number of bases of each row of the result.
    pub columns: usize,
    /// True if the alternative windows end where the reference windows end.
    pub is_right_anchored: bool,
    /// True for the alternative windows.
    pub is_alternative: bool,
}

/// Fills `out` with one row for each variant, in upper case. Each record has one ALT, and
/// its alleles are in normal form. Bases outside the contig or the limits are N.
pub fn fill_windows(
    genome: &mut Genome<'_>,
    records: Records<'_>,
    limits: Limits<'_>,
    options: WindowOptions,
    out: &mut [u8],
) -> Result<()> {
    records.check_sizes()?;
    let count = records.contigs.len();
    let fits = limits.is_none_or(|(lower, upper)| (lower.len(), upper.len()) == (count, count));
    if !fits || count.checked_mul(options.columns) != Some(out.len()) {
        return Err(Error::argument(format!(
            "limits and out must have {count} rows, one for each variant"
        )));
    }
    let columns = options.columns.max(1);
    for (row, letters) in out.chunks_exact_mut(columns).enumerate() {
        let variant = Variant::at(records, limits, row);
        if options.is_alternative {
            fill_alternative(genome, variant, options, letters)?;
        } else {
            let start = variant.start.saturating_sub(options.left);
            variant.copy_genome(genome, start, letters)?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Variant<'a> {
    contig: i32,
    start: i64,
    reference: &'a [u8],
    alternative: &'a [u8],
    limits: (i64, i64),
}

impl<'a> Variant<'a> {
    fn at(records: Records<'a>, limits: Limits<'_>, row: usize) -> Self {
        let position = |column: &[i64], default| column.get(row).copied().unwrap_or(default);
        let limits = limits.map_or((0, i64::MAX), |(lower, upper)| {
            (position(lower, 0), position(upper, i64::MAX))
        });
        Self {
            contig: records.contigs.get(row).copied().unwrap_or(-1),
            start: position(records.starts, 0),
            reference: records.references.get(row),
            alternative: records.alternatives.get(row),
            limits,
        }
    }

    /// Fills `out` with the genome from `start`; N outside the contig and the limits.
    fn copy_genome(&self, genome: &mut Genome<'_>, start: i64, out: &mut [u8]) -> Result<()> {
        out.fill(b'N');
        let length = genome.length(self.contig).unwrap_or(0);
        let stop = start.saturating_add(to_i64(out.len()));
        let from = start.max(0).max(self.limits.0);
        let to = stop.min(length).min(self.limits.1);
        if from >= to {
            return Ok(());
        }
        let column = usize::try_from(from - start).unwrap_or(usize::MAX);
        let found = genome.residues(self.contig, from, to)?.unwrap_or_default();
        for (column, letter) in out.iter_mut().skip(column).zip(found) {
            *column = letter.to_ascii_uppercase();
        }
        Ok(())
    }
}

/// Fills `out` with the bases before the site, the inserted bases, and the bases after the
/// site. The site `site..stop` is the part of REF that differs from ALT. A window that is
/// anchored at its right end may begin within the inserted bases or after them.
fn fill_alternative(
    genome: &mut Genome<'_>,
    variant: Variant<'_>,
    options: WindowOptions,
    out: &mut [u8],
) -> Result<()> {
    let pairs = variant.reference.iter().zip(variant.alternative);
    let common = pairs.take_while(|(a, b)| a == b).count();
    let inserted = variant.alternative.get(common..).unwrap_or_default();
    let site = variant.start.saturating_add(to_i64(common));
    let size = to_i64(inserted.len());
    let stop = variant
        .start
        .saturating_add(to_i64(variant.reference.len()));
    let mut first = variant.start.saturating_sub(options.left);
    if options.is_right_anchored {
        let end = first + options.width + size - (stop - site);
        first = end.max(site + size) - to_i64(out.len());
    }
    let (before, rest) = split_at(out, site - first);
    variant.copy_genome(genome, first, before)?;
    let skipped = (first - site).max(0);
    let (allele, after) = split_at(rest, size - skipped);
    let offset = usize::try_from(skipped).unwrap_or(usize::MAX);
    for (letter, (base, position)) in allele
        .iter_mut()
        .zip(inserted.iter().zip(site..).skip(offset))
    {
        // Inserted bases beyond REF belong to its last base.
        let position = position.min(stop - 1);
        let is_masked = position < variant.limits.0 || position >= variant.limits.1;
        *letter = if is_masked {
            b'N'
        } else {
            base.to_ascii_uppercase()
        };
    }
    // If the window begins after the inserted bases, it begins the same number of
    // bases after `stop`.
    let position = stop + (skipped - size).max(0);
    variant.copy_genome(genome, position, after)
}

/// Splits a slice at a position that may be outside of it.
fn split_at(letters: &mut [u8], position: i64) -> (&mut [u8], &mut [u8]) {
    let position = usize::try_from(position.max(0)).unwrap_or(usize::MAX);
    letters.split_at_mut(position.min(letters.len()))
}
