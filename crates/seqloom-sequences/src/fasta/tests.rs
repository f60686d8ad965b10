use proptest::prelude::*;
use seqloom_core::error::Fault;

use super::{FastaParser, Position, RecordSink};
use crate::cursor::MAX_HEADER_BYTES;
use crate::options::{Comments, ReaderOptions, Whitespace};

/// A sink that stores the parsed records.
#[derive(Debug, Default, PartialEq, Eq)]
struct FastaRecords {
    records: Vec<(String, String)>,
    completed: usize,
}

impl RecordSink for FastaRecords {
    fn begin_record(&mut self, header: &[u8]) {
        self.records
            .push((String::from_utf8_lossy(header).into(), String::new()));
    }

    fn add_residues(&mut self, letters: &[u8], _: Position) {
        let (_, sequence) = self.records.last_mut().unwrap();
        sequence.push_str(std::str::from_utf8(letters).unwrap());
    }

    fn end_record(&mut self) {
        self.completed += 1;
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// Parses a text in chunks of the given size.
fn parse(text: &[u8], size: usize) -> Result<Vec<(String, String)>, Fault> {
    let (mut parser, mut found) = (FastaParser::default(), FastaRecords::default());
    for part in text.chunks(size) {
        assert_eq!(parser.parse_chunk(part, &mut found)?, part.len());
    }
    parser.finish_text(&mut found)?;
    assert_eq!(found.completed, found.records.len());
    Ok(found.records)
}

fn records(text: &[u8]) -> Vec<(String, String)> {
    parse(text, text.len()).unwrap()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(header, letters)| ((*header).into(), (*letters).into()))
        .collect()
}

/// Returns the record, line, byte and message of the error.
fn error_of(text: &[u8]) -> (Option<u64>, u64, u64, String) {
    let fault = parse(text, text.len()).unwrap_err();
    (
        fault.record,
        fault.line.unwrap(),
        fault.byte.unwrap(),
        fault.message,
    )
}

#[test]
fn wrapped_lines_are_joined() {
    assert_eq!(
        records(b">a x\nAC\nGT\n>b\nT\n"),
        pairs(&[("a x", "ACGT"), ("b", "T")])
    );
}

#[test]
fn line_ends_blank_lines_and_trailing_blanks_are_ignored() {
    let expected = pairs(&[("a x", "ACGT"), ("b", "T")]);
    for text in [
        &b">a x\r\nAC\r\nGT\r\n>b\r\nT\r\n"[..],
        b">a x\nACGT\n>b\nT",
        b"\n\n>a x\n\nAC\n \t\nGT\n\n\n>b\nT\n\n",
        b">a x\nAC  \nGT\t\r\n>b\nT \t",
        b"\xEF\xBB\xBF>a x\nACGT\n>b\nT\n",
    ] {
        assert_eq!(records(text), expected, "{text:?}");
    }
}

#[test]
fn a_header_without_residues_is_an_empty_record() {
    assert_eq!(
        records(b">a\n>b\n\n>c"),
        pairs(&[("a", ""), ("b", ""), ("c", "")])
    );
}

#[test]
fn a_header_may_contain_anything_but_line_ends_and_nul() {
    assert_eq!(
        records(">a > \u{e9}\t;\nA\n".as_bytes()),
        pairs(&[("a > \u{e9}\t;", "A")])
    );
}

#[test]
fn text_before_the_first_header_is_an_error() {
    assert_eq!(
        error_of(b"\nACGT\n"),
        (None, 2, 1, "expected '>' and an id, found 'A'".into())
    );
}

#[test]
fn a_blank_within_residues_is_an_error_with_its_position() {
    assert_eq!(
        error_of(b">a\nAC\n>b\nAC GT\n"),
        (
            Some(1),
            4,
            11,
            "expected a residue, found a space in column 3; whitespace=\"strip\" \
             (--whitespace strip) removes blanks"
                .into()
        )
    );
    assert_eq!(
        error_of(b">a\n\tAC\n"),
        (
            Some(0),
            2,
            3,
            "expected a residue, found a tab in column 1; whitespace=\"strip\" \
             (--whitespace strip) removes blanks"
                .into()
        )
    );
}

#[test]
fn control_bytes_and_bytes_above_ascii_are_errors() {
    assert_eq!(
        error_of(b">a\nA\0C\n").3,
        "expected a residue, found a NUL byte"
    );
    assert_eq!(
        error_of(b">a\nA\x07C\n").3,
        "expected a residue, found the byte 0x07"
    );
    assert_eq!(
        error_of(b">a\nA\xFFC\n").3,
        "expected a residue, found the byte 0xff"
    );
    assert_eq!(
        error_of(b">a\0b\nA\n"),
        (Some(0), 1, 2, "expected a header, found a NUL byte".into())
    );
}

#[test]
fn a_missing_line_end_is_an_error() {
    let (record, line, byte, message) = error_of(b">a\nACGT>b\nAC\n");
    assert_eq!((record, line, byte), (Some(0), 2, 7));
    assert!(message.contains("'>' within a line"), "{message}");
}

#[test]
fn a_lone_carriage_return_is_an_error() {
    assert!(
        error_of(b">a\rACGT\r>b\rAC\r")
            .3
            .contains("a lone carriage return")
    );
    assert!(
        error_of(b">a\nAC\rGT\n")
            .3
            .contains("a lone carriage return")
    );
}

#[test]
fn a_header_without_an_id_is_an_error() {
    for text in [&b">\nA\n"[..], b"> \t\nA\n", b">\r\nA\n", b">"] {
        assert_eq!(error_of(text).3, "expected an id after '>', found none");
    }
}

#[test]
fn a_header_may_begin_with_blanks() {
    assert!(parse(b"> a b\nA\n>\tb\nC\n", 3).is_ok());
}

#[test]
fn blank_text_is_an_error() {
    assert!(
        parse(b"\n \n", 9)
            .unwrap_err()
            .message
            .contains("the text is blank")
    );
    assert!(parse(b"", 9).is_err());
}

#[test]
fn half_a_byte_order_mark_is_an_error() {
    assert!(parse(b"\xEF\xBB>a\nA\n", 1).is_err());
}

#[test]
fn a_header_above_the_limit_is_an_error() {
    let text = [b">".to_vec(), vec![b'x'; MAX_HEADER_BYTES + 1]].concat();
    assert!(
        parse(&text, 1 << 16)
            .unwrap_err()
            .message
            .contains("longer than 1048576")
    );
}

fn parse_as(
    text: &[u8],
    size: usize,
    options: &ReaderOptions,
) -> Result<Vec<(String, String)>, Fault> {
    let (mut parser, mut found) = (FastaParser::new(options), FastaRecords::default());
    for part in text.chunks(size) {
        parser.parse_chunk(part, &mut found)?;
    }
    parser.finish_text(&mut found)?;
    Ok(found.records)
}

#[test]
fn a_comment_is_an_error_unless_comments_are_skipped() {
    let text = b"; one\n#\n>a ;\nAC\n;two A\n# three\nGT;#\n>b\n;\n";
    assert_eq!(error_of(b">a\nAC\n;x\n").1, 3);
    let options = ReaderOptions {
        comments: Comments::Skip,
        ..ReaderOptions::default()
    };
    for size in [1, 2, 99] {
        let found = parse_as(text, size, &options).unwrap();
        assert_eq!(found, pairs(&[("a ;", "ACGT;#"), ("b", "")]));
    }
}

#[test]
fn blanks_within_residues_are_removed_with_whitespace_strip() {
    let text = b">a b\n AC  GT\t\r\n\t\n  1 T \n>b\nG\n";
    let options = ReaderOptions {
        whitespace: Whitespace::Strip,
        ..ReaderOptions::default()
    };
    for size in [1, 2, 3, 99] {
        let found = parse_as(text, size, &options).unwrap();
        assert_eq!(found, pairs(&[("a b", "ACGT1T"), ("b", "G")]));
        assert!(parse_as(b">a\nAC\r GT\n", size, &options).is_err());
    }
}

#[test]
fn a_record_above_the_limit_is_an_error_with_its_position() {
    let options = ReaderOptions {
        max_record: Some(4),
        ..ReaderOptions::default()
    };
    for size in [1, 3, 99] {
        let fault = parse_as(b">a\nACGT\n>b\nACG\nTA\n", size, &options).unwrap_err();
        assert_eq!((fault.line, fault.byte), (Some(5), Some(16)));
    }
}

/// A simple parser that reads line by line and must return the same results.
fn parse_line_by_line(text: &[u8]) -> Option<Vec<(String, String)>> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        if let Some(header) = line.strip_prefix(b">") {
            let header = header.strip_suffix(b"\r").unwrap_or(header);
            let has_id = !header.trim_ascii().is_empty();
            if !has_id || header.contains(&b'\r') || header.contains(&0) {
                return None;
            }
            found.push((String::from_utf8_lossy(header).into(), String::new()));
            continue;
        }
        let letters = line.trim_ascii_end();
        if letters.is_empty() {
            continue;
        }
        if b";#".contains(&letters[0]) {
            return None;
        }
        if !letters
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b'>')
        {
            return None;
        }
        found
            .last_mut()?
            .1
            .push_str(std::str::from_utf8(letters).unwrap());
    }
    Some(found).filter(|found| !found.is_empty())
}

fn random_text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop::sample::select(b">>>\n\n\n\nACGTacgt \t\r\0;\xEF\xBB\xBF".to_vec()),
        0..60,
    )
}

/// Generates mostly valid FASTA, which `random_text` rarely generates.
fn likely_fasta() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        "\n", "\r\n", "ACGT\n", "AC\r\n", "T", " ", "GG \n", ">a b\n", ">c\r\n", "\n>d\n",
    ]);
    prop::collection::vec(line, 0..20)
        .prop_map(|lines| format!(">a\n{}", lines.concat()).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_simple_parser_gives_the_same_records(text in prop_oneof![random_text(), likely_fasta()]) {
        prop_assert_eq!(parse(&text, text.len().max(1)).ok(), parse_line_by_line(&text));
    }

    #[test]
    fn the_chunk_size_does_not_change_the_records(text in prop_oneof![random_text(), likely_fasta()], size in 1_usize..9) {
        prop_assert_eq!(parse(&text, size), parse(&text, text.len().max(1)));
    }
}
