//! Records to FASTA or FASTQ text that reads back as the same records.
//!
//! What the reader would refuse, or read as something else, is refused here.

use seqloom_core::error::Fault;
use seqloom_core::{Error, Ragged, Result};

use crate::cursor::{MAX_HEADER, has_id};
use seqloom_core::number::as_u64;

/// Records, column by column.
#[derive(Clone, Copy, Debug)]
pub struct RecordColumns<'a> {
    /// How many records were written before, for errors.
    pub before: u64,
    /// Header lines without their mark.
    pub headers: Ragged<'a>,
    /// The letters.
    pub sequences: Ragged<'a>,
    /// Quality letters, for FASTQ.
    pub qualities: Option<Ragged<'a>>,
}

/// Writes FASTA behind `text`; letters in lines of `width`, or in one line.
pub fn fasta(
    columns: &RecordColumns<'_>,
    width: Option<usize>,
    text: &mut Vec<u8>,
) -> std::result::Result<(), Fault> {
    for (row, (header, letters)) in rows(columns).enumerate() {
        check(header, letters, b">;#")
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

/// Writes FASTQ behind `text`, four lines a record.
pub fn fastq(columns: &RecordColumns<'_>, text: &mut Vec<u8>) -> std::result::Result<(), Fault> {
    let Some(qualities) = columns.qualities else {
        return Err(Fault::whole("FASTQ needs qualities, found none"));
    };
    for ((row, (header, letters)), quality) in rows(columns).enumerate().zip(qualities.iter()) {
        check(header, letters, b">@+")
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

/// That all columns have one row for each record.
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

fn rows<'a>(columns: &RecordColumns<'a>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    let letters = columns.sequences;
    let headers = columns.headers;
    (0..headers.len()).map(move |row| (headers.get(row), letters.get(row)))
}

/// `marks`: what would be read as something else where a line begins with it.
fn check(header: &[u8], letters: &[u8], marks: &[u8]) -> std::result::Result<(), String> {
    if !has_id(header) {
        return Err("expected an id in the header, found none".into());
    }
    if header.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
        return Err("a header is one line, found a line end or a NUL byte in it".into());
    }
    if header.len() > MAX_HEADER {
        return Err(format!("the header is longer than {MAX_HEADER} bytes"));
    }
    let is_letter = |byte: &u8| byte.is_ascii_graphic() && !marks.contains(byte);
    let mut letters = letters.iter().enumerate();
    match letters.find(|(_, byte)| !is_letter(byte)) {
        None => Ok(()),
        Some((position, byte)) => Err(format!(
            "position {position}: expected a letter, found {:?}",
            char::from(*byte)
        )),
    }
}

fn check_quality(letters: &[u8], quality: &[u8]) -> std::result::Result<(), String> {
    if letters.len() != quality.len() {
        return Err(format!(
            "{} letters need as many qualities, found {}",
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
    let id = String::from_utf8_lossy(crate::pairs::id(header));
    let shown: String = id.chars().take(60).collect();
    Fault {
        record: Some(record),
        ..Fault::whole(format!("record {record} ({shown}): {message}"))
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
    fn fasta_is_wrapped_or_not() {
        let given = columns(b"ACGTA", b"IIIII", &[0, 5, 5]);
        let mut text = Vec::new();
        fasta(&given, Some(2), &mut text).unwrap();
        fasta(&given, None, &mut text).unwrap();
        assert_eq!(text, b">a x\nAC\nGT\nA\n>b\n>a x\nACGTA\n>b\n");
    }

    #[test]
    fn fastq_has_four_lines_even_for_no_letters() {
        let mut text = Vec::new();
        fastq(&columns(b"ACGTA", b"II@I!", &[0, 5, 5]), &mut text).unwrap();
        assert_eq!(text, b"@a x\nACGTA\n+\nII@I!\n@b\n\n+\n\n");
    }

    #[test]
    fn what_would_not_read_back_is_refused() {
        for letters in [&b"AC GT"[..], b"AC\nGT", b">CGTA", b"AC;TA", b"AC\xC3TA"] {
            let found = fasta(
                &columns(letters, b"IIIII", &[0, 5, 5]),
                None,
                &mut Vec::new(),
            );
            assert_eq!(found.unwrap_err().record, Some(0), "{letters:?}");
        }
        let bad = columns(b"ACGTA", b"II\tII", &[0, 5, 5]);
        assert!(fastq(&bad, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_header_needs_an_id_and_one_line() {
        assert!(check(b"", b"A", b">").is_err());
        assert!(check(b" \t", b"A", b">").is_err());
        assert!(check(b" a", b"A", b">").is_ok());
        assert!(check(b"a\nb", b"A", b">").is_err());
        assert!(check(b"a\xFF >b", b"A", b">").is_ok());
    }
}
