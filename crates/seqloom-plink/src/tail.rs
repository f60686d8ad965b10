//! What the last byte of each line tells about the tables.
//!
//! A `.fam` that is too short by less than a byte leaves genotypes in the bits that should
//! fill a line up; one that is too long takes those zeros for homozygous A1. (Where lines are
//! individuals, the same is true of the `.bim`.) Some tools fill lines up with another code than
//! 0: one code in all lines is no genotypes, and is noted. Last positions that are homozygous A1
//! everywhere may be true ones, and are noted too: only what varies is an error.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use seqloom_core::error::{Fault, Kind};
use seqloom_core::{Error, Result};

use super::{Bed, Layout, Major};

/// So many lines must agree before positions that are all homozygous A1 are taken for padding.
const LINES: usize = 64;

/// So many lines must be filled up with one code before it is taken for padding.
const FILLED: usize = 8;

/// What has been seen of the last bytes, by any number of threads.
#[derive(Debug)]
pub struct Tail {
    /// All of them, or-ed.
    seen: AtomicU8,
    /// All of them, and-ed.
    shared: AtomicU8,
    lines: AtomicUsize,
    /// The first line that is not filled up with 0.
    odd: AtomicUsize,
}

impl Default for Tail {
    fn default() -> Self {
        Self {
            seen: 0.into(),
            shared: u8::MAX.into(),
            lines: 0.into(),
            odd: usize::MAX.into(),
        }
    }
}

impl Tail {
    /// Looks at whole lines that lie end to end; the first is line `first` of the file.
    pub fn look(&self, bed: &Bed, layout: &Layout, first: usize, lines: &[u8]) -> Result<()> {
        let stride = layout.stride();
        let Some(last) = stride.checked_sub(1) else {
            return Ok(());
        };
        let last = lines.get(last..).unwrap_or_default().iter().step_by(stride);
        let (seen, shared) = last.clone().fold((0, u8::MAX), |(seen, shared), byte| {
            (seen | byte, shared & byte)
        });
        self.seen.fetch_or(seen, Relaxed);
        self.shared.fetch_and(shared, Relaxed);
        self.lines.fetch_add(last.len(), Relaxed);
        let padding = layout.padding();
        if seen & padding == 0 {
            return Ok(());
        }
        let odd = first + last.take_while(|byte| *byte & padding == 0).count();
        self.odd.fetch_min(odd, Relaxed);
        if is_filler(seen, shared, padding) {
            return Ok(());
        }
        Err(padded(bed, layout, odd))
    }

    /// Judges what fills lines up, and the last positions if all lines were looked at.
    pub fn judge(&self, bed: &Bed, layout: &Layout) -> Result<()> {
        let odd = self.odd.load(Relaxed);
        let is_whole = self.lines.load(Relaxed) >= layout.lines();
        if odd < usize::MAX && !bed.is_filled() {
            return if is_whole {
                self.judge_filler(bed, layout, odd)
            } else {
                check(bed, layout)
            };
        }
        if is_whole {
            self.judge_last(bed, layout);
        }
        Ok(())
    }

    /// Says that lines are filled up with one code, or that it is not one.
    fn judge_filler(&self, bed: &Bed, layout: &Layout, odd: usize) -> Result<()> {
        let (seen, shared) = (self.seen.load(Relaxed), self.shared.load(Relaxed));
        let is_known = self.lines.load(Relaxed) >= FILLED;
        if !is_known || !is_filler(seen, shared, layout.padding()) {
            return Err(padded(bed, layout, odd));
        }
        bed.note_filler(filled(layout, seen >> 6));
        Ok(())
    }

    /// Notes last positions that are homozygous A1 in many lines, and in all.
    fn judge_last(&self, bed: &Bed, layout: &Layout) {
        let Some(last) = layout.positions().checked_sub(1) else {
            return;
        };
        let seen = self.seen.load(Relaxed);
        let empty = |position: &usize| (seen >> (2 * position)).is_multiple_of(4);
        let count = (1..=last % 4).rev().take_while(empty).count();
        if count > 0 && layout.lines() >= LINES && seen & layout.padding() == 0 {
            bed.note(phantom(layout, count));
        }
    }
}

/// Whether all padding is one code other than 0 in all lines.
const fn is_filler(seen: u8, shared: u8, padding: u8) -> bool {
    let code = (seen >> 6) * 0b0101_0101;
    seen & padding == shared & padding && seen & padding == code & padding
}

/// Looks at the last byte of each line, and reads no other.
pub fn check(bed: &Bed, layout: &Layout) -> Result<()> {
    let Some(last) = layout.stride().checked_sub(1) else {
        return Ok(());
    };
    let narrow = Layout {
        individuals: layout.positions() - 4 * last,
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

/// What lines and positions are called, and the table of the positions.
fn names(layout: &Layout) -> (&'static str, &'static str, &'static str) {
    match layout.major {
        Major::Variant => ("variant", "individuals", ".fam"),
        Major::Individual => ("individual", "variants", ".bim"),
    }
}

const HINT: &str = "skip_format_check=True (--skip-format-check) reads all the same";

fn padded(bed: &Bed, layout: &Layout, line: usize) -> Error {
    let (one, many, table) = names(layout);
    let positions = layout.positions();
    let message = format!(
        "expected nothing behind the last of {positions} {many}, found genotypes there in {one} {line}: \
         the {table} is too short, or belongs to another file ({HINT})"
    );
    bed.fault(Fault {
        kind: Kind::Count,
        record: Some(line as u64),
        byte: Some(layout.start(line + 1) - 1),
        message,
        ..Fault::default()
    })
}

fn filled(layout: &Layout, code: u8) -> String {
    let (one, many, table) = names(layout);
    format!(
        "behind the last of {} {many} the bits are {code:02b} in every {one}, where PLINK writes 00; \
         they are left out: some tools write them so, but if the {table} is too short, {many} are \
         missing ({HINT}, without this warning)",
        layout.positions()
    )
}

fn phantom(layout: &Layout, count: usize) -> String {
    let (one, many, table) = names(layout);
    format!(
        "the last {count} of {} {many} are homozygous A1 in every one of {} {one}s, as the bits are \
         that fill a line up: look whether the {table} is too long, or belongs to another file \
         ({HINT}, without this warning)",
        layout.positions(),
        layout.lines()
    )
}
