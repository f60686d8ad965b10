//! Columns of INFO and FORMAT fields.

use seqloom_core::error::{Error, Fault, Result};

use crate::columns::BytesColumn;
use crate::header::{Declaration, Header, Kind};
use crate::numbers::{parse_float, parse_integer};
use crate::report::VariantReport;
use crate::typed::{TypedValues, ValueType};
use crate::vcf::value_fault;

/// A field that the caller requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// True for FORMAT, false for INFO.
    pub is_format: bool,
    /// The name, such as `AF`.
    pub name: Vec<u8>,
    /// The type of the values.
    pub kind: Kind,
    count: ValueCount,
    is_declared: bool,
}

/// The number of values that the header declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueCount {
    Fixed(usize),
    /// One value for each alternative allele.
    Alternatives,
    /// One value for each allele.
    Alleles,
    Any,
}

/// INFO and FORMAT fields whose type the specification reserves.
const INTEGERS: &[&[u8]] = &[
    b"AC", b"AD", b"ADF", b"ADR", b"AN", b"DP", b"END", b"EC", b"GQ", b"HQ", b"MQ", b"NS", b"PL",
    b"PQ", b"PS", b"MQ0",
];
const FLOATS: &[&[u8]] = &[b"AF", b"BQ", b"DS", b"GL", b"GP", b"SB"];

impl Field {
    /// Finds the declaration of a field such as `INFO/AF` or `FORMAT/DS`. The type of an
    /// undeclared field is that of the specification, or text.
    pub fn resolve(name: &str, header: &Header) -> Result<Self> {
        let parts = [("INFO/", &header.info), ("FORMAT/", &header.format)];
        for (is_format, (prefix, declared)) in [false, true].into_iter().zip(parts) {
            let Some(name) = name.strip_prefix(prefix).filter(|name| !name.is_empty()) else {
                continue;
            };
            let name = name.as_bytes().to_vec();
            let declaration = declared.get(&name);
            return Ok(Self {
                is_format,
                kind: declaration.map_or_else(|| reserved_kind(&name), |it| it.kind),
                count: declaration.map_or(ValueCount::Any, ValueCount::new),
                is_declared: declaration.is_some(),
                name,
            });
        }
        let message = format!("fields: {name:?} is not a field; write INFO/NAME or FORMAT/NAME");
        Err(Error::argument(message))
    }

    /// Counts the use of a field that the header does not declare.
    pub(crate) fn check_declared(&self, line: u64, report: &mut VariantReport) {
        if !self.is_declared {
            let kind = if self.is_format {
                "undeclared_format"
            } else {
                "undeclared_info"
            };
            report.count(kind, line, &self.name);
        }
    }

    /// Counts a number of values that differs from the declaration.
    #[inline]
    pub(crate) fn check_count(
        &self,
        count: usize,
        alternatives: usize,
        (line, report): (u64, &mut VariantReport),
    ) {
        let expected = match self.count {
            ValueCount::Fixed(count) => count,
            ValueCount::Alternatives => alternatives,
            ValueCount::Alleles => alternatives + 1,
            ValueCount::Any => return,
        };
        if count != expected {
            report.count("number_of_values", line, &self.name);
        }
    }

    /// The name with INFO or FORMAT, for messages.
    fn full_name(&self) -> String {
        let scope = if self.is_format { "FORMAT" } else { "INFO" };
        format!("{scope}/{}", String::from_utf8_lossy(&self.name))
    }
}

impl ValueCount {
    fn new(declaration: &Declaration) -> Self {
        match declaration.number.as_slice() {
            b"A" => Self::Alternatives,
            b"R" => Self::Alleles,
            text => match std::str::from_utf8(text).map(str::parse) {
                Ok(Ok(count)) => Self::Fixed(count),
                _ => Self::Any,
            },
        }
    }
}

