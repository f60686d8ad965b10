//! Records in the text of a VCF file.

use std::collections::HashMap;

use memchr::{memchr, memchr_iter};
use seqloom_core::error::{Fault, FaultKind};

use crate::columns::VariantColumns;
use crate::header::Header;
use crate::numbers::{parse_float, parse_position};
use crate::report::{VariantReport, shorten};

/// The fixed columns of a record.
#[derive(Clone, Copy, Default)]
pub(crate) struct FixedColumns<'a> {
    pub(crate) chrom: &'a [u8],
    pub(crate) position: &'a [u8],
    pub(crate) id: &'a [u8],
    pub(crate) reference: &'a [u8],
    pub(crate) alternatives: &'a [u8],
    pub(crate) quality: &'a [u8],
    pub(crate) filter: &'a [u8],
    pub(crate) info: &'a [u8],
    /// FORMAT and the samples; `None` if the record has 8 columns.
    pub(crate) samples: Option<&'a [u8]>,
}

/// The number of columns that every record has.
const FIXED_COLUMNS: usize = 8;

impl<'a> FixedColumns<'a> {
    /// Splits a line without its line end.
    #[inline]
    pub(crate) fn split(line: &'a [u8]) -> Result<Self, Fault> {
        let mut parts: [&[u8]; FIXED_COLUMNS] = [b""; FIXED_COLUMNS];
        let (mut rest, mut count) = (Some(line), 0);
        for part in &mut parts {
            let Some(text) = rest else {
                return Err(too_few_columns(line, count));
            };
            (*part, rest) = match memchr(b'\t', text) {
                Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
                None => (text, None),
            };
            count += 1;
        }
        let [
            chrom,
            position,
            id,
            reference,
            alternatives,
            quality,
            filter,
            info,
        ] = parts;
        Ok(Self {
            chrom,
            position,
            id,
            reference,
            alternatives,
            quality,
            filter,
            info,
            samples: rest,
        })
    }

    /// The number of alternative alleles.
    pub(crate) fn count_alternatives(&self) -> usize {
        match self.alternatives {
            b"." => 0,
            text => memchr_iter(b',', text).count() + 1,
        }
    }
}

fn too_few_columns(line: &[u8], count: usize) -> Fault {
    let hint = if count == 1 && memchr_iter(b' ', line).count() >= 7 {
        "; the columns are separated by spaces: replace the spaces by tabs"
    } else {
        "; the file may be truncated"
    };
    Fault::of_file(format!(
        "expected at least {FIXED_COLUMNS} columns separated by tabs, found {count}{hint}"
    ))
}

/// The names of chromosomes, and their numbers.
#[derive(Debug, Default)]
pub(crate) struct ChromNames {
    /// The names: first those of the header, then undeclared ones.
    pub(crate) names: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, i32>,
    /// The name and number of the last record, whose chromosome is usually that of the next.
    last: (Vec<u8>, i32),
}

impl ChromNames {
    pub(crate) fn new(header: &Header) -> Self {
        let names: Vec<Vec<u8>> = header.contigs.iter().map(|it| it.name.clone()).collect();
        let numbered = names.iter().cloned().zip(0_i32..);
        Self {
            numbers: numbered.collect(),
            names,
            last: (Vec::new(), -1),
        }
    }

    /// Returns the number of a name, and true if the name is new.
    #[inline]
    fn number(&mut self, name: &[u8]) -> (i32, bool) {
        if self.last.1 >= 0 && self.last.0 == name {
            return (self.last.1, false);
        }
        let known = self.numbers.get(name).copied();
        let number = known.unwrap_or_else(|| {
            let number = i32::try_from(self.names.len()).unwrap_or(i32::MAX);
            self.names.push(name.to_vec());
            self.numbers.insert(name.to_vec(), number);
            number
        });
        self.last = (name.to_vec(), number);
        (number, known.is_none())
    }
}

/// The state that the records of a file share.
#[derive(Debug, Default)]
pub(crate) struct RecordContext {
    pub(crate) chroms: ChromNames,
    pub(crate) report: VariantReport,
    /// The number of contigs in the header. Undeclared names have numbers from this one.
    declared: usize,
    /// The last FILTER column whose names were all declared; it is not checked again.
    last_filter: Vec<u8>,
}

