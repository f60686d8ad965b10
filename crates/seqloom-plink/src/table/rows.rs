//! Detects header lines and comments, which `.fam` and `.bim` files must not have.
//!
//! If a header or a comment were read as a row, the genotypes of all later rows would be
//! shifted by one. The size of the `.bed` does not reveal this error, because its rows
//! are padded to whole bytes.

use memchr::{memchr, memmem};
use seqloom_core::error::{Fault, FaultKind};
use seqloom_core::number::as_u64;

use super::lines;
use super::scan::FIRST_LINE_NUMBER;
use super::table_kind::{COLUMN_COUNT, TableKind};

/// The number of bytes of a line that are compared with column names.
const MAX_COMPARED_BYTES: usize = 1 << 16;
/// The number of characters of a line that an error message shows.
const MAX_LINE_CHARS: usize = 60;

/// The number of columns of a `.bim` without centimorgans.
const MIN_BIM_COLUMNS: usize = COLUMN_COUNT - 1;

/// The minimum number of column names in a header line.
const MIN_HEADER_NAMES: usize = 2;

/// Column names that other programs write in header lines, in lower case and without
/// punctuation.
const INDIVIDUAL_COLUMN_NAMES: &str = "fid family familyid famid iid individual individualid id sample \
     sampleid withinfamilyid pat paternal paternalid father fatherid pid mat maternal maternalid \
     mother motherid mid sex gender pheno phenotype pheno1 phen trait status affection";
const VARIANT_COLUMN_NAMES: &str = "chr chrom chromosome snp snpid sid id rsid rs variant variantid varid \
     marker markername name cm cmposition morgan morgans gd geneticdistance genpos bp bpposition \
     pos position basepair coordinate a0 a1 a2 allele0 allele1 allele2 ref alt counted";

/// Finds a line of a text that is a header or a comment.
pub(super) fn check_header(text: &[u8], sheet: TableKind) -> Result<(), Fault> {
    let mut check = HeaderCheck::new(sheet);
    check.add_block(text)?;
    check.check_last_line()
}

/// Checks the first line of a text and lines that begin with `#`; the text may arrive in blocks.
struct HeaderCheck {
    sheet: TableKind,
    row: usize,
    is_start: bool,
    /// The beginning of the current line, as far as it has been read.
    line: Option<Vec<u8>>,
}

impl HeaderCheck {
    const fn new(sheet: TableKind) -> Self {
        Self {
            sheet,
            row: 0,
            is_start: true,
            line: None,
        }
    }

    fn add_block(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let mut rest = piece;
        while let Some(first) = rest.first() {
            if self.is_start {
                self.is_start = false;
                self.line = (self.row == 0 || *first == b'#').then(Vec::new);
            }
            let Some(line) = &mut self.line else {
                rest = self.skip_to_comment(rest);
                continue;
            };
            let end = memchr(b'\n', rest);
            let (more, after) = rest.split_at(end.unwrap_or(rest.len()));
            let capacity = MAX_COMPARED_BYTES.saturating_sub(line.len());
            line.extend_from_slice(more.get(..capacity).unwrap_or(more));
            rest = after.get(1..).unwrap_or_default();
            if end.is_some() {
                self.check_last_line()?;
                self.row += 1;
                (self.is_start, self.line) = (true, None);
            }
        }
        Ok(())
    }

    /// Skips lines up to the next line that begins with `#`.
    fn skip_to_comment<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let end = memmem::find(rest, b"\n#").map_or(rest.len(), |at| at + 1);
        let (lines, rest) = rest.split_at(end);
        self.row += lines::count_line_ends(lines);
        self.is_start = lines.ends_with(b"\n");
        rest
    }

    /// Checks the current line, which has been read completely.
    fn check_last_line(&self) -> Result<(), Fault> {
        let line = self.line.as_deref().unwrap_or_default();
        let text = String::from_utf8_lossy(line.get(lines::text_start(line)..).unwrap_or_default());
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if self.row == 0 && is_header(&fields, self.sheet) {
            return Err(self.header_fault("a header", &fields));
        }
        if text.starts_with('#') && !is_data_row(&fields, self.sheet) {
            return Err(self.header_fault("a comment", &fields));
        }
        Ok(())
    }

    fn header_fault(&self, what: &str, fields: &[&str]) -> Fault {
        let text = fields.join(" ");
        let mut shown: String = text.chars().take(MAX_LINE_CHARS).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        let (table, row) = match self.sheet {
            TableKind::Fam => (".fam", "an individual"),
            TableKind::Bim => (".bim", "a variant"),
        };
        let message = format!(
            "expected {row}, found {what} ({shown}); delete the line: a {table} has rows only, and \
             reading it as {row} would shift all genotypes by one"
        );
        Fault {
            kind: FaultKind::Header,
            line: Some(as_u64(self.row) + FIRST_LINE_NUMBER),
            ..Fault::of_file(message)
        }
    }
}

