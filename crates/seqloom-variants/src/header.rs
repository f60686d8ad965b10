//! The header of a VCF or BCF file.

use std::collections::HashMap;

use memchr::{memchr, memchr_iter, memmem};
use seqloom_compression::ReadError;
use seqloom_compression::lines::Lines;
use seqloom_core::error::{Fault, FaultKind};

use crate::report::{VariantReport, shorten};

/// The type of the values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True if the field is present.
    Flag,
    /// 32-bit integers.
    Integer,
    /// 32-bit floating point numbers.
    Float,
    /// Text.
    Text,
}

/// The declaration of an INFO or FORMAT field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The number of values: an integer, `A`, `R`, `G` or `.`, as in the header.
    pub number: Vec<u8>,
    /// The type of the values.
    pub kind: Kind,
}

/// A sequence that the header declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contig {
    /// The name.
    pub name: Vec<u8>,
    /// The number of bases, if the header states it.
    pub length: Option<i64>,
}

/// The header of a VCF or BCF file.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The lines of the header, with line feeds.
    pub text: Vec<u8>,
    /// The declared sequences, in file order.
    pub contigs: Vec<Contig>,
    /// The names of the samples.
    pub samples: Vec<Vec<u8>>,
    /// The declared INFO fields.
    pub info: HashMap<Vec<u8>, Declaration>,
    /// The declared FORMAT fields.
    pub format: HashMap<Vec<u8>, Declaration>,
    /// The declared filters, in file order.
    pub filters: Vec<Vec<u8>>,
    /// The names of INFO, FORMAT and FILTER by their number in BCF.
    pub dictionary: Vec<Option<Vec<u8>>>,
    /// The index in `contigs` by the number in BCF.
    pub contig_numbers: Vec<Option<usize>>,
    numbers: HashMap<Vec<u8>, usize>,
}

/// The largest number that a header may assign to a name. A larger number would allocate
/// memory that no line of the file fills.
const MAX_INDEX: usize = 1 << 20;

/// The first columns of the line that ends the header.
const COLUMNS: [&[u8]; 8] = [
    b"#CHROM", b"POS", b"ID", b"REF", b"ALT", b"QUAL", b"FILTER", b"INFO",
];

