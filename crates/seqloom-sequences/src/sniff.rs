//! Detects the format of a text. If a file is not FASTA or FASTQ, an error describes
//! its content.

mod contents;

use self::contents::detect_content;
pub use self::contents::{ReadPurpose, describe_unsupported};
use crate::options::{Comments, Format, ReaderOptions};
use seqloom_core::error::{Fault, FaultCause};

/// The maximum number of blank bytes at the beginning of a file.
const MAX_BLANK_BYTES: usize = 1 << 20;
/// The number of bytes that are needed to recognise other file formats.
const MIN_DETECTION_BYTES: usize = 4096;

/// Returns true if the beginning of a text is long enough for detecting its format.
pub(crate) fn is_long_enough(start: &[u8]) -> bool {
    match skip_blank(start) {
        [b'>', ..] | [b'@', _, _, _, ..] => true,
        [] => start.len() >= MAX_BLANK_BYTES,
        text => text.len() >= MIN_DETECTION_BYTES,
    }
}

/// Returns the format of a text, detected from its beginning. If the text is not FASTA
/// or FASTQ, the error describes the content.
pub(crate) fn detect_format(start: &[u8], options: &ReaderOptions) -> Result<Format, Fault> {
    let found = match skip_blank(start) {
        _ if start.is_empty() => {
            let message = format!("the file is empty, expected {}", expected_format(options));
            return Err(Fault::of_file(message));
        }
        [] => options.format.or(Some(Format::Fasta)),
        [b'>', ..] => Some(Format::Fasta),
        text if detect_content(text).is_some() => None,
        [b';' | b'#', ..] if options.comments == Comments::Skip => Some(Format::Fasta),
        [b'@', ..] => Some(Format::Fastq),
        _ => None,
    };
    match (found, options.format) {
        (Some(found), None) => Ok(found),
        (Some(found), Some(expected)) if found == expected => Ok(found),
        (Some(Format::Fasta), _) => Err(Fault::of_file("expected FASTQ, found FASTA")),
        (Some(Format::Fastq), _) => Err(Fault::of_file("expected FASTA, found FASTQ")),
        (None, _) => {
            let (cause, found) = describe_content(skip_blank(start));
            let message = format!("expected {}, found {found}", expected_format(options));
            Err(Fault {
                cause,
                ..Fault::of_file(message)
            })
        }
    }
}

fn expected_format(options: &ReaderOptions) -> &'static str {
    match options.format {
        None => "FASTA or FASTQ",
        Some(Format::Fasta) => "FASTA",
        Some(Format::Fastq) => "FASTQ",
    }
}

/// Returns the text after any byte order mark and blanks.
fn skip_blank(start: &[u8]) -> &[u8] {
    let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    text.trim_ascii_start()
}

/// Returns a description of text that is neither FASTA nor FASTQ. If other functions of
/// seqloom read the file, also returns the cause of the error.
fn describe_content(start: &[u8]) -> (Option<FaultCause>, String) {
    let text = match (detect_content(start), start) {
        (Some(content), _) => {
            return (content.cause(), content.describe(ReadPurpose::Sequences));
        }
        (None, [b'{' | b'[', ..]) => "JSON".into(),
        (None, [b';', ..]) => {
            "FASTA with ';' comments: comments=\"skip\" (--comments skip) skips them".into()
        }
        (None, [b'#', ..]) => {
            "text that begins with a '#' comment: comments=\"skip\" (--comments skip) skips \
             such lines of FASTA"
                .into()
        }
        (None, _) => return describe_first_line(start),
    };
    (None, text)
}

/// Describes text that is neither FASTA nor FASTQ, from its first line.
fn describe_first_line(start: &[u8]) -> (Option<FaultCause>, String) {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | b' '..=b'~' | 0x80..);
    if !start.iter().all(is_text) {
        return (None, "binary data".into());
    }
    let text = start.trim_ascii_start();
    let line = text
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    let begins_track = |word: &[u8]| {
        line.get(..word.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    };
    if is_interval_line(line) || begins_track(b"TRACK ") {
        return (Some(FaultCause::Intervals), "BED intervals".into());
    }
    let text = if line.starts_with(b"ID   ") {
        "an EMBL or UniProt flat file: convert it to FASTA".into()
    } else if line.starts_with(b"LOCUS ") {
        "a GenBank flat file: convert it to FASTA".into()
    } else if line.len() > 20 && line.iter().all(u8::is_ascii_alphabetic) {
        "residues without a header: begin each sequence with a line of '>' and an id".into()
    } else {
        let beginning: String = String::from_utf8_lossy(line).chars().take(40).collect();
        format!("text that begins with {beginning:?}")
    };
    (None, text)
}

/// Returns true if a line is an interval: a name, a start, and an end that is larger
/// than the start.
fn is_interval_line(line: &[u8]) -> bool {
    let mut fields = line.split(|byte| *byte == b'\t').skip(1);
    let mut number = || {
        std::str::from_utf8(fields.next()?)
            .ok()?
            .parse::<u64>()
            .ok()
    };
    matches!((number(), number()), (Some(start), Some(end)) if start < end)
}

#[cfg(test)]
mod tests;
