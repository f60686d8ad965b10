//! What the last byte of each line tells about the tables.
//!
//! A `.fam` that is too short by less than a byte leaves genotypes in the bits that should
//! fill a line up; one that is too long takes those zeros for homozygous A1. (Where lines are
//! individuals, the same is true of the `.bim`.)

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use seqloom_core::error::{Fault, Kind};
use seqloom_core::{Error, Result};

use super::{Bed, Layout, Major};

/// So many lines must agree before places that are all homozygous A1 are taken for padding.
const LINES: usize = 64;

/// What has been seen of the last bytes, by any number of threads.
#[derive(Debug, Default)]
pub struct Tail {
    /// All of them, or-ed.
    seen: AtomicU8,
    lines: AtomicUsize,
}

impl Tail {
    /// Looks at whole lines that lie end to end; the first is line `first` of the file.
    pub fn look(&self, bed: &Bed, layout: &Layout, first: usize, lines: &[u8]) -> Result<()> {
        let stride = layout.stride();
        let Some(last) = stride.checked_sub(1) else {
            return Ok(());
        };
        let last = lines.get(last..).unwrap_or_default().iter().step_by(stride);
        let seen = last.clone().fold(0, |seen, byte| seen | byte);
        self.seen.fetch_or(seen, Relaxed);
        self.lines.fetch_add(last.len(), Relaxed);
        if seen & layout.padding() == 0 {
            return Ok(());
        }
        let line = last
            .take_while(|byte| *byte & layout.padding() == 0)
            .count();
        Err(padded(bed, layout, first + line))
    }

    /// What two have seen.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            seen: (self.seen.into_inner() | other.seen.into_inner()).into(),
            lines: (self.lines.into_inner() + other.lines.into_inner()).into(),
        }
    }

    /// Judges the last places, if all lines were looked at.
    pub fn judge(&self, bed: &Bed, layout: &Layout) -> Result<()> {
        let Some(last) = layout.places().checked_sub(1) else {
            return Ok(());
        };
        let seen = self.seen.load(Relaxed);
        let empty = |place: &usize| (seen >> (2 * place)).is_multiple_of(4);
        match (1..=last % 4).rev().take_while(empty).count() {
            1.. if self.lines.load(Relaxed) < LINES.max(layout.lines()) => Ok(()),
            0 => Ok(()),
            count => Err(phantom(bed, layout, count)),
        }
    }
}

/// Looks at the last byte of each line, and reads no other.
pub fn check(bed: &Bed, layout: &Layout) -> Result<()> {
    let Some(last) = layout.stride().checked_sub(1) else {
        return Ok(());
    };
    let narrow = Layout {
        individuals: layout.places() - 4 * last,
        variants: layout.lines(),
        major: Major::Variant,
    };
    let tail = Tail::default();
    for line in 0..layout.lines() {
        let mut byte = [0];
        bed.read(layout.start(line) + last as u64, &mut byte)?;
        tail.look(bed, &narrow, line, &byte)
            .map_err(|_| padded(bed, layout, line))?;
    }
    tail.judge(bed, layout)
}

/// What lines and places are called, and the table of the places.
fn names(layout: &Layout) -> (&'static str, &'static str, &'static str) {
    match layout.major {
        Major::Variant => ("variant", "individuals", ".fam"),
        Major::Individual => ("individual", "variants", ".bim"),
    }
}

fn padded(bed: &Bed, layout: &Layout, line: usize) -> Error {
    let (one, many, table) = names(layout);
    let places = layout.places();
    let message = format!(
        "expected nothing behind the last of {places} {many}, found genotypes there in {one} {line}: \
         the {table} is too short, or belongs to another file (skip_format_check=True reads all the same)"
    );
    wrong(bed, layout.start(line + 1) - 1, line, message)
}

fn phantom(bed: &Bed, layout: &Layout, count: usize) -> Error {
    let (one, many, table) = names(layout);
    let lines = layout.lines();
    let message = format!(
        "the last {count} of {} {many} are homozygous A1 in every one of {lines} {one}s, as the bits are \
         that fill a line up: the {table} is too long, or belongs to another file \
         (skip_format_check=True reads all the same)",
        layout.places()
    );
    wrong(bed, layout.start(1) - 1, 0, message)
}

fn wrong(bed: &Bed, byte: u64, line: usize, message: String) -> Error {
    bed.fault(Fault {
        kind: Kind::Count,
        record: Some(line as u64),
        byte: Some(byte),
        message,
        ..Fault::default()
    })
}