impl Header {
    /// Adds a line without its line feed. Returns true if the line ends the header.
    pub(crate) fn add_line(
        &mut self,
        line: &[u8],
        number: u64,
        report: &mut VariantReport,
    ) -> Result<bool, Fault> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if number == 1 {
            self.add_number(b"PASS", None);
            check_version(line, report);
        }
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        if let Some(rest) = line.strip_prefix(b"##") {
            self.add_meta(rest, number, report);
            return Ok(false);
        }
        if line.starts_with(b"#") {
            return self.add_columns(line, number, report).map(|()| true);
        }
        let message = format!(
            "expected a header line (##...) or the line of column names (#CHROM...), found {:?}",
            shorten(line)
        );
        Err(header_fault(number, message))
    }

    fn add_meta(&mut self, line: &[u8], number: u64, report: &mut VariantReport) {
        let Some(at) = memchr(b'=', line) else {
            return;
        };
        let (key, value) = line.split_at(at);
        let Some(body) = value.strip_prefix(b"=<") else {
            return;
        };
        let attributes = Attributes::parse(body);
        let Some(id) = attributes.get(b"ID") else {
            return;
        };
        let is_new = match key {
            b"contig" => self.add_contig(id, &attributes),
            b"INFO" => add_declaration(&mut self.info, id, &attributes),
            b"FORMAT" => add_declaration(&mut self.format, id, &attributes),
            b"FILTER" => {
                let is_new = !self.filters.iter().any(|name| name == id);
                self.filters.push(id.to_vec());
                is_new || id == b"PASS"
            }
            _ => return,
        };
        if !is_new {
            report.count("duplicate_declaration", number, id);
        }
        if key != b"contig" {
            self.add_number(id, attributes.index());
        }
    }

    /// The name of a contig by its number in BCF.
    pub(crate) fn contig_name(&self, number: i32) -> Option<&[u8]> {
        let number = usize::try_from(number).ok()?;
        let index = self.contig_numbers.get(number).copied()??;
        self.contigs.get(index).map(|contig| contig.name.as_slice())
    }

    /// The names of all contigs by their number in BCF; unused numbers have empty names.
    pub(crate) fn numbered_contigs(&self) -> Vec<Vec<u8>> {
        let contigs = self.contig_numbers.iter();
        let contigs = contigs.map(|index| self.contigs.get((*index)?));
        let names = contigs.map(|contig| contig.map(|it| it.name.clone()));
        names.map(Option::unwrap_or_default).collect()
    }

    /// The name of an INFO, FORMAT or FILTER by its number in BCF.
    pub(crate) fn field_name(&self, number: i32) -> Option<&[u8]> {
        let number = usize::try_from(number).ok()?;
        self.dictionary.get(number)?.as_deref()
    }

    /// Returns true if an INFO field has no value.
    pub(crate) fn is_flag(&self, name: &[u8]) -> bool {
        self.info.get(name).is_some_and(|it| it.kind == Kind::Flag)
    }

    /// Removes the numbers of names from the text, as programs do that convert BCF to VCF.
    pub(crate) fn remove_numbers(&mut self) {
        let mut text = Vec::with_capacity(self.text.len());
        for line in self.text.split_inclusive(|byte| *byte == b'\n') {
            let number = memmem::rfind(line, b",IDX=");
            let (start, number) = line.split_at(number.unwrap_or(line.len()));
            text.extend_from_slice(start);
            match number.strip_prefix(b",IDX=") {
                Some([digits @ .., b'>', b'\n']) if digits.iter().all(u8::is_ascii_digit) => {
                    text.extend_from_slice(b">\n");
                }
                _ => text.extend_from_slice(number),
            }
        }
        self.text = text;
    }

    fn add_contig(&mut self, id: &[u8], attributes: &Attributes<'_>) -> bool {
        if self.numbers.contains_key(&contig_key(id)) {
            return false;
        }
        let length = attributes.get(b"length").and_then(parse_text::<i64>);
        self.numbers.insert(contig_key(id), self.contigs.len());
        let number = attributes.index().unwrap_or(self.contig_numbers.len());
        set_at(&mut self.contig_numbers, number, self.contigs.len());
        self.contigs.push(Contig {
            name: id.to_vec(),
            length: length.filter(|length| *length >= 0),
        });
        true
    }

    /// Assigns a number in BCF to a name of INFO, FORMAT or FILTER.
    fn add_number(&mut self, name: &[u8], number: Option<usize>) {
        if self.numbers.contains_key(name) {
            return;
        }
        let number = number.unwrap_or(self.dictionary.len());
        self.numbers.insert(name.to_vec(), number);
        set_at(&mut self.dictionary, number, name.to_vec());
    }

    fn add_columns(
        &mut self,
        line: &[u8],
        number: u64,
        report: &mut VariantReport,
    ) -> Result<(), Fault> {
        let names: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        if !names.starts_with(&COLUMNS) {
            let spaces = memchr_iter(b' ', line).count();
            let hint = if names.len() < COLUMNS.len() && spaces >= COLUMNS.len() - 1 {
                "; the columns are separated by spaces: replace the spaces by tabs"
            } else {
                ""
            };
            let message = format!(
                "expected the columns #CHROM POS ID REF ALT QUAL FILTER INFO separated by tabs, \
                 found {:?}{hint}",
                shorten(line)
            );
            return Err(header_fault(number, message));
        }
        self.samples = names.iter().skip(9).map(|name| name.to_vec()).collect();
        let mut sorted: Vec<&Vec<u8>> = self.samples.iter().collect();
        sorted.sort_unstable();
        for (first, second) in sorted.iter().zip(sorted.iter().skip(1)) {
            if first == second {
                report.count("duplicate_sample", number, first);
            }
        }
        Ok(())
    }
}

