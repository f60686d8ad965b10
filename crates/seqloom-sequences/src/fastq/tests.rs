use proptest::prelude::*;
use seqloom_core::error::{Fault, FaultKind};

use super::{FastqParser, Position};
use crate::cursor::MAX_HEADER_BYTES;
use crate::options::{QualityEncoding, ReaderOptions};
use crate::sink::RecordSink;

type TextRecord = (String, String, String);

/// A sink that stores the parsed records.
#[derive(Debug, Default)]
struct FastqRecords {
    records: Vec<TextRecord>,
    completed: usize,
}

impl RecordSink for FastqRecords {
    fn begin_record(&mut self, header: &[u8]) {
        let header = String::from_utf8_lossy(header).into();
        self.records.push((header, String::new(), String::new()));
    }

    fn add_residues(&mut self, letters: &[u8], _: Position) {
        let record = self.records.last_mut().unwrap();
        record.1.push_str(std::str::from_utf8(letters).unwrap());
    }

    fn add_qualities(&mut self, qualities: &[u8]) {
        let record = self.records.last_mut().unwrap();
        record.2.push_str(std::str::from_utf8(qualities).unwrap());
    }

    fn end_record(&mut self) {
        self.completed += 1;
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// Parses a text in chunks of the given size.
fn parse_as(text: &[u8], size: usize, options: &ReaderOptions) -> Result<Vec<TextRecord>, Fault> {
    let (mut parser, mut found) = (FastqParser::new(options), FastqRecords::default());
    for part in text.chunks(size.max(1)) {
        assert_eq!(parser.parse_chunk(part, &mut found)?, part.len());
    }
    parser.finish_text(&mut found)?;
    assert_eq!(found.completed, found.records.len());
    assert_eq!(parser.record_count(), found.completed as u64);
    Ok(found.records)
}

fn parse(text: &[u8], size: usize) -> Result<Vec<TextRecord>, Fault> {
    parse_as(text, size, &ReaderOptions::default())
}

fn records(text: &[u8]) -> Vec<TextRecord> {
    parse(text, text.len()).unwrap()
}

fn triples(expected: &[(&str, &str, &str)]) -> Vec<TextRecord> {
    let owned = |(a, b, c): &(&str, &str, &str)| ((*a).into(), (*b).into(), (*c).into());
    expected.iter().map(owned).collect()
}

/// Returns the kind, record, id, line, byte and message of the error.
fn error_of(text: &[u8]) -> (FaultKind, Option<u64>, Option<String>, u64, u64, String) {
    let fault = parse(text, text.len()).unwrap_err();
    let (line, byte) = (fault.line.unwrap(), fault.byte.unwrap());
    (
        fault.kind,
        fault.record,
        fault.id,
        line,
        byte,
        fault.message,
    )
}

#[test]
fn a_record_has_four_lines() {
    assert_eq!(
        records(b"@a x\nACGT\n+\nII@+\n@b\nT\n+b\n@\n"),
        triples(&[("a x", "ACGT", "II@+"), ("b", "T", "@")])
    );
}

#[test]
fn residues_and_qualities_may_be_wrapped() {
    assert_eq!(
        records(b"@a\nAC\nGT\n+\n@@\n+I\n@b\nT\n+\n@"),
        triples(&[("a", "ACGT", "@@+I"), ("b", "T", "@")])
    );
}

#[test]
fn line_ends_blank_lines_and_a_byte_order_mark_are_ignored() {
    let expected = triples(&[("a", "ACGT", "IIII"), ("b", "T", "I")]);
    for text in [
        &b"@a\r\nACGT\r\n+\r\nIIII\r\n@b\r\nT\r\n+\r\nI\r\n"[..],
        b"@a\nACGT\n+a\nIIII\n@b\nT\n+\nI\r",
        b"\n\n@a\nACGT\n+\nII\nII\n\n\r\n@b\nT\n+\nI\n\n",
        b"\xEF\xBB\xBF@a\nACGT\n+\nIIII\n@b\nT\n+\nI",
    ] {
        assert_eq!(records(text), expected, "{text:?}");
    }
}

#[test]
fn a_record_may_be_empty() {
    let expected = triples(&[("a", "", ""), ("b", "T", "I")]);
    assert_eq!(records(b"@a\n\n+\n\n@b\nT\n+\nI\n"), expected);
    assert_eq!(records(b"@a\r\n\r\n+\n@b\nT\n+\nI\n"), expected);
    assert_eq!(records(b"@a\n\n+"), triples(&[("a", "", "")]));
}

#[test]
fn a_fault_names_kind_record_id_line_and_byte() {
    let text = b"@a\nACGT\n+\nIIII\n@b x\nA T\n+\nIII\n";
    assert_eq!(
        error_of(text),
        (
            FaultKind::Letter,
            Some(1),
            Some("b".into()),
            6,
            21,
            "expected a residue, found a space".into()
        )
    );
}

#[test]
fn each_fault_has_its_kind() {
    for (text, kind) in [
        (&b"@a\nACGT\n+\nIII\n"[..], FaultKind::Cut),
        (b"@a\nACGT\n+\nIIIII\n", FaultKind::Length),
        (b"@a\nACGT\n+\nIII\n@b\nA\n+\nI\n", FaultKind::Length),
        (b"@a\nACGT\n+b\nIIII\n", FaultKind::Names),
        (b"@a\nACGT\n+\nII I\n", FaultKind::Quality),
        (b"@a\nACGT\n+\nII\x7FI\n", FaultKind::Quality),
        (b"@a\nAC\xC3T\n+\nIIII\n", FaultKind::Letter),
        (b"@a\nACGT\n@b\nACGT\n+\nIIII\n", FaultKind::Cut),
        (b"@a\nACGT\n+\nIIII\nIIII\n", FaultKind::Header),
        (b"@a\nACGT\n", FaultKind::Cut),
        (b"@a", FaultKind::Cut),
        (b"@\nA\n+\nI\n", FaultKind::Header),
        (b"@a\n\nACGT\n+\nIIII\n", FaultKind::Letter),
        (b"@a\nACGT\n\n+\nIIII\n", FaultKind::Letter),
        (b"@a\n\n\n+\n", FaultKind::Letter),
        (b"@a\n+\n", FaultKind::Letter),
        (b"@a\nACGT\n+\n\nIIII\n", FaultKind::Length),
        (b"@a\nAC\rGT\n+\nIIII\n", FaultKind::Letter),
        (b"ACGT\n", FaultKind::Header),
        (b"@ \t\nA\n+\nI\n", FaultKind::Header),
        (b"\n @a\nA\n+\nI\n", FaultKind::Header),
        (b"\n \n", FaultKind::Format),
        (b"\xEF\xBB@a\nA\n+\nI\n", FaultKind::Format),
        (b"\n", FaultKind::Format),
    ] {
        let found = parse(text, text.len()).unwrap_err();
        assert_eq!(found.kind, kind, "{found:?}");
    }
}

#[test]
fn the_declared_encoding_limits_the_qualities() {
    let lowest = |quality, text: &[u8]| {
        let options = ReaderOptions {
            quality,
            ..ReaderOptions::default()
        };
        parse_as(text, 99, &options).is_ok()
    };
    for (quality, byte) in [
        (QualityEncoding::Phred33, b'!'),
        (QualityEncoding::Phred64, b'@'),
        (QualityEncoding::Solexa, b';'),
    ] {
        let text = |byte: u8| [b"@a\nAA\n+\n~", &[byte][..], b"\n"].concat();
        assert!(lowest(quality, &text(byte)), "{quality:?}");
        assert!(!lowest(quality, &text(byte - 1)), "{quality:?}");
    }
}

#[test]
fn a_record_above_the_limit_is_an_error_with_its_position() {
    let options = ReaderOptions {
        max_record: Some(4),
        ..ReaderOptions::default()
    };
    let text = b"@a\nACGT\n+\nIIII\n@b\nACG\nTA\n+\nIIIII\n";
    for size in [1, 3, 99] {
        let fault = parse_as(text, size, &options).unwrap_err();
        assert_eq!(
            (fault.kind, fault.line, fault.byte),
            (FaultKind::Limit, Some(7), Some(23))
        );
    }
}

#[test]
fn an_error_names_lone_carriage_returns() {
    for text in [&b"@r\rAC\r+\rII\r"[..], b"@r x\rAC"] {
        let (kind, _, _, line, byte, message) = error_of(text);
        assert_eq!((kind, line), (FaultKind::Header, 1));
        let at = usize::try_from(byte).unwrap();
        assert_eq!(text.get(at), Some(&b'\r'));
        assert!(message.contains("carriage return"), "{message}");
    }
    let long = [b"@r\r", &vec![b'A'; MAX_HEADER_BYTES + 9][..]].concat();
    assert!(error_of(&long).5.contains("carriage return"));
    assert_eq!(error_of(b"@r\r").0, FaultKind::Cut);
}

#[test]
fn a_header_above_the_limit_is_an_error_for_any_chunk_size() {
    let text = [b"@", &vec![b'x'; MAX_HEADER_BYTES + 1][..], b"\nA\n+\nI\n"].concat();
    let whole = parse(&text, text.len()).unwrap_err();
    assert_eq!(
        (whole.kind, whole.byte),
        (FaultKind::Limit, Some(1 + (1 << 20)))
    );
    assert_eq!(parse(&text, 1000).unwrap_err(), whole);
}

/// Returns the residues of a record, and the text after the `+`.
fn read_residues_line_by_line<'a>(
    lines: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(Vec<u8>, &'a [u8])> {
    let first = lines.next()?;
    let mut letters = first.to_vec();
    if first.is_empty() {
        return Some((letters, lines.next()?.strip_prefix(b"+")?));
    }
    if first.starts_with(b"+") || first.starts_with(b"@") {
        return None;
    }
    loop {
        match lines.next() {
            None | Some([] | [b'@', ..]) => return None,
            Some([b'+', again @ ..]) => return Some((letters, again)),
            Some(line) => letters.extend_from_slice(line),
        }
    }
}

/// A simple parser that reads line by line and must return the same results.
fn parse_line_by_line(text: &[u8]) -> Option<Vec<TextRecord>> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut found = Vec::new();
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let header = line.strip_prefix(b"@")?;
        let has_id = header.first().is_some_and(|byte| !b" \t".contains(byte));
        if !has_id || header.contains(&b'\r') || header.contains(&0) {
            return None;
        }
        let (letters, again) = read_residues_line_by_line(&mut lines)?;
        let again = again.trim_ascii_end();
        if !again.is_empty() && again != header.trim_ascii_end() {
            return None;
        }
        let mut qualities = Vec::new();
        while qualities.len() < letters.len() {
            let line = lines.next().filter(|line| !line.is_empty())?;
            qualities.extend_from_slice(line);
        }
        let is_letter = |byte: &u8| byte.is_ascii_graphic() && *byte != b'>';
        let is_fine = letters.iter().all(is_letter) && qualities.iter().all(u8::is_ascii_graphic);
        if !is_fine || qualities.len() > letters.len() {
            return None;
        }
        found.push((owned(header), owned(&letters), owned(&qualities)));
    }
    Some(found).filter(|found| !found.is_empty())
}

fn random_text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop::sample::select(b"@@@+++\n\n\n\nACGTIII \t\r\0>\xEF\xBB\xBF".to_vec()),
        0..60,
    )
}

/// Generates mostly valid FASTQ, which `random_text` rarely generates.
fn likely_fastq() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        "@a\nACGT\n+\nIIII\n",
        "@b c\r\nAC\r\n+\r\n@I\r\n",
        "@c\nA\nC\n+c\nI\n+\n",
        "@d\n\n+\n\n",
        "\n",
        "\r\n",
        "@e\n",
        "+\n",
        "I\n",
        "@III\n",
        "A",
        "\r",
    ]);
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_simple_parser_gives_the_same_records(text in prop_oneof![random_text(), likely_fastq()]) {
        prop_assert_eq!(parse(&text, text.len()).ok(), parse_line_by_line(&text));
    }

    #[test]
    fn the_chunk_size_does_not_change_the_records(text in prop_oneof![random_text(), likely_fastq()], size in 1_usize..9) {
        prop_assert_eq!(parse(&text, size), parse(&text, text.len()));
    }
}