fn reserved_kind(name: &[u8]) -> Kind {
    match name {
        _ if INTEGERS.contains(&name) => Kind::Integer,
        _ if FLOATS.contains(&name) => Kind::Float,
        b"DB" | b"H2" | b"H3" | b"SOMATIC" | b"VALIDATED" | b"1000G" => Kind::Flag,
        _ => Kind::Text,
    }
}

/// A number that a column stores.
pub trait FieldNumber: Copy {
    /// The number of a missing value.
    const MISSING_VALUE: Self;
    /// The description of the expected text in messages.
    const EXPECTED_TEXT: &'static str;
    /// Parses a number.
    fn parse(text: &[u8]) -> Option<Self>;
    /// Returns true for the number of a missing value.
    fn is_missing(self) -> bool;
}

impl FieldNumber for i32 {
    const MISSING_VALUE: Self = Self::MIN;
    const EXPECTED_TEXT: &'static str = "an integer of 32 bits";

    fn parse(text: &[u8]) -> Option<Self> {
        parse_integer(text)
    }

    fn is_missing(self) -> bool {
        self == Self::MISSING_VALUE
    }
}

impl FieldNumber for f32 {
    const MISSING_VALUE: Self = Self::NAN;
    const EXPECTED_TEXT: &'static str = "a number";

    fn parse(text: &[u8]) -> Option<Self> {
        parse_float(text)
    }

    fn is_missing(self) -> bool {
        self.is_nan()
    }
}

/// Rows of numbers. All rows have the width of the longest row; missing values fill the
/// others.
#[derive(Clone, Debug)]
pub struct NumberColumn<T> {
    /// The numbers of all rows.
    pub values: Vec<T>,
    /// The number of values of a row.
    pub width: usize,
    row: Vec<T>,
}

impl<T: FieldNumber> NumberColumn<T> {
    fn new() -> Self {
        Self {
            values: Vec::new(),
            width: 1,
            row: Vec::new(),
        }
    }

    /// Appends the numbers of a text with commas. Returns their count, or the part that is
    /// not a number.
    #[inline]
    fn push_text<'a>(&mut self, text: &'a [u8]) -> std::result::Result<usize, &'a [u8]> {
        self.row.clear();
        for part in text.split(|byte| *byte == b',') {
            let value = match part {
                b"." | b"" => T::MISSING_VALUE,
                _ => T::parse(part).ok_or(part)?,
            };
            self.row.push(value);
        }
        self.end_row();
        Ok(self.row.len())
    }

    /// Appends a row of numbers. Returns their count, or `None` if the only one is missing.
    fn push_row(&mut self, row: impl Iterator<Item = T>) -> Option<usize> {
        self.row.clear();
        self.row.extend(row);
        self.end_row();
        match self.row.as_slice() {
            [] => None,
            [value] if value.is_missing() => None,
            row => Some(row.len()),
        }
    }

    #[inline]
    fn end_row(&mut self) {
        if self.row.len() > self.width {
            self.widen(self.row.len());
        }
        self.values.extend_from_slice(&self.row);
        let missing = self.width - self.row.len();
        self.values
            .extend(std::iter::repeat_n(T::MISSING_VALUE, missing));
    }

    #[cold]
    fn widen(&mut self, width: usize) {
        let rows = self.values.chunks_exact(self.width);
        let mut values = Vec::with_capacity(rows.len() * width);
        for row in rows {
            values.extend_from_slice(row);
            values.extend(std::iter::repeat_n(T::MISSING_VALUE, width - self.width));
        }
        (self.values, self.width) = (values, width);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.width = 1;
    }
}

/// The values of a field in a batch: one row for each record or, for FORMAT, for each
/// record and sample.
#[derive(Clone, Debug)]
pub enum FieldColumn {
    /// True for each row with the field.
    Flags(Vec<bool>),
    /// Integers; a missing one is the least integer.
    Integers(NumberColumn<i32>),
    /// Numbers; a missing one is NaN.
    Floats(NumberColumn<f32>),
    /// Text as in the file; `.` if missing.
    Texts(BytesColumn),
}

