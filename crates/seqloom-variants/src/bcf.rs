//! Records in BCF files (VCF specification, section 6.3).

use seqloom_compression::{ReadError, TextSource};
use seqloom_core::error::{Fault, FaultKind};

use crate::bytes::{ByteReader, replace_end_error};
use crate::columns::VariantColumns;
use crate::fields::Field;
use crate::header::Header;
use crate::record::{RecordParser, push_missing_info};
use crate::region::{other_contig, overlaps};
use crate::report::VariantReport;
use crate::typed::{Cursor, MISSING_FLOAT, TypedValues, ValueType};
use crate::vcf::{FixedColumns, push_values};

/// The first bytes of a BCF file, before its minor version.
const MAGIC: &[u8; 4] = b"BCF\x02";

/// The records of a BCF file.
pub(crate) struct BinaryRecords {
    bytes: ByteReader,
    /// The bytes of the last record.
    record: Vec<u8>,
    /// The size of the shared part of the record: all values except those of the samples.
    shared_size: usize,
    /// The offset of the last record in the decompressed file.
    pub(crate) offset: u64,
}

impl BinaryRecords {
    pub(crate) fn new(text: Box<dyn TextSource>) -> Self {
        Self {
            bytes: ByteReader::new(text),
            record: Vec::new(),
            shared_size: 0,
            offset: 0,
        }
    }

    /// Reads the header.
    pub(crate) fn read_header(&mut self, report: &mut VariantReport) -> Result<Header, ReadError> {
        let is_end = |error| replace_end_error(error, truncated_header);
        let [magic @ .., minor] = self.bytes.read::<5>().map_err(is_end)?;
        if &magic != MAGIC || !matches!(minor, 1 | 2) {
            let message = format!(
                "expected a VCF file or a BCF file of version 2.1 or 2.2, found {:?}",
                String::from_utf8_lossy(&[magic.as_slice(), &[minor]].concat())
            );
            return Err(ReadError::Damage(header_fault(message)));
        }
        let size = self.bytes.read_u32().map_err(is_end)?;
        let mut text = Vec::new();
        let read = self.bytes.append_to(&mut text, u64::from(size));
        read.map_err(is_end)?;
        let mut header = Header::default();
        for (line, number) in text.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let is_last = header.add_line(line, number, report);
            if is_last.map_err(ReadError::Damage)? {
                header.remove_numbers();
                return Ok(header);
            }
        }
        Err(truncated_header())
    }

    /// Reads the next record. Returns false at the end of the file.
    pub(crate) fn next_record(&mut self) -> Result<bool, ReadError> {
        self.offset = self.bytes.offset;
        if self.bytes.at_end()? {
            return Ok(false);
        }
        let read = self.read_parts();
        read.map_err(|error| {
            replace_end_error(error, || {
                ReadError::Damage(Fault::of_file(
                    "the file ends inside a record; it is truncated",
                ))
            })
        })?;
        Ok(true)
    }

    fn read_parts(&mut self) -> Result<(), ReadError> {
        let shared = self.bytes.read_u32()?;
        let individual = self.bytes.read_u32()?;
        self.record.clear();
        let size = u64::from(shared) + u64::from(individual);
        self.bytes.append_to(&mut self.record, size)?;
        self.shared_size = usize::try_from(shared).unwrap_or(usize::MAX);
        Ok(())
    }

    /// The shared part of the last record, and the part with the values of the samples.
    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        let parts = self.record.split_at_checked(self.shared_size);
        parts.unwrap_or_default()
    }
}

fn truncated_header() -> ReadError {
    let message = "the file ends inside the header, or the header has no line of column names";
    ReadError::Damage(header_fault(message.to_owned()))
}

fn header_fault(message: String) -> Fault {
    Fault {
        kind: FaultKind::Header,
        ..Fault::of_file(message)
    }
}

/// The numbers at the start of a record.
pub(crate) struct RecordStart {
    pub(crate) contig: i32,
    pub(crate) start: i64,
    length: i64,
    pub(crate) quality: f32,
    pub(crate) info_count: usize,
    pub(crate) alleles: usize,
    pub(crate) samples: usize,
    pub(crate) format_count: usize,
}