/// Returns an error if the text does not begin like a VCF file.
pub(crate) fn check_start(text: &[u8]) -> Result<(), Fault> {
    match text {
        [] => Err(Fault::of_file("the file is empty; expected a VCF header")),
        [b'#', ..] => Ok(()),
        _ => {
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let message = format!(
                "expected a VCF file, which begins with ##fileformat=VCFv4, found {:?}",
                shorten(line)
            );
            Err(header_fault(1, message))
        }
    }
}

pub(crate) fn read_header(
    lines: &mut Lines,
    report: &mut VariantReport,
) -> Result<Header, ReadError> {
    let mut header = Header::default();
    let mut number = 0;
    while let Some(line) = lines.next_line()? {
        number = line.number;
        let added = header.add_line(line.text, number, report);
        if added.map_err(ReadError::Damage)? {
            return Ok(header);
        }
    }
    let message = "the file ends before the line of column names (#CHROM...); it is truncated";
    Err(ReadError::Damage(header_fault(number, message.to_owned())))
}

/// Returns a key for a sequence that no name of a field can equal.
fn contig_key(name: &[u8]) -> Vec<u8> {
    [b"\n", name].concat()
}

fn set_at<T: Clone>(table: &mut Vec<Option<T>>, index: usize, value: T) {
    if index >= MAX_INDEX {
        return;
    }
    if table.len() <= index {
        table.resize(index + 1, None);
    }
    if let Some(place) = table.get_mut(index) {
        *place = Some(value);
    }
}

fn check_version(line: &[u8], report: &mut VariantReport) {
    match line.strip_prefix(b"##fileformat=VCFv4.") {
        Some([b'1'..=b'5']) => {}
        Some(_) => report.count("unknown_version", 1, line),
        None => report.count("missing_fileformat", 1, line),
    }
}

fn add_declaration(
    table: &mut HashMap<Vec<u8>, Declaration>,
    id: &[u8],
    attributes: &Attributes<'_>,
) -> bool {
    let kind = match attributes.get(b"Type") {
        Some(b"Integer") => Kind::Integer,
        Some(b"Float") => Kind::Float,
        Some(b"Flag") => Kind::Flag,
        _ => Kind::Text,
    };
    let number = attributes.get(b"Number").unwrap_or(b".").to_vec();
    if table.contains_key(id) {
        return false;
    }
    table.insert(id.to_vec(), Declaration { number, kind });
    true
}

/// The attributes of a header line such as `<ID=AF,Number=A,Type=Float>`.
struct Attributes<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Attributes<'a> {
    /// Parses the text after `<`.
    fn parse(mut body: &'a [u8]) -> Self {
        let mut all = Vec::new();
        while let Some(at) = memchr(b'=', body) {
            let (key, rest) = body.split_at(at);
            let rest = rest.get(1..).unwrap_or_default();
            let size = value_size(rest);
            let (value, rest) = rest.split_at(size.min(rest.len()));
            all.push((key.trim_ascii(), value));
            body = rest.get(1..).unwrap_or_default();
        }
        Self(all)
    }

    fn get(&self, key: &[u8]) -> Option<&'a [u8]> {
        let pair = self.0.iter().find(|(name, _)| *name == key);
        pair.map(|(_, value)| *value)
    }

    /// The number of the name in BCF.
    fn index(&self) -> Option<usize> {
        self.get(b"IDX").and_then(parse_text)
    }
}

/// Returns the id of a declaration; `body` is the text after `<`.
pub(crate) fn attribute_id(body: &[u8]) -> Option<&[u8]> {
    Attributes::parse(body).get(b"ID")
}

/// Returns the number of bytes before the comma or bracket that ends a value.
fn value_size(text: &[u8]) -> usize {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' | b'>' if !is_quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// Parses a number of the header.
fn parse_text<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Returns the error for an invalid header.
pub(crate) fn header_fault(line: u64, message: String) -> Fault {
    Fault {
        kind: FaultKind::Header,
        line: Some(line),
        ..Fault::of_file(message)
    }
}
