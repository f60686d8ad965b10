//! Element types of arrays.

use std::fmt;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variants are named as in NumPy")]
pub enum Dtype {
    Bool,
    Uint8,
    Int32,
    Int64,
    Uint32,
    Float32,
    Float64,
}

impl Dtype {
    /// All element types.
    pub const ALL: [Self; 7] = [
        Self::Bool,
        Self::Uint8,
        Self::Int32,
        Self::Int64,
        Self::Uint32,
        Self::Float32,
        Self::Float64,
    ];

    /// Returns the NumPy name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Uint8 => "uint8",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// Returns the type with this NumPy name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Returns the size of an element in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::Uint8 => 1,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
        }
    }

    /// Returns whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Returns the result type of two operands; a float type takes precedence over an
    /// integer type, and an integer type over a boolean.
    #[must_use]
    pub fn result_type(self, other: Self) -> Self {
        let (low, high) = (self.min(other), self.max(other));
        let is_high = low == high || high.is_float() || low <= Self::Uint8;
        if is_high { high } else { Self::Int64 }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_types_are_those_of_numpy() {
        assert_eq!(Dtype::Uint8.result_type(Dtype::Bool), Dtype::Uint8);
        assert_eq!(Dtype::Int32.result_type(Dtype::Uint32), Dtype::Int64);
        assert_eq!(Dtype::Int64.result_type(Dtype::Float32), Dtype::Float32);
        assert_eq!(Dtype::Float32.result_type(Dtype::Float64), Dtype::Float64);
    }
}
