//! Reads and writes the `.fai` files of samtools: names, lengths and line layouts.
//!
//! ```text
//! name  length  offset of the residues  residues per line  bytes per line  [offset of the qualities]
//! ```
//!
//! Only FASTQ has the sixth column. The file does not contain the positions of headers,
//! so each record is taken to begin at the end of the previous record.

use seqloom_core::error::Fault;

use super::row::IndexRow;
use seqloom_compression::checksum::{hash_64, low_32_bits};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

/// A line of a `.fai` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaiRow {
    /// The id of the record.
    pub name: Vec<u8>,
    /// The number of residues.
    pub length: u64,
    /// The offset of the first residue in the text.
    pub letters: u64,
    /// The number of residues in a line.
    pub line_letters: u64,
    /// The number of bytes in a line, including the line end.
    pub line_bytes: u64,
    /// The offset of the first quality in the text.
    pub qualities: Option<u64>,
}

/// Parses a `.fai` file.
pub fn parse_fai(bytes: &[u8]) -> Result<Vec<FaiRow>, Fault> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() {
        return Err(Fault::of_file("is empty, expected an index"));
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let rows: Vec<FaiRow> = (1..)
        .zip(lines)
        .map(|(n, line)| parse_row(n, line))
        .collect::<Result<_, _>>()?;
    let is_fastq = rows.first().is_some_and(|row| row.qualities.is_some());
    let different = rows
        .iter()
        .position(|row| row.qualities.is_some() != is_fastq);
    match different {
        Some(position) => Err(row_fault(
            as_u64(position) + 1,
            "the number of columns differs from the previous lines",
        )),
        None => Ok(rows),
    }
}

fn parse_row(number: u64, line: &[u8]) -> Result<FaiRow, Fault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut fields = line.split(|byte| *byte == b'\t');
    let name = fields.next().unwrap_or_default().to_vec();
    let numbers: Option<Vec<u64>> = fields.map(parse_decimal).collect();
    let numbers = numbers.ok_or_else(|| row_fault(number, "a column is not an integer"))?;
    let (columns, qualities) = match &numbers[..] {
        [columns @ .., last] if numbers.len() == 5 => (columns, Some(*last)),
        columns => (columns, None),
    };
    let [length, letters, line_letters, line_bytes] = *columns else {
        return Err(row_fault(
            number,
            "expected 5 columns for FASTA or 6 for FASTQ",
        ));
    };
    let row = FaiRow {
        name,
        length,
        letters,
        line_letters,
        line_bytes,
        qualities,
    };
    let ends = line_bytes
        .checked_sub(line_letters)
        .is_some_and(|end| end <= 2);
    let has_lines = length == 0 || (line_letters > 0 && line_bytes > line_letters);
    if row.name.is_empty() || !ends || !has_lines || row.residue_bytes().is_none() {
        return Err(row_fault(
            number,
            "the numbers of the record are inconsistent",
        ));
    }
    Ok(row)
}

impl FaiRow {
    /// Returns the number of bytes of the residues, without the last line end.
    fn residue_bytes(&self) -> Option<u64> {
        let Some(last) = self.length.checked_sub(1) else {
            return Some(0);
        };
        let lines = last.checked_div(self.line_letters)?;
        let extent = lines
            .checked_mul(self.line_bytes)?
            .checked_add(last % self.line_letters + 1)?;
        self.letters.checked_add(extent)?;
        self.qualities.unwrap_or(0).checked_add(extent)?;
        Some(extent)
    }

    /// Returns the offset of the line end of the last line of the record.
    pub(crate) fn end(&self) -> u64 {
        let start = self.qualities.unwrap_or(self.letters);
        start.saturating_add(self.residue_bytes().unwrap_or(0))
    }
}

fn parse_decimal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn row_fault(line: u64, message: &str) -> Fault {
    Fault {
        line: Some(line),
        ..Fault::of_file(message)
    }
}

/// Returns the format of the indexed file.
pub(crate) fn detect_format(rows: &[FaiRow]) -> Format {
    let is_fastq = rows.first().is_some_and(|row| row.qualities.is_some());
    if is_fastq {
        Format::Fastq
    } else {
        Format::Fasta
    }
}

/// Converts `.fai` rows to index rows and hashes of their ids. A record ends where the
/// next record begins. The rows must be in the order of the file.
pub(crate) fn to_index_rows(rows: &[FaiRow], text: u64) -> Result<Vec<(IndexRow, u64)>, Fault> {
    let mut begin = 0;
    let mut index_rows = Vec::with_capacity(rows.len());
    for (line, row) in (1..).zip(rows) {
        let next = (rows.get(index_rows.len() + 1)).map_or(text, |_| {
            row.end().saturating_add(row.line_bytes - row.line_letters)
        });
        let next = next.min(text);
        if row.letters <= begin || row.end() > text || next < row.letters {
            return Err(row_fault(
                line,
                &format!(
                    "the record does not lie within the text of {text} bytes, after the previous record; \
                     the file was truncated or has changed, or the lines are not in the order of \
                     the file; create an index of its current content: seqloom index FILE"
                ),
            ));
        }
        let name = hash_64(&row.name);
        let to_u32 = |value: u64| u32::try_from(value).unwrap_or(0);
        let header = u32::try_from(row.letters - begin);
        let (line_letters, line_bytes) = (to_u32(row.line_letters), to_u32(row.line_bytes));
        let is_wide = line_letters == 0 || line_bytes == 0;
        index_rows.push((
            IndexRow {
                begin,
                size: next - begin,
                length: row.length,
                header: header.map_err(|_| row_fault(line, "the header is longer than 4 GiB"))?,
                line_letters: if is_wide { 0 } else { line_letters },
                line_bytes: if is_wide { 0 } else { line_bytes },
                sum: low_32_bits(name),
            },
            name,
        ));
        begin = next;
    }
    Ok(index_rows)
}

/// Returns a line of a `.fai` file.
pub(crate) fn write_row(row: &FaiRow) -> Vec<u8> {
    let mut line = row.name.clone();
    let numbers = [row.length, row.letters, row.line_letters, row.line_bytes];
    for number in numbers.into_iter().chain(row.qualities) {
        line.extend_from_slice(format!("\t{number}").as_bytes());
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_lines_parse_to_the_same_rows() {
        let text = b"a\t10\t3\t4\t5\nb\t0\t18\t0\t0\n";
        let rows = parse_fai(text).unwrap();
        assert_eq!(rows.iter().flat_map(write_row).collect::<Vec<_>>(), text);
        assert_eq!((rows[0].end(), detect_format(&rows)), (15, Format::Fasta));
    }

    #[test]
    fn invalid_lines_are_errors() {
        let invalid: [&[u8]; 10] = [
            b"",
            b"\n",
            b"a\n",
            b"a\t1\t2\t3\n",
            b"a\t1\t2\t3\t4\t5\t6\n",
            b"a\t-1\t2\t3\t4\n",
            b"a\t10\t2\t0\t1\n",
            b"a\t10\t2\t9\t4\n",
            b"a\t18446744073709551615\t2\t1\t2\n",
            b"a\t1\t2\t3\t4\nb\t1\t2\t3\t4\t9\n",
        ];
        for text in invalid {
            assert!(parse_fai(text).is_err(), "{text:?}");
        }
    }
}
