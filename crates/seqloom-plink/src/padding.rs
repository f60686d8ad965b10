//! Checks the last byte of each row to detect a table that does not belong to the file.
//!
//! If a `.fam` lacks one to three individuals, the padding bits of rows may contain
//! genotypes. If the `.fam` has too many individuals, padding zeros are read as
//! homozygous A1. (If each row is an individual, the number of variants in the `.bim`
//! is checked in the same way.) Some tools pad rows with a code other than 0; the same
//! code in all rows therefore causes only a warning. Last genotypes that are homozygous
//! A1 in all rows also cause only a warning, because these genotypes may be correct.
//! Padding that varies between rows is an error.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use seqloom_core::error::{Fault, FaultKind};
use seqloom_core::{Error, Result};

use super::{Bed, BedLayout, Major};

/// The minimum number of rows for a warning that the last genotypes of all rows are
/// homozygous A1.
const MIN_ZERO_ROWS: usize = 64;

/// The minimum number of rows with the same padding code for a warning; in fewer rows,
/// equal codes may be genotypes.
const MIN_FILLER_ROWS: usize = 8;

/// A summary of the last bytes of all rows that the threads have read.
#[derive(Debug)]
pub struct PaddingCheck {
    /// The bitwise OR of the last bytes of the rows.
    any_bits: AtomicU8,
    /// The bitwise AND of the last bytes of the rows.
    all_bits: AtomicU8,
    lines: AtomicUsize,
    /// The first row whose padding is not 0.
    odd: AtomicUsize,
}

impl Default for PaddingCheck {
    fn default() -> Self {
        Self {
            any_bits: 0.into(),
            all_bits: u8::MAX.into(),
            lines: 0.into(),
            odd: usize::MAX.into(),
        }
    }
}

impl PaddingCheck {
    /// Adds consecutive whole rows, from row `first` of the file.
    pub fn add_lines(
        &self,
        bed: &Bed,
        layout: &BedLayout,
        first: usize,
        lines: &[u8],
    ) -> Result<()> {
        let stride = layout.row_bytes();
        let Some(last) = stride.checked_sub(1) else {
            return Ok(());
        };
        let last = lines.get(last..).unwrap_or_default().iter().step_by(stride);
        let (any_bits, all_bits) = last
            .clone()
            .fold((0, u8::MAX), |(any_bits, all_bits), byte| {
                (any_bits | byte, all_bits & byte)
            });
        self.any_bits.fetch_or(any_bits, Relaxed);
        self.all_bits.fetch_and(all_bits, Relaxed);
        self.lines.fetch_add(last.len(), Relaxed);
        let padding = layout.padding_mask();
        if any_bits & padding == 0 {
            return Ok(());
        }
        let odd = first + last.take_while(|byte| *byte & padding == 0).count();
        self.odd.fetch_min(odd, Relaxed);
        if is_filler(any_bits, all_bits, padding) {
            return Ok(());
        }
        Err(padding_error(bed, layout, odd))
    }

    /// Validates the padding, and the last genotypes of each row if all rows were
    /// added.
    pub fn validate(&self, bed: &Bed, layout: &BedLayout) -> Result<()> {
        let odd = self.odd.load(Relaxed);
        let is_whole = self.lines.load(Relaxed) >= layout.lines();
        if odd < usize::MAX && !bed.has_filler_padding() {
            return if is_whole {
                self.validate_filler(bed, layout, odd)
            } else {
                check_padding(bed, layout)
            };
        }
        if is_whole {
            self.warn_about_zero_positions(bed, layout);
        }
        Ok(())
    }