impl RecordContext {
    pub(crate) fn new(header: &Header, report: VariantReport) -> Self {
        Self {
            chroms: ChromNames::new(header),
            report,
            declared: header.contigs.len(),
            last_filter: Vec::new(),
        }
    }

    /// Returns the number of a chromosome; reports it if the header does not declare it.
    pub(crate) fn chrom_number(&mut self, name: &[u8], line: u64) -> i32 {
        let (number, _) = self.chroms.number(name);
        if usize::try_from(number).is_ok_and(|number| number >= self.declared) {
            self.report.count("undeclared_contig", line, name);
        }
        number
    }

    fn check_filter(&mut self, filter: &[u8], header: &Header, line: u64) {
        if filter == self.last_filter || filter == b"PASS" || filter == b"." {
            return;
        }
        let mut is_declared = true;
        for name in filter.split(|byte| *byte == b';') {
            if name != b"PASS" && !header.filters.iter().any(|known| known == name) {
                self.report.count("undeclared_filter", line, name);
                is_declared = false;
            }
        }
        if is_declared {
            filter.clone_into(&mut self.last_filter);
        }
    }
}

/// Removes the carriage return of a Windows line end, and reports it.
pub(crate) fn strip_return<'a>(
    line: &'a [u8],
    number: u64,
    report: &mut VariantReport,
) -> &'a [u8] {
    match line.strip_suffix(b"\r") {
        Some(text) => {
            report.count("windows_line_end", number, b"");
            text
        }
        None => line,
    }
}

/// Parses POS and QUAL, and appends the fixed columns of a record.
#[inline]
pub(crate) fn push_fixed(
    fixed: &FixedColumns<'_>,
    line: u64,
    (header, context, columns): (&Header, &mut RecordContext, &mut VariantColumns),
) -> Result<(), Fault> {
    let Some(position) = parse_position(fixed.position) else {
        return Err(value_fault(
            "POS",
            "an integer of at least 0",
            fixed.position,
        ));
    };
    let quality = match fixed.quality {
        b"." => f32::NAN,
        text => parse_float(text).ok_or_else(|| value_fault("QUAL", "a number or .", text))?,
    };
    push_values(
        fixed,
        (position - 1, quality),
        line,
        (header, context, columns),
    )
}

/// Appends the fixed columns of a record, with POS and QUAL as numbers.
#[inline]
pub(crate) fn push_values(
    fixed: &FixedColumns<'_>,
    (start, quality): (i64, f32),
    line: u64,
    (header, context, columns): (&Header, &mut RecordContext, &mut VariantColumns),
) -> Result<(), Fault> {
    for (name, text) in [
        ("CHROM", fixed.chrom),
        ("REF", fixed.reference),
        ("ALT", fixed.alternatives),
    ] {
        if text.is_empty() {
            return Err(Fault::of_file(format!(
                "{name} is empty; a missing value is ."
            )));
        }
    }
    count_oddities(fixed, (start, quality), line, &mut context.report);
    context.check_filter(fixed.filter, header, line);
    columns.chroms.push(context.chrom_number(fixed.chrom, line));
    columns.starts.push(start);
    columns.ids.push(fixed.id);
    columns.refs.push(fixed.reference);
    columns.alts.push(fixed.alternatives);
    columns.qualities.push(quality);
    columns.filters.push(fixed.filter);
    columns.lines.push(i64::try_from(line).unwrap_or(i64::MAX));
    Ok(())
}

#[inline]
fn count_oddities(
    fixed: &FixedColumns<'_>,
    (start, quality): (i64, f32),
    line: u64,
    report: &mut VariantReport,
) {
    if start < 0 {
        report.count("position_zero", line, fixed.chrom);
    }
    if quality.is_infinite() {
        report.count("infinite_quality", line, fixed.quality);
    }
    if fixed.reference.iter().any(u8::is_ascii_lowercase) {
        report.count("lower_case_reference", line, fixed.reference);
    }
    if fixed.info.is_empty() {
        report.count("empty_info", line, b"");
    }
}

/// Returns the error for a value that cannot be parsed.
pub(crate) fn value_fault(name: &str, expected: &str, found: &[u8]) -> Fault {
    Fault {
        kind: FaultKind::Format,
        ..Fault::of_file(format!(
            "{name}: expected {expected}, found {:?}",
            shorten(found)
        ))
    }
}