impl RecordStart {
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let contig = cursor.i32()?;
        let start = i64::from(cursor.i32()?);
        let length = i64::from(cursor.i32()?);
        let quality = match cursor.u32()? {
            MISSING_FLOAT => f32::NAN,
            bits => f32::from_bits(bits),
        };
        let [info_low, info_high, alleles_low, alleles_high] = cursor.array()?;
        let [samples @ .., formats] = cursor.array::<4>()?;
        let [low, middle, high] = samples;
        if start < -1 {
            let message = format!(
                "POS: expected an integer of at least 0, found {}",
                start + 1
            );
            return Err(Fault::of_file(message));
        }
        Ok(Self {
            contig,
            start,
            length,
            quality,
            info_count: usize::from(u16::from_le_bytes([info_low, info_high])),
            alleles: usize::from(u16::from_le_bytes([alleles_low, alleles_high])),
            samples: usize::try_from(u32::from_le_bytes([low, middle, high, 0]))
                .unwrap_or(usize::MAX),
            format_count: usize::from(formats),
        })
    }
}

impl RecordParser {
    /// Appends a BCF record. Returns false if no region contains the record.
    pub(crate) fn push_binary(
        &mut self,
        (shared, individual): (&[u8], &[u8]),
        number: u64,
        columns: &mut VariantColumns,
    ) -> Result<bool, Fault> {
        let mut cursor = Cursor::new(shared);
        let start = RecordStart::read(&mut cursor)?;
        if !self.is_selected(&start)? {
            return Ok(false);
        }
        let pushed = self.push_values(cursor, &start, individual, (number, columns));
        pushed.map(|()| true).map_err(|fault| {
            let chrom = self.header.contig_name(start.contig).unwrap_or_default();
            let position = (start.start + 1).to_string();
            self.locate(fault, (chrom, position.as_bytes()))
        })
    }

    fn push_values(
        &mut self,
        mut cursor: Cursor<'_>,
        start: &RecordStart,
        individual: &[u8],
        (number, columns): (u64, &mut VariantColumns),
    ) -> Result<(), Fault> {
        let id = cursor.values()?.text();
        let [mut alternatives, mut filter] = std::mem::take(&mut self.text);
        let reference = read_alleles(&mut cursor, start.alleles, &mut alternatives)?;
        filter.clear();
        self.header.append_filters(cursor.values()?, &mut filter)?;
        if self.has_info {
            self.push_info_values(&mut cursor, start, (number, columns))?;
        }
        if self.samples.is_some() {
            let mut cursor = Cursor::new(individual);
            self.push_sample_values(&mut cursor, start, (number, columns))?;
        }
        let fixed = FixedColumns {
            chrom: self.header.contig_name(start.contig).unwrap_or_default(),
            id,
            reference,
            alternatives: &alternatives,
            filter: &filter,
            info: b".",
            ..FixedColumns::default()
        };
        let state = (&self.header, &mut self.context, columns);
        push_values(&fixed, (start.start, start.quality), number, state)?;
        self.text = [alternatives, filter];
        Ok(())
    }

    fn is_selected(&self, record: &RecordStart) -> Result<bool, Fault> {
        let Some(name) = self.header.contig_name(record.contig) else {
            return Err(unknown_number("contig", record.contig));
        };
        let Some(regions) = &self.regions else {
            return Ok(true);
        };
        let ranges = regions.ranges(name).ok_or_else(|| other_contig(name))?;
        let end = record.start + record.length.max(1);
        Ok(overlaps(ranges, &(record.start..end)))
    }

    fn push_info_values(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: &RecordStart,
        (number, columns): (u64, &mut VariantColumns),
    ) -> Result<(), Fault> {
        let report = &mut self.context.report;
        self.is_read.clear();
        self.is_read.resize(self.fields.len(), false);
        for _ in 0..start.info_count {
            let key = cursor.integer()?;
            let values = cursor.values()?;
            let name = self.header.field_name(key);
            let name = name.ok_or_else(|| unknown_number("INFO", key))?;
            let targets = self.fields.iter().zip(&mut columns.fields);
            let mut targets = targets.zip(&mut self.is_read);
            let target = targets.find(|((field, _), _)| !field.is_format && field.name == name);
            let Some(((field, column), is_read)) = target else {
                continue;
            };
            if std::mem::replace(is_read, true) {
                report.count("repeated_info", number, name);
                continue;
            }
            field.check_declared(number, report);
            if let Some(count) = column.push_values(values, field)? {
                field.check_count(count, start.alternatives(), (number, report));
            }
        }
        push_missing_info(&self.fields, &mut columns.fields, &self.is_read);
        Ok(())
    }