    /// Warns if rows are padded with one code other than 0; padding that varies is an
    /// error.
    fn validate_filler(&self, bed: &Bed, layout: &BedLayout, odd: usize) -> Result<()> {
        let (any_bits, all_bits) = (self.any_bits.load(Relaxed), self.all_bits.load(Relaxed));
        let is_known = self.lines.load(Relaxed) >= MIN_FILLER_ROWS;
        if !is_known || !is_filler(any_bits, all_bits, layout.padding_mask()) {
            return Err(padding_error(bed, layout, odd));
        }
        bed.set_filler_warning(filler_warning(layout, any_bits >> 6));
        Ok(())
    }

    /// Warns if the last genotypes are homozygous A1 in all of at least `MIN_ZERO_ROWS`
    /// rows.
    fn warn_about_zero_positions(&self, bed: &Bed, layout: &BedLayout) {
        let Some(last) = layout.row_genotypes().checked_sub(1) else {
            return;
        };
        let any_bits = self.any_bits.load(Relaxed);
        let empty = |position: &usize| (any_bits >> (2 * position)).is_multiple_of(4);
        let count = (1..=last % 4).rev().take_while(empty).count();
        if count > 0 && layout.lines() >= MIN_ZERO_ROWS && any_bits & layout.padding_mask() == 0 {
            bed.set_warning(zero_positions_warning(layout, count));
        }
    }
}

/// Returns whether the padding of all rows is the same code.
const fn is_filler(any_bits: u8, all_bits: u8, padding: u8) -> bool {
    let code = (any_bits >> 6) * 0b0101_0101;
    any_bits & padding == all_bits & padding && any_bits & padding == code & padding
}

/// Checks the last byte of each row, and reads no other bytes.
pub fn check_padding(bed: &Bed, layout: &BedLayout) -> Result<()> {
    let Some(last) = layout.row_bytes().checked_sub(1) else {
        return Ok(());
    };
    let narrow = BedLayout {
        individuals: layout.row_genotypes() - 4 * last,
        variants: layout.lines(),
        major: Major::Variant,
    };
    let padding = PaddingCheck::default();
    for line in 0..layout.lines() {
        let mut byte = [0];
        bed.read_at(layout.row_offset(line) + last as u64, &mut byte)?;
        padding
            .add_lines(bed, &narrow, line, &byte)
            .map_err(|_| padding_error(bed, layout, line))?;
    }
    padding.validate(bed, layout)
}

/// Returns the names of a row and its columns in messages, and the table that lists the
/// columns.
fn row_nouns(layout: &BedLayout) -> (&'static str, &'static str, &'static str) {
    match layout.major {
        Major::Variant => ("variant", "individuals", ".fam"),
        Major::Individual => ("individual", "variants", ".bim"),
    }
}

const SKIP_HINT: &str = "skip_format_check=True (--skip-format-check) skips this check";

fn padding_error(bed: &Bed, layout: &BedLayout, line: usize) -> Error {
    let (one, many, table) = row_nouns(layout);
    let positions = layout.row_genotypes();
    let message = format!(
        "expected zeros after the last of {positions} {many}, found genotypes there in {one} {line}: \
         the {table} is too short, or belongs to another file ({SKIP_HINT})"
    );
    bed.to_error(Fault {
        kind: FaultKind::Count,
        record: Some(line as u64),
        byte: Some(layout.row_offset(line + 1) - 1),
        message,
        ..Fault::default()
    })
}

fn filler_warning(layout: &BedLayout, code: u8) -> String {
    let (one, many, table) = row_nouns(layout);
    format!(
        "after the last of {} {many} the bits are {code:02b} in every {one}, where PLINK writes 00; \
         they are ignored: some tools write them, but if the {table} is too short, {many} are \
         missing ({SKIP_HINT})",
        layout.row_genotypes()
    )
}

fn zero_positions_warning(layout: &BedLayout, count: usize) -> String {
    let (one, many, table) = row_nouns(layout);
    format!(
        "the last {count} of {} {many} are homozygous A1 in all {} {one}s, like the padding of a \
         row: check whether the {table} is too long, or belongs to another file ({SKIP_HINT})",
        layout.row_genotypes(),
        layout.lines()
    )
}
