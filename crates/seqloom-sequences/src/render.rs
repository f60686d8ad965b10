//! Converts records to FASTA or FASTQ text.
//!
//! An error is returned if the reader would reject a record or return a different
//! record.

use seqloom_core::{Error, Ragged, Result, error::Fault};

use crate::cursor::{MAX_HEADER_BYTES, has_id};
use seqloom_core::number::as_u64;

/// The records to write, stored by column.
#[derive(Clone, Copy, Debug)]
pub struct RecordColumns<'a> {
    /// The number of records that were already written, for error messages.
    pub before: u64,
    /// The headers without `>` or `@`.
    pub headers: Ragged<'a>,
    /// The residues.
    pub sequences: Ragged<'a>,
    /// The qualities, which FASTQ requires.
    pub qualities: Option<Ragged<'a>>,
}

/// Appends records as FASTA to `text`. Lines of residues have `width` characters; if
/// `width` is `None`, each sequence is one line.
pub fn append_fasta(
    columns: &RecordColumns<'_>,
    width: Option<usize>,
    text: &mut Vec<u8>,
) -> std::result::Result<(), Fault> {
    for (row, (header, letters)) in record_rows(columns).enumerate() {
        check_record(header, letters, b">;#")
            .map_err(|message| fault(columns.before + as_u64(row), header, &message))?;
        text.push(b'>');
        text.extend_from_slice(header);
        text.push(b'\n');
        for line in letters.chunks(width.unwrap_or(letters.len()).max(1)) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    Ok(())
}

/// Appends records as FASTQ to `text`. Each record has four lines.
pub fn append_fastq(
    columns: &RecordColumns<'_>,
    text: &mut Vec<u8>,
) -> std::result::Result<(), Fault> {
    let Some(qualities) = columns.qualities else {
        return Err(Fault::of_file("FASTQ needs qualities, found none"));
    };
    for ((row, (header, letters)), quality) in
        record_rows(columns).enumerate().zip(qualities.iter())
    {
        check_record(header, letters, b">@+")
            .and_then(|()| check_quality(letters, quality))
            .map_err(|message| fault(columns.before + as_u64(row), header, &message))?;
        text.push(b'@');
        for (part, end) in [(header, &b"\n"[..]), (letters, b"\n+\n"), (quality, b"\n")] {
            text.extend_from_slice(part);
            text.extend_from_slice(end);
        }
    }
    Ok(())
}

/// Returns an error if the columns have different numbers of rows.
pub fn check_columns(columns: &RecordColumns<'_>) -> Result<()> {
    let (headers, sequences) = (columns.headers.len(), columns.sequences.len());
    let qualities = columns.qualities.map_or(sequences, |column| column.len());
    if headers == sequences && qualities == sequences {
        return Ok(());
    }
    Err(Error::argument(format!(
        "{sequences} sequences need as many headers and qualities, \
         got {headers} and {qualities}"
    )))
}

fn record_rows<'a>(columns: &RecordColumns<'a>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    let letters = columns.sequences;
    let headers = columns.headers;
    (0..headers.len()).map(move |row| (headers.get(row), letters.get(row)))
}

/// Returns an error message if a header or sequence is invalid. `marks` contains
/// characters that must not begin a line, because they have a special meaning at the
/// start of a line.
fn check_record(header: &[u8], letters: &[u8], marks: &[u8]) -> std::result::Result<(), String> {
    if !has_id(header) {
        return Err("expected an id in the header, found none".into());
    }
    if header.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
        return Err("a header is one line, found a line end or a NUL byte in it".into());
    }
    if header.len() > MAX_HEADER_BYTES {
        return Err(format!(
            "the header is longer than {MAX_HEADER_BYTES} bytes"
        ));
    }
    let is_letter = |byte: &u8| byte.is_ascii_graphic() && !marks.contains(byte);
    let mut letters = letters.iter().enumerate();
    match letters.find(|(_, byte)| !is_letter(byte)) {
        None => Ok(()),
        Some((position, byte)) => Err(format!(
            "position {position}: expected a residue, found {:?}",
            char::from(*byte)
        )),
    }
}

fn check_quality(letters: &[u8], quality: &[u8]) -> std::result::Result<(), String> {
    if letters.len() != quality.len() {
        return Err(format!(
            "{} residues need as many qualities, found {}",
            letters.len(),
            quality.len()
        ));
    }
    match quality.iter().find(|byte| !byte.is_ascii_graphic()) {
        None => Ok(()),
        Some(byte) => Err(format!(
            "expected a quality from '!' to '~', found {:?}",
            char::from(*byte)
        )),
    }
}

fn fault(record: u64, header: &[u8], message: &str) -> Fault {
    let id = String::from_utf8_lossy(crate::pairs::header_id(header));
    let short_id: String = id.chars().take(60).collect();
    Fault {
        record: Some(record),
        ..Fault::of_file(format!("record {record} ({short_id}): {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns<'a>(letters: &'a [u8], quality: &'a [u8], ends: &'a [i64]) -> RecordColumns<'a> {
        RecordColumns {
            before: 0,
            headers: Ragged::new(b"a xb", &[0, 3, 4]).unwrap(),
            sequences: Ragged::new(letters, ends).unwrap(),
            qualities: Ragged::new(quality, ends).ok(),
        }
    }

    #[test]
    fn fasta_lines_are_wrapped_at_the_width() {
        let records = columns(b"ACGTA", b"IIIII", &[0, 5, 5]);
        let mut text = Vec::new();
        append_fasta(&records, Some(2), &mut text).unwrap();
        append_fasta(&records, None, &mut text).unwrap();
        assert_eq!(text, b">a x\nAC\nGT\nA\n>b\n>a x\nACGTA\n>b\n");
    }

    #[test]
    fn an_empty_fastq_record_has_four_lines() {
        let mut text = Vec::new();
        append_fastq(&columns(b"ACGTA", b"II@I!", &[0, 5, 5]), &mut text).unwrap();
        assert_eq!(text, b"@a x\nACGTA\n+\nII@I!\n@b\n\n+\n\n");
    }

    #[test]
    fn a_record_that_would_not_read_back_is_an_error() {
        for letters in [&b"AC GT"[..], b"AC\nGT", b">CGTA", b"AC;TA", b"AC\xC3TA"] {
            let found = append_fasta(
                &columns(letters, b"IIIII", &[0, 5, 5]),
                None,
                &mut Vec::new(),
            );
            assert_eq!(found.unwrap_err().record, Some(0), "{letters:?}");
        }
        let bad = columns(b"ACGTA", b"II\tII", &[0, 5, 5]);
        assert!(append_fastq(&bad, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_header_needs_an_id_and_one_line() {
        assert!(check_record(b"", b"A", b">").is_err());
        assert!(check_record(b" \t", b"A", b">").is_err());
        assert!(check_record(b" a", b"A", b">").is_ok());
        assert!(check_record(b"a\nb", b"A", b">").is_err());
        assert!(check_record(b"a\xFF >b", b"A", b">").is_ok());
    }
}
