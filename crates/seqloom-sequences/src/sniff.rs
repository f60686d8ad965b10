//! What text is written in, and what it is if neither FASTA nor FASTQ, so that
//! the error can name it.

mod contents;

use self::contents::content_of;
pub use self::contents::{Purpose, foreign};
use crate::options::{Comments, Format, ReaderOptions};
use seqloom_core::error::{Fault, FaultCause};

/// So many blank bytes may stand before a file shows what it is.
const PATIENCE: usize = 1 << 20;
/// So much is needed to name something else.
const ENOUGH_TO_NAME: usize = 4096;

/// Returns whether the beginning of a text is long enough to detect its format.
pub(crate) fn is_enough(start: &[u8]) -> bool {
    match content(start) {
        [b'>', ..] | [b'@', _, _, _, ..] => true,
        [] => start.len() >= PATIENCE,
        text => text.len() >= ENOUGH_TO_NAME,
    }
}

/// Returns the format of a text that begins like this, or why it is neither FASTA nor FASTQ.
pub(crate) fn format(start: &[u8], options: &ReaderOptions) -> Result<Format, Fault> {
    let found = match content(start) {
        _ if start.is_empty() => {
            let message = format!("the file is empty, expected {}", wanted(options));
            return Err(Fault::whole(message));
        }
        [] => options.format.or(Some(Format::Fasta)),
        [b'>', ..] => Some(Format::Fasta),
        text if content_of(text).is_some() => None,
        [b';' | b'#', ..] if options.comments == Comments::Skip => Some(Format::Fasta),
        [b'@', ..] => Some(Format::Fastq),
        _ => None,
    };
    match (found, options.format) {
        (Some(found), None) => Ok(found),
        (Some(found), Some(wanted)) if found == wanted => Ok(found),
        (Some(Format::Fasta), _) => Err(Fault::whole("expected FASTQ, found FASTA")),
        (Some(Format::Fastq), _) => Err(Fault::whole("expected FASTA, found FASTQ")),
        (None, _) => {
            let (cause, found) = describe(content(start));
            let message = format!("expected {}, found {found}", wanted(options));
            Err(Fault {
                cause,
                ..Fault::whole(message)
            })
        }
    }
}

fn wanted(options: &ReaderOptions) -> &'static str {
    match options.format {
        None => "FASTA or FASTQ",
        Some(Format::Fasta) => "FASTA",
        Some(Format::Fastq) => "FASTQ",
    }
}

/// What stands behind a byte order mark and blanks.
fn content(start: &[u8]) -> &[u8] {
    let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    text.trim_ascii_start()
}

/// Returns a description of other content, and the cause if a remedy exists.
fn describe(start: &[u8]) -> (Option<FaultCause>, String) {
    let text = match (content_of(start), start) {
        (Some(content), _) => {
            return (content.cause(), content.describe(Purpose::Sequences));
        }
        (None, [b'{' | b'[', ..]) => "JSON".into(),
        (None, [b';', ..]) => {
            "FASTA with ';' comments: comments=\"skip\" (--comments skip) leaves them out".into()
        }
        (None, [b'#', ..]) => {
            "text that begins with a '#' comment: comments=\"skip\" (--comments skip) leaves \
             such lines of FASTA out"
                .into()
        }
        (None, _) => return by_first_line(start),
    };
    (None, text)
}

/// Describes other text by its first line.
fn by_first_line(start: &[u8]) -> (Option<FaultCause>, String) {
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
    if is_interval(line) || begins_track(b"TRACK ") {
        return (Some(FaultCause::Intervals), "BED intervals".into());
    }
    let text = if line.starts_with(b"ID   ") {
        "an EMBL or UniProt flat file: convert it to FASTA".into()
    } else if line.starts_with(b"LOCUS ") {
        "a GenBank flat file: convert it to FASTA".into()
    } else if line.len() > 20 && line.iter().all(u8::is_ascii_alphabetic) {
        "letters without a header: begin each sequence with a line of '>' and an id".into()
    } else {
        let shown: String = String::from_utf8_lossy(line).chars().take(40).collect();
        format!("text that begins with {shown:?}")
    };
    (None, text)
}

/// Whether a line is a name, a start and an end behind it.
fn is_interval(line: &[u8]) -> bool {
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
