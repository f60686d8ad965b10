//! Appends the text of records to the columns of a batch.

use memchr::memchr;
use seqloom_core::error::{Error, Fault, Result};

use crate::columns::VariantColumns;
use crate::fields::{Field, FieldColumn};
use crate::header::{Header, Kind};
use crate::region::{Regions, is_in_region};
use crate::report::{VariantReport, shorten};
use crate::samples::{SampleChoice, SampleReader, choose_samples};
use crate::vcf::{FixedColumns, RecordContext, push_fixed};

/// The state of reading that the records of a file share.
pub(crate) struct RecordParser {
    pub(crate) header: Header,
    pub(crate) context: RecordContext,
    pub(crate) fields: Vec<Field>,
    pub(crate) has_info: bool,
    /// `None` if no samples are read.
    pub(crate) samples: Option<SampleReader>,
    /// `None` if the whole file is read.
    pub(crate) regions: Option<Regions>,
    /// True for each requested INFO field that the current record has.
    pub(crate) is_read: Vec<bool>,
    /// Text that is made from the values of a BCF record.
    pub(crate) text: [Vec<u8>; 2],
}

impl RecordParser {
    pub(crate) fn new(
        (header, report): (Header, VariantReport),
        (samples, fields): (&SampleChoice, &[String]),
    ) -> Result<Self> {
        let resolve = |name: &String| Field::resolve(name, &header);
        let fields: Vec<Field> = fields.iter().map(resolve).collect::<Result<_>>()?;
        let samples = choose_samples(samples, &header)?;
        if samples.is_none() && fields.iter().any(|field| field.is_format) {
            let message = "fields: FORMAT fields belong to samples; pass samples=True or a list";
            return Err(Error::argument(message));
        }
        Ok(Self {
            context: RecordContext::new(&header, report),
            has_info: fields.iter().any(|field| !field.is_format),
            header,
            fields,
            samples,
            regions: None,
            is_read: Vec::new(),
            text: Default::default(),
        })
    }

    /// Appends the text of a record. Returns false if no region contains the record.
    #[inline]
    pub(crate) fn push_text(
        &mut self,
        text: &[u8],
        line: u64,
        columns: &mut VariantColumns,
    ) -> std::result::Result<bool, Fault> {
        let fixed = FixedColumns::split(text)?;
        if let Some(regions) = &self.regions
            && !is_in_region(&fixed, regions)?
        {
            return Ok(false);
        }
        let pushed = self.push_columns(&fixed, line, columns);
        let position = (fixed.chrom, fixed.position);
        pushed
            .map_err(|fault| self.locate(fault, position))
            .map(|()| true)
    }

    #[inline]
    fn push_columns(
        &mut self,
        fixed: &FixedColumns<'_>,
        line: u64,
        columns: &mut VariantColumns,
    ) -> std::result::Result<(), Fault> {
        let alternatives = fixed.count_alternatives();
        if self.has_info {
            push_info(
                (fixed.info, alternatives, line),
                (&self.fields, &mut columns.fields),
                (&mut self.is_read, &mut self.context.report),
            )?;
        }
        if let Some(samples) = &mut self.samples {
            samples.push_samples(
                (fixed.samples.unwrap_or_default(), alternatives, line),
                &self.fields,
                (columns, &mut self.context.report),
            )?;
        }
        push_fixed(fixed, line, (&self.header, &mut self.context, columns))
    }

    /// Adds the contig and the position to the fault of a record whose place in the file is
    /// unknown.
    pub(crate) fn locate(&self, fault: Fault, (chrom, position): (&[u8], &[u8])) -> Fault {
        if self.regions.is_none() {
            return fault;
        }
        let (chrom, position) = (shorten(chrom), shorten(position));
        Fault {
            message: format!("{chrom}:{position}: {}", fault.message),
            ..fault
        }
    }

    /// Removes the values of a record that could not be read.
    pub(crate) fn cancel_record(&self, columns: &mut VariantColumns) {
        let samples = self.samples.as_ref().map_or(0, |it| it.selected.len());
        columns.cancel_record(&self.fields, samples);
    }
}

/// Appends the INFO fields of a record to their columns.
fn push_info(
    (info, alternatives, line): (&[u8], usize, u64),
    (fields, columns): (&[Field], &mut [FieldColumn]),
    (is_read, report): (&mut Vec<bool>, &mut VariantReport),
) -> std::result::Result<(), Fault> {
    is_read.clear();
    is_read.resize(fields.len(), false);
    for entry in info.split(|byte| *byte == b';') {
        let (key, value) = match memchr(b'=', entry) {
            Some(at) => (entry.get(..at).unwrap_or_default(), entry.get(at + 1..)),
            None => (entry, None),
        };
        let mut targets = fields
            .iter()
            .zip(columns.iter_mut())
            .zip(is_read.iter_mut());
        let target = targets.find(|((field, _), _)| !field.is_format && field.name == key);
        let Some(((field, column), is_read)) = target else {
            continue;
        };
        if std::mem::replace(is_read, true) {
            report.count("repeated_info", line, key);
            continue;
        }
        field.check_declared(line, report);
        if value.is_none() && field.kind != Kind::Flag {
            report.count("info_without_value", line, key);
        }
        if let Some(count) = column.push_text(value.unwrap_or(b"."), field)? {
            field.check_count(count, alternatives, (line, report));
        }
    }
    push_missing_info(fields, columns, is_read);
    Ok(())
}

/// Appends a missing value to the columns of the INFO fields that a record lacks.
pub(crate) fn push_missing_info(fields: &[Field], columns: &mut [FieldColumn], is_read: &[bool]) {
    let rest = fields.iter().zip(columns).zip(is_read);
    for ((_, column), _) in rest.filter(|((field, _), is_read)| !(field.is_format || **is_read)) {
        column.push_missing();
    }
}
