//! `.fai`: names, lengths and lines, as samtools writes it.
//!
//! ```text
//! name  length  position of the first letter  letters a line  bytes a line  [position of the first quality]
//! ```
//!
//! A sixth column makes it one of FASTQ. It says nothing of headers: a record
//! begins where the one before it ends.

use seqloom_core::error::Fault;

use super::row::IndexRow;
use seqloom_compression::checksum::{hash, low};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

/// A line of a `.fai` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaiRow {
    /// The record's id.
    pub name: Vec<u8>,
    /// How many letters it has.
    pub length: u64,
    /// Where in the text the first of them stands.
    pub letters: u64,
    /// How many letters a line has.
    pub line_letters: u64,
    /// How many bytes such a line takes.
    pub line_bytes: u64,
    /// Where in the text the first quality stands.
    pub qualities: Option<u64>,
}

/// Reads a `.fai` file.
pub fn parse_fai(bytes: &[u8]) -> Result<Vec<FaiRow>, Fault> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() {
        return Err(Fault::whole("is empty, expected an index"));
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let rows: Vec<FaiRow> = (1..)
        .zip(lines)
        .map(|(n, line)| row(n, line))
        .collect::<Result<_, _>>()?;
    let is_fastq = rows.first().is_some_and(|row| row.qualities.is_some());
    let odd = rows
        .iter()
        .position(|row| row.qualities.is_some() != is_fastq);
    match odd {
        Some(position) => Err(fault(
            as_u64(position) + 1,
            "another number of columns than before",
        )),
        None => Ok(rows),
    }
}

fn row(number: u64, line: &[u8]) -> Result<FaiRow, Fault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut fields = line.split(|byte| *byte == b'\t');
    let name = fields.next().unwrap_or_default().to_vec();
    let numbers: Option<Vec<u64>> = fields.map(decimal).collect();
    let numbers = numbers.ok_or_else(|| fault(number, "a column is not an integer"))?;
    let (columns, qualities) = match &numbers[..] {
        [columns @ .., last] if numbers.len() == 5 => (columns, Some(*last)),
        columns => (columns, None),
    };
    let [length, letters, line_letters, line_bytes] = *columns else {
        return Err(fault(number, "expected 5 columns for FASTA or 6 for FASTQ"));
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
    if row.name.is_empty() || !ends || !has_lines || row.extent().is_none() {
        return Err(fault(number, "its numbers do not go together"));
    }
    Ok(row)
}

impl FaiRow {
    /// How many bytes the letters take, the last line's end left out.
    fn extent(&self) -> Option<u64> {
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

    /// Where the record's last line ends, if that is there.
    pub(crate) fn end(&self) -> u64 {
        let start = self.qualities.unwrap_or(self.letters);
        start.saturating_add(self.extent().unwrap_or(0))
    }
}

fn decimal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn fault(line: u64, message: &str) -> Fault {
    Fault {
        line: Some(line),
        ..Fault::whole(message)
    }
}

/// What a `.fai` file is an index of.
pub(crate) fn format_of(rows: &[FaiRow]) -> Format {
    let is_fastq = rows.first().is_some_and(|row| row.qualities.is_some());
    if is_fastq {
        Format::Fastq
    } else {
        Format::Fasta
    }
}

/// Rows as ours, each up to where the next begins; the names' hashes beside.
/// Records must stand in the order of the file.
pub(crate) fn to_rows(rows: &[FaiRow], text: u64) -> Result<Vec<(IndexRow, u64)>, Fault> {
    let mut begin = 0;
    let mut found = Vec::with_capacity(rows.len());
    for (line, row) in (1..).zip(rows) {
        let next = (rows.get(found.len() + 1)).map_or(text, |_| {
            row.end().saturating_add(row.line_bytes - row.line_letters)
        });
        let next = next.min(text);
        if row.letters <= begin || row.end() > text || next < row.letters {
            return Err(fault(
                line,
                &format!(
                    "the record does not lie within the text of {text} bytes, behind the one before it; \
                     the file was cut or has changed, or the lines are not in the order of the \
                     file; an index of what it holds now: seqloom index FILE"
                ),
            ));
        }
        let name = hash(&row.name);
        let narrow = |value: u64| u32::try_from(value).unwrap_or(0);
        let header = u32::try_from(row.letters - begin);
        let (line_letters, line_bytes) = (narrow(row.line_letters), narrow(row.line_bytes));
        let is_wide = line_letters == 0 || line_bytes == 0;
        found.push((
            IndexRow {
                begin,
                size: next - begin,
                length: row.length,
                header: header.map_err(|_| fault(line, "its header is longer than 4 GiB"))?,
                line_letters: if is_wide { 0 } else { line_letters },
                line_bytes: if is_wide { 0 } else { line_bytes },
                sum: low(name),
            },
            name,
        ));
        begin = next;
    }
    Ok(found)
}

/// A line of a `.fai` file, as text.
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
    fn lines_come_back_from_their_text() {
        let text = b"a\t10\t3\t4\t5\nb\t0\t18\t0\t0\n";
        let rows = parse_fai(text).unwrap();
        assert_eq!(rows.iter().flat_map(write_row).collect::<Vec<_>>(), text);
        assert_eq!((rows[0].end(), format_of(&rows)), (15, Format::Fasta));
    }

    #[test]
    fn hostile_lines_are_refused() {
        let bad: [&[u8]; 10] = [
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
        for text in bad {
            assert!(parse_fai(text).is_err(), "{text:?}");
        }
    }
}