/// Returns whether a line is a header, which has default names of unnamed columns, or
/// common column names and no number.
fn is_header(fields: &[&str], sheet: TableKind) -> bool {
    let names: Vec<String> = fields.iter().map(|field| normalize_name(field)).collect();
    has_default_names(&names)
        || (!fields.iter().any(|field| is_number(field)) && has_common_names(&names, sheet))
}

/// Returns whether a line has the names that R, pandas or polars write for unnamed
/// columns.
fn has_default_names(names: &[String]) -> bool {
    let is_all = |prefix: &str, first: usize| {
        let mut numbered = names.iter().zip(first..);
        numbered.all(|(name, number)| *name == format!("{prefix}{number}"))
    };
    names.len() >= COLUMN_COUNT && (is_all("", 0) || is_all("v", 1) || is_all("column", 1))
}

/// Returns whether a line has several common column names.
fn has_common_names(names: &[String], sheet: TableKind) -> bool {
    let known = match sheet {
        TableKind::Fam => INDIVIDUAL_COLUMN_NAMES,
        TableKind::Bim => VARIANT_COLUMN_NAMES,
    };
    let is_found = |known: &&str| names.iter().any(|name| name == known);
    known.split_ascii_whitespace().filter(is_found).count() >= MIN_HEADER_NAMES
}

/// Returns a name in lower case, without quotation marks and punctuation.
fn normalize_name(field: &str) -> String {
    let letters = field.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
}

/// Returns whether a line has a number for the sex of an individual or the position of
/// a variant.
fn is_data_row(fields: &[&str], sheet: TableKind) -> bool {
    let number = match sheet {
        TableKind::Fam => Some(COLUMN_COUNT - 2),
        TableKind::Bim => fields.len().checked_sub(3),
    };
    let number = number.and_then(|position| fields.get(position));
    fields.len() >= MIN_BIM_COLUMNS && number.is_some_and(|field| is_number(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_fault(text: &str, sheet: TableKind) -> Option<Fault> {
        check_header(text.as_bytes(), sheet).err()
    }

    #[test]
    fn headers_and_comments_are_found_with_their_line() {
        let rows = "f a 0 0 1 2\ng b 0 0 2 1\n";
        for (text, line) in [
            (format!("FID IID PAT MAT SEX PHENOTYPE\n{rows}"), 1),
            (
                format!("\u{FEFF}\"V1\" \"V2\" \"V3\" \"V4\" \"V5\" \"V6\"\r\n{rows}"),
                1,
            ),
            (format!("0 1 2 3 4 5\n{rows}"), 1),
            (format!("# a study of ours, 2026\n{rows}"), 1),
            (format!("{rows}# more samples\n{rows}"), 3),
            (format!("{rows}#"), 3),
        ] {
            assert_eq!(
                header_fault(&text, TableKind::Fam).and_then(|fault| fault.line),
                Some(line)
            );
        }
        let header = "CHR SNP BP A1 A2\n1 s 5 A G\n";
        assert!(header_fault(header, TableKind::Bim).is_some());
    }

    #[test]
    fn data_rows_are_not_headers() {
        for text in [
            "",
            "\n",
            "#f a 0 0 1 2\n#g b 0 0 2 1\n",
            "sex id 0 0 1 2\n",
            "f a 0 0 M 1",
        ] {
            assert_eq!(header_fault(text, TableKind::Fam), None);
        }
        assert_eq!(
            header_fault("1 snp 0 5 A1 A2\n#2 s 0 5 A G\n", TableKind::Bim),
            None
        );
    }

    #[test]
    fn the_first_invalid_line_does_not_depend_on_the_block_size() {
        let text = "f a 0 0 1 2\n#g b 0 0 2 1\nh c 0 0 2 1\n# not a row\n";
        for size in 1..text.len() {
            let mut check = HeaderCheck::new(TableKind::Fam);
            let mut pieces = text.as_bytes().chunks(size);
            let fault = pieces.find_map(|piece| check.add_block(piece).err());
            assert_eq!(fault.and_then(|fault| fault.line), Some(4), "{size}");
        }
    }
}
