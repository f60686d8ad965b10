//! Writes BCF records as text of a VCF file.

use seqloom_core::error::Fault;

use crate::bcf::{RecordStart, read_alleles, unknown_number};
use crate::genotypes::invalid_allele_code;
use crate::header::Header;
use crate::typed::{Cursor, TypedValues, to_decimal};

/// Appends the text of a record, without a line end.
pub(crate) fn append_record(
    header: &Header,
    (shared, individual): (&[u8], &[u8]),
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut cursor = Cursor::new(shared);
    let start = RecordStart::read(&mut cursor)?;
    let chrom = header.contig_name(start.contig);
    let chrom = chrom.ok_or_else(|| unknown_number("contig", start.contig))?;
    let id = cursor.values()?.text();
    let mut alternatives = Vec::new();
    let reference = read_alleles(&mut cursor, start.alleles, &mut alternatives)?;
    let position = (start.start + 1).to_string();
    for part in [chrom, position.as_bytes(), id, reference, &alternatives] {
        out.extend_from_slice(part);
        out.push(b'\t');
    }
    let quality = match start.quality {
        value if value.is_nan() => ".".to_owned(),
        value => to_decimal(value),
    };
    out.extend_from_slice(quality.as_bytes());
    out.push(b'\t');
    header.append_filters(cursor.values()?, out)?;
    out.push(b'\t');
    append_info(header, (&mut cursor, start.info_count), out)?;
    if start.samples > 0 {
        append_samples(header, &start, (individual, out))?;
    }
    Ok(())
}

fn append_info(
    header: &Header,
    (cursor, count): (&mut Cursor<'_>, usize),
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for number in 0..count {
        let key = cursor.integer()?;
        let values = cursor.values()?;
        let name = header.field_name(key);
        let name = name.ok_or_else(|| unknown_number("INFO", key))?;
        if number > 0 {
            out.push(b';');
        }
        out.extend_from_slice(name);
        if !header.is_flag(name) && !values.bytes.is_empty() {
            out.push(b'=');
            values.append_text(out);
        }
    }
    if count == 0 {
        out.push(b'.');
    }
    Ok(())
}

fn append_samples(
    header: &Header,
    start: &RecordStart,
    (individual, out): (&[u8], &mut Vec<u8>),
) -> Result<(), Fault> {
    let mut cursor = Cursor::new(individual);
    let mut tables = Vec::new();
    for number in 0..start.format_count {
        let key = cursor.integer()?;
        let (kind, length) = cursor.description()?;
        let table = cursor.vectors(kind, length, start.samples)?;
        let name = header.field_name(key);
        let name = name.ok_or_else(|| unknown_number("FORMAT", key))?;
        out.push(if number == 0 { b'\t' } else { b':' });
        out.extend_from_slice(name);
        tables.push((name == b"GT", table));
    }
    if tables.is_empty() {
        out.extend_from_slice(b"\t.");
    }
    for sample in 0..start.samples {
        for (number, (is_genotype, table)) in tables.iter().enumerate() {
            out.push(if number == 0 { b'\t' } else { b':' });
            let values = table.vector(sample, start.samples);
            if *is_genotype {
                append_genotype(values, out)?;
            } else {
                values.append_text(out);
            }
        }
        if tables.is_empty() {
            out.extend_from_slice(b"\t.");
        }
    }
    Ok(())
}

fn append_genotype(values: TypedValues<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
    let start = out.len();
    for code in values.integers() {
        if code < 0 && code != i32::MIN {
            return Err(invalid_allele_code(code));
        }
        if out.len() > start {
            let is_phased = code & 1 == 1;
            out.push(if is_phased { b'|' } else { b'/' });
        }
        match code >> 1 {
            ..=0 => out.push(b'.'),
            number @ 1..=10 => out.push(b'0' + u8::try_from(number - 1).unwrap_or_default()),
            number => out.extend_from_slice((number - 1).to_string().as_bytes()),
        }
    }
    if out.len() == start {
        out.push(b'.');
    }
    Ok(())
}