impl FieldColumn {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Flag => Self::Flags(Vec::new()),
            Kind::Integer => Self::Integers(NumberColumn::new()),
            Kind::Float => Self::Floats(NumberColumn::new()),
            Kind::Text => Self::Texts(BytesColumn::default()),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Flags(flags) => flags.clear(),
            Self::Integers(column) => column.clear(),
            Self::Floats(column) => column.clear(),
            Self::Texts(column) => column.clear(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Flags(flags) => flags.len(),
            Self::Integers(column) => column.values.len() * 4,
            Self::Floats(column) => column.values.len() * 4,
            Self::Texts(column) => column.data.len(),
        }
    }

    /// Removes all rows from number `rows`.
    pub(crate) fn truncate(&mut self, rows: usize) {
        match self {
            Self::Flags(flags) => flags.truncate(rows),
            Self::Integers(column) => column.values.truncate(rows * column.width),
            Self::Floats(column) => column.values.truncate(rows * column.width),
            Self::Texts(column) => column.truncate(rows),
        }
    }

    /// Appends a row without a value.
    #[inline]
    pub(crate) fn push_missing(&mut self) {
        match self {
            Self::Flags(flags) => flags.push(false),
            Self::Integers(column) => drop(column.push_row(std::iter::empty())),
            Self::Floats(column) => drop(column.push_row(std::iter::empty())),
            Self::Texts(column) => column.push(b"."),
        }
    }

    /// Appends the value in a text. Returns the number of values, or `None` if the value is
    /// missing or its number does not matter.
    #[inline]
    pub(crate) fn push_text(
        &mut self,
        text: &[u8],
        field: &Field,
    ) -> std::result::Result<Option<usize>, Fault> {
        let (count, expected) = match self {
            Self::Flags(flags) => {
                flags.push(true);
                return Ok(None);
            }
            Self::Texts(column) => {
                column.push(if text.is_empty() { b"." } else { text });
                return Ok(None);
            }
            Self::Integers(column) => (column.push_text(text), i32::EXPECTED_TEXT),
            Self::Floats(column) => (column.push_text(text), f32::EXPECTED_TEXT),
        };
        match count {
            Ok(_) if text == b"." => Ok(None),
            Ok(count) => Ok(Some(count)),
            Err(part) => Err(value_fault(&field.full_name(), expected, part)),
        }
    }

    /// Appends the values of a BCF record; see [`push_text`](Self::push_text).
    #[inline]
    pub(crate) fn push_values(
        &mut self,
        values: TypedValues<'_>,
        field: &Field,
    ) -> std::result::Result<Option<usize>, Fault> {
        match (self, values.kind) {
            (Self::Flags(flags), _) => {
                flags.push(true);
                Ok(None)
            }
            (Self::Texts(column), _) => {
                values.append_text(&mut column.data);
                column.end_row();
                Ok(None)
            }
            (column, ValueType::Text) => column.push_text(values.text(), field),
            (Self::Floats(column), _) => Ok(column.push_row(values.floats())),
            (Self::Integers(_), ValueType::Float) => {
                let message = "expected integers, as the header declares, found decimal numbers";
                let name = field.full_name();
                Err(Fault::of_file(format!("{name}: {message}")))
            }
            (Self::Integers(column), _) => Ok(column.push_row(values.integers())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_row_widens_the_rows_before() {
        let mut column = NumberColumn::<i32>::new();
        for text in ["1", "2,.,4", "5,6"] {
            column.push_text(text.as_bytes()).unwrap();
        }
        let missing = i32::MISSING_VALUE;
        let expected = [1, missing, missing, 2, missing, 4, 5, 6, missing];
        assert_eq!((column.values.as_slice(), column.width), (&expected[..], 3));
    }
}