    fn push_sample_values(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: &RecordStart,
        (number, columns): (u64, &mut VariantColumns),
    ) -> Result<(), Fault> {
        let Some(samples) = &mut self.samples else {
            return Ok(());
        };
        if start.samples != samples.count {
            return Err(Fault::of_file(format!(
                "expected {} samples, as in the header, found {}",
                samples.count, start.samples
            )));
        }
        let tables = SampleTables::read(cursor, start, (&self.header, &self.fields))?;
        samples.push_genotype_values(tables.genotypes, &mut columns.genotypes)?;
        let targets = self.fields.iter().zip(&mut columns.fields);
        for ((field, column), table) in targets.zip(tables.fields) {
            if !field.is_format {
                continue;
            }
            let Some(table) = table else {
                samples.selected.iter().for_each(|_| column.push_missing());
                continue;
            };
            let report = &mut self.context.report;
            field.check_declared(number, report);
            for sample in &samples.selected {
                let values = table.vector(*sample, start.samples);
                if let Some(count) = column.push_values(values, field)? {
                    field.check_count(count, start.alternatives(), (number, report));
                }
            }
        }
        Ok(())
    }
}

/// The requested values of all samples in a record.
struct SampleTables<'a> {
    genotypes: Option<TypedValues<'a>>,
    /// The values of each requested FORMAT field.
    fields: Vec<Option<TypedValues<'a>>>,
}

impl<'a> SampleTables<'a> {
    fn read(
        cursor: &mut Cursor<'a>,
        start: &RecordStart,
        (header, fields): (&Header, &[Field]),
    ) -> Result<Self, Fault> {
        let mut tables = Self {
            genotypes: None,
            fields: vec![None; fields.len()],
        };
        for _ in 0..start.format_count {
            let key = cursor.integer()?;
            let (kind, length) = cursor.description()?;
            let table = cursor.vectors(kind, length, start.samples)?;
            let name = header.field_name(key);
            let name = name.ok_or_else(|| unknown_number("FORMAT", key))?;
            if name == b"GT" {
                tables.genotypes.get_or_insert(table);
            }
            let mut places = fields.iter().zip(&mut tables.fields);
            let place = places.find(|(field, _)| field.is_format && field.name == name);
            if let Some((_, place)) = place {
                place.get_or_insert(table);
            }
        }
        Ok(tables)
    }
}

impl RecordStart {
    fn alternatives(&self) -> usize {
        self.alleles.saturating_sub(1)
    }
}

impl Header {
    /// Appends the names of the filters with these numbers, or `.` without numbers.
    pub(crate) fn append_filters(
        &self,
        numbers: TypedValues<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let before = out.len();
        for number in numbers.integers() {
            let name = self.field_name(number);
            let name = name.ok_or_else(|| unknown_number("FILTER", number))?;
            if out.len() > before {
                out.push(b';');
            }
            out.extend_from_slice(name);
        }
        if out.len() == before {
            out.push(b'.');
        }
        Ok(())
    }
}

/// Reads the alleles. Returns REF, and fills `alternatives` with ALT, joined by commas.
pub(crate) fn read_alleles<'a>(
    cursor: &mut Cursor<'a>,
    count: usize,
    alternatives: &mut Vec<u8>,
) -> Result<&'a [u8], Fault> {
    alternatives.clear();
    let mut reference: &[u8] = b".";
    for number in 0..count {
        let allele = cursor.values()?;
        if allele.kind != ValueType::Text {
            return Err(Fault::of_file("REF, ALT: the values are not text"));
        }
        match number {
            0 => reference = allele.text(),
            1 => alternatives.extend_from_slice(allele.text()),
            _ => {
                alternatives.push(b',');
                alternatives.extend_from_slice(allele.text());
            }
        }
    }
    if alternatives.is_empty() {
        alternatives.push(b'.');
    }
    Ok(reference)
}

pub(crate) fn unknown_number(what: &str, number: i32) -> Fault {
    Fault::of_file(format!("the header has no {what} with the number {number}"))
}
