//! What text is written in, and what it is if neither FASTA nor FASTQ, so that
//! the error can name it.

use crate::options::{Comments, Format, Options};

/// So many blank bytes may stand before a file shows what it is.
const PATIENCE: usize = 1 << 20;
/// So much is needed to name something else.
const ENOUGH_TO_NAME: usize = 512;

/// Whether text may be judged by this beginning, however it came in pieces.
pub(crate) fn is_enough(start: &[u8]) -> bool {
    match content(start) {
        [b'>', ..] | [b'@', _, _, _, ..] => true,
        [] => start.len() >= PATIENCE,
        text => text.len() >= ENOUGH_TO_NAME,
    }
}

/// What text that begins like this is written in, or why it is neither.
pub(crate) fn format(start: &[u8], options: &Options) -> Result<Format, String> {
    let found = match content(start) {
        _ if start.is_empty() => {
            return Err(format!("the file is empty, expected {}", wanted(options)));
        }
        [] => options.format.or(Some(Format::Fasta)),
        [b'>', ..] => Some(Format::Fasta),
        [b';' | b'#', ..] if options.comments == Comments::Skip => Some(Format::Fasta),
        [b'@', ..] if by_text(content(start)).is_none() => Some(Format::Fastq),
        _ => None,
    };
    match (found, options.format) {
        (Some(found), None) => Ok(found),
        (Some(found), Some(wanted)) if found == wanted => Ok(found),
        (Some(Format::Fasta), _) => Err("expected FASTQ, found FASTA".into()),
        (Some(Format::Fastq), _) => Err("expected FASTA, found FASTQ".into()),
        (None, _) => Err(format!(
            "expected {}, found {}",
            wanted(options),
            describe(content(start))
        )),
    }
}

fn wanted(options: &Options) -> &'static str {
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

fn describe(start: &[u8]) -> String {
    let known = by_magic(start).or_else(|| by_text(start));
    known.map_or_else(|| by_letters(start), Into::into)
}

/// Files that begin with bytes of their own.
fn by_magic(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 27] = [
        (b"\x1F\x8B", "gzip data (packed twice?)"),
        (b"\xFD7zXZ\0", "xz data (packed twice?)"),
        (b"\x28\xB5\x2F\xFD", "zstd data (packed twice?)"),
        (b"BZh", "bzip2 data (packed twice?)"),
        (b"\x04\x22\x4D\x18", "lz4 data: unpack it first (lz4 -d)"),
        (b"7z\xBC\xAF\x27\x1C", "a 7z archive: unpack it first"),
        (
            b"PK\x03\x04",
            "a zip archive (zip, xlsx, npz, ...): unpack it first",
        ),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"\x89PNG\r\n\x1A\n", "a PNG picture"),
        (b"\xFF\xD8\xFF", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"%PDF", "a PDF document"),
        (b"\x89HDF\r\n\x1A\n", "an HDF5 file"),
        (b"PAR1", "a Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (b"\x93NUMPY", "a NumPy array"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\x7FELF", "a program or library"),
        (b"BAM\x01", "BAM (alignments)"),
        (b"CRAM", "CRAM (alignments)"),
        (b"BCF\x02", "BCF (variants)"),
        (b"\x6C\x1B", "PLINK .bed genotypes"),
        (b"\x43\x27\x41\x1A", "a 2bit genome"),
        (b"\x1A\x41\x27\x43", "a 2bit genome"),
        (b"\xFF\xFE", "UTF-16 text: save it as UTF-8"),
        (b"\xFE\xFF", "UTF-16 text: save it as UTF-8"),
        (b"\x80\x04", "a Python pickle"),
    ];
    let is_tar = start.get(257..262) == Some(b"ustar");
    let known = KNOWN.iter().find(|(magic, _)| start.starts_with(magic));
    known
        .map(|(_, what)| *what)
        .or(is_tar.then_some("a tar archive: unpack it first"))
}

/// Text files that begin with words of their own.
fn by_text(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 19] = [
        (b"@HD\t", "SAM (alignments)"),
        (b"@SQ\t", "SAM (alignments)"),
        (b"@RG\t", "SAM (alignments)"),
        (b"@PG\t", "SAM (alignments)"),
        (b"LOCUS ", "a GenBank flat file: convert it to FASTA"),
        (
            b"ID   ",
            "an EMBL or UniProt flat file: convert it to FASTA",
        ),
        (b"##FILEFORMAT=VCF", "VCF (variants)"),
        (b"##GFF", "GFF (annotation)"),
        (b"#NEXUS", "a NEXUS file: convert it to FASTA"),
        (b"CLUSTAL", "a Clustal alignment: convert it to FASTA"),
        (b"# STOCKHOLM", "a Stockholm alignment: convert it to FASTA"),
        (b"TRACK ", "BED intervals"),
        (b"<!DOCTYPE HTML", "an HTML page (a failed download?)"),
        (b"<HTML", "an HTML page (a failed download?)"),
        (b"<?XML", "XML"),
        (b"{", "JSON"),
        (b"[", "JSON"),
        (
            b";",
            "FASTA with ';' comments: comments=\"skip\" (--comments skip) leaves them out",
        ),
        (
            b"#",
            "text that begins with a '#' comment: comments=\"skip\" (--comments skip) leaves such \
             lines of FASTA out",
        ),
    ];
    let begins = |word: &[u8]| {
        start
            .get(..word.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    KNOWN
        .iter()
        .find(|(word, _)| begins(word))
        .map(|(_, what)| *what)
}

/// Whatever else: judged by its first line.
fn by_letters(start: &[u8]) -> String {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | b' '..=b'~' | 0x80..);
    if !start.iter().all(is_text) {
        return "binary data".into();
    }
    let text = start.trim_ascii_start();
    let line = text
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    if is_interval(line) {
        return "BED intervals".into();
    }
    if line.len() > 20 && line.iter().all(u8::is_ascii_alphabetic) {
        return "letters without a header: begin each sequence with a line of '>' and an id".into();
    }
    let shown: String = String::from_utf8_lossy(line).chars().take(40).collect();
    format!("text that begins with {shown:?}")
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
