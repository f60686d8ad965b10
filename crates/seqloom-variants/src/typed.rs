//! Typed values in the records of BCF files (VCF specification, section 6.3.3).

use seqloom_core::error::Fault;

/// The number that ends a vector before its declared length.
const END_OF_VECTOR: i32 = i32::MIN + 1;
/// The bits of a missing floating point number.
pub(crate) const MISSING_FLOAT: u32 = 0x7F80_0001;
/// The bits of the floating point number that ends a vector.
const END_OF_FLOATS: u32 = 0x7F80_0002;
/// The character of a missing string.
const MISSING_CHARACTER: u8 = 7;

/// The bytes of a record that were not parsed yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

/// The type of the values of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Missing,
    Int8,
    Int16,
    Int32,
    Float,
    Text,
}

/// A vector of values, whose length was compared with the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedValues<'a> {
    pub(crate) kind: ValueType,
    pub(crate) bytes: &'a [u8],
}

impl ValueType {
    fn size(self) -> usize {
        match self {
            Self::Missing => 0,
            Self::Int8 | Self::Text => 1,
            Self::Int16 => 2,
            Self::Int32 | Self::Float => 4,
        }
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else {
            return Err(Fault::of_file(format!(
                "the record is shorter than its values: expected {count} further bytes, found {}",
                self.rest.len()
            )));
        };
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.take(N)?.first_chunk::<N>();
        Ok(bytes.copied().unwrap_or([0; N]))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Fault> {
        self.array().map(i32::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a vector.
    pub(crate) fn values(&mut self) -> Result<TypedValues<'a>, Fault> {
        let (kind, count) = self.description()?;
        self.vectors(kind, count, 1)
    }

    /// Reads a number of vectors of the same type and length.
    pub(crate) fn vectors(
        &mut self,
        kind: ValueType,
        length: usize,
        vectors: usize,
    ) -> Result<TypedValues<'a>, Fault> {
        let size = length
            .saturating_mul(vectors)
            .saturating_mul(kind.size().max(1));
        let size = if kind == ValueType::Missing { 0 } else { size };
        let bytes = self.take(size)?;
        Ok(TypedValues { kind, bytes })
    }

    /// Reads the type and the length of a vector.
    pub(crate) fn description(&mut self) -> Result<(ValueType, usize), Fault> {
        let [code] = self.array()?;
        let kind = match code & 15 {
            0 => ValueType::Missing,
            1 => ValueType::Int8,
            2 => ValueType::Int16,
            3 => ValueType::Int32,
            5 => ValueType::Float,
            7 => ValueType::Text,
            other => {
                let message = format!("expected a value type of 0, 1, 2, 3, 5 or 7, found {other}");
                return Err(Fault::of_file(message));
            }
        };
        let count = usize::from(code >> 4);
        if count < 15 {
            return Ok((kind, count));
        }
        let count = self.integer()?;
        let size = usize::try_from(count);
        let size = size.map_err(|_| Fault::of_file(format!("a vector has the length {count}")));
        Ok((kind, size?))
    }

    /// Reads one integer with its type.
    pub(crate) fn integer(&mut self) -> Result<i32, Fault> {
        let [code] = self.array()?;
        match code {
            0x11 => self.array().map(i8::from_le_bytes).map(i32::from),
            0x12 => self.array().map(i16::from_le_bytes).map(i32::from),
            0x13 => self.i32(),
            _ => {
                let message = format!("expected the type of one integer, found {code:#x}");
                Err(Fault::of_file(message))
            }
        }
    }
}

impl<'a> TypedValues<'a> {
    /// Returns a vector of a table of `vectors` vectors.
    pub(crate) fn vector(self, number: usize, vectors: usize) -> Self {
        let size = self.bytes.len() / vectors.max(1);
        let bytes = self.bytes.get(number * size..(number + 1) * size);
        Self {
            bytes: bytes.unwrap_or_default(),
            ..self
        }
    }

    /// The integers before the end of the vector. A missing one is the least integer.
    pub(crate) fn integers(self) -> impl Iterator<Item = i32> + 'a {
        let values = self.bytes.chunks_exact(self.kind.size().max(1));
        values.map(to_integer).take_while(|it| *it != END_OF_VECTOR)
    }

    /// The numbers before the end of the vector. A missing one is NaN.
    pub(crate) fn floats(self) -> impl Iterator<Item = f32> + 'a {
        let is_float = self.kind == ValueType::Float;
        let values = self.bytes.chunks_exact(self.kind.size().max(1));
        let values = values.map(move |bytes| {
            if is_float {
                to_bits(bytes)
            } else {
                to_float_bits(bytes)
            }
        });
        let values = values.take_while(|bits| *bits != END_OF_FLOATS);
        values.map(|bits| match bits {
            MISSING_FLOAT => f32::NAN,
            bits => f32::from_bits(bits),
        })
    }

    /// The text without the characters that fill the vector; `.` if it is missing.
    pub(crate) fn text(self) -> &'a [u8] {
        let is_end = |byte: &u8| matches!(*byte, 0 | MISSING_CHARACTER);
        let end = self.bytes.iter().position(is_end);
        match self.bytes.get(..end.unwrap_or(self.bytes.len())) {
            Some(text) if !text.is_empty() && self.kind == ValueType::Text => text,
            _ => b".",
        }
    }

    /// Appends the values as in VCF; `.` if there are none.
    pub(crate) fn append_text(self, out: &mut Vec<u8>) {
        let start = out.len();
        match self.kind {
            ValueType::Missing => {}
            ValueType::Text => out.extend_from_slice(self.text()),
            ValueType::Float => self.floats().for_each(|value| {
                let text = (!value.is_nan()).then(|| to_decimal(value));
                append_value(out, start, text.as_deref());
            }),
            _ => self.integers().for_each(|value| {
                let text = (value != i32::MIN).then(|| value.to_string());
                append_value(out, start, text.as_deref());
            }),
        }
        if out.len() == start {
            out.push(b'.');
        }
    }
}

/// Returns the shortest decimal number that gives the same value.
pub(crate) fn to_decimal(value: f32) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e9).contains(&size) && size.is_finite() {
        return format!("{value:e}");
    }
    value.to_string()
}

fn append_value(out: &mut Vec<u8>, start: usize, text: Option<&str>) {
    if out.len() > start {
        out.push(b',');
    }
    out.extend_from_slice(text.unwrap_or(".").as_bytes());
}

/// Converts an integer of 8, 16 or 32 bits. The missing value and the end of the vector
/// become those of 32 bits.
#[inline]
fn to_integer(bytes: &[u8]) -> i32 {
    let (value, least) = match bytes {
        [byte] => (i32::from(byte.cast_signed()), i32::from(i8::MIN)),
        [low, high] => (
            i32::from(i16::from_le_bytes([*low, *high])),
            i32::from(i16::MIN),
        ),
        _ => return to_bits(bytes).cast_signed(),
    };
    // The two least integers have a meaning: missing, and the end of the vector.
    match value - least {
        0 => i32::MIN,
        1 => END_OF_VECTOR,
        _ => value,
    }
}

#[inline]
fn to_bits(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk::<4>()
        .copied()
        .map_or(0, u32::from_le_bytes)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a float column has 24 bits of precision"
)]
fn to_float_bits(bytes: &[u8]) -> u32 {
    match to_integer(bytes) {
        i32::MIN => MISSING_FLOAT,
        END_OF_VECTOR => END_OF_FLOATS,
        value => (value as f32).to_bits(),
    }
}
