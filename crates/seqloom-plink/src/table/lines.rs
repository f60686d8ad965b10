//! Counts the lines of a table without parsing them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use seqloom_core::{Error, Result};

/// The byte order mark that some programs write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The number of bytes that are read in one call.
const READ_BLOCK_BYTES: u64 = 1 << 20;

/// Counts the lines of a file, without trailing blank lines.
pub fn count_lines_of_file(path: &Path) -> Result<usize> {
    let counted = File::open(path).and_then(count_lines_of_open_file);
    counted.map_err(|error| Error::io(path, &error))
}

/// Counts the lines of a text, without trailing blank lines.
pub fn count_lines(text: &[u8]) -> usize {
    let mut count = LineCount::default();
    count.add_block(text.get(text_start(text)..).unwrap_or_default());
    count.lines()
}

fn count_lines_of_open_file(mut file: File) -> io::Result<usize> {
    let mut piece = Vec::new();
    let mut count = LineCount::default();
    let mut size = read_block(&mut file, &mut piece)?;
    let mut start = text_start(&piece);
    while size > 0 {
        count.add_block(piece.get(start..).unwrap_or_default());
        (start, size) = (0, read_block(&mut file, &mut piece)?);
    }
    Ok(count.lines())
}

fn read_block(file: &mut File, piece: &mut Vec<u8>) -> io::Result<usize> {
    piece.clear();
    file.take(READ_BLOCK_BYTES).read_to_end(piece)
}

/// Counts the lines of a text that is read in blocks.
#[derive(Default)]
struct LineCount {
    /// The numbers of line ends before and after the last character that is not blank.
    before: usize,
    behind: usize,
    has_text: bool,
}

impl LineCount {
    fn add_block(&mut self, piece: &[u8]) {
        let (text, blank) = piece.split_at(trim_trailing_blanks(piece).len());
        if !text.is_empty() {
            self.has_text = true;
            self.before += self.behind + count_line_ends(text);
            self.behind = 0;
        }
        self.behind += count_line_ends(blank);
    }

    fn lines(&self) -> usize {
        self.before + usize::from(self.has_text)
    }
}

/// Returns the number of line ends.
pub(super) fn count_line_ends(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// Returns the text without trailing blanks and blank lines.
pub(super) fn trim_trailing_blanks(text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let end = text.iter().rposition(|byte| !is_blank(byte));
    text.get(..end.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

/// Returns the offset at which the text begins, after a byte order mark.
pub(super) fn text_start(text: &[u8]) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_lines_of_a_file_agrees_with_counting_lines_of_its_text() {
        let path = std::env::temp_dir().join(format!("seqloom-lines-{}", std::process::id()));
        let many = usize::try_from(READ_BLOCK_BYTES).unwrap() / 10;
        let long = "1 s 0 1 A C\n".repeat(many);
        for (text, lines) in [
            ("", 0),
            ("a", 1),
            ("a\n", 1),
            ("a\r\nb\n\n\n", 2),
            ("\u{FEFF}a\nb", 2),
            (&long, many),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(count_lines(text.as_bytes()), lines);
            assert_eq!(count_lines_of_file(&path).unwrap(), lines);
        }
        std::fs::remove_file(path).unwrap();
    }
}
