//! The numbers to which genotype codes are decoded.

use super::kernels::{CodeTable, DecodeKernels};

/// A number type for genotypes: `i8`, `f32` or `f64`.
pub trait Genotype: DecodeKernels + Copy + PartialEq + Send + Sync + 'static {
    /// The number for a missing genotype.
    const MISSING: Self;

    /// Converts a number of copies of the counted allele to this type.
    fn from_allele_count(count: u8) -> Self;

    /// Returns the decoded number for each code. If `count_a1` is false, A2 is the
    /// counted allele.
    fn code_table(count_a1: bool) -> CodeTable<Self> {
        let [a1, a2] = if count_a1 { [2, 0] } else { [0, 2] };
        [
            Self::from_allele_count(a1),
            Self::MISSING,
            Self::from_allele_count(1),
            Self::from_allele_count(a2),
        ]
    }
}

impl Genotype for i8 {
    const MISSING: Self = -127;

    fn from_allele_count(count: u8) -> Self {
        count.cast_signed()
    }
}

impl Genotype for f32 {
    const MISSING: Self = Self::NAN;

    fn from_allele_count(count: u8) -> Self {
        Self::from(count)
    }
}

impl Genotype for f64 {
    const MISSING: Self = Self::NAN;

    fn from_allele_count(count: u8) -> Self {
        Self::from(count)
    }
}

/// Returns the code at a position of a byte. The position is taken modulo 4.
#[inline(always)]
pub(super) fn code_in_byte(byte: u8, position: usize) -> usize {
    usize::from(byte >> (2 * (position & 3)) & 3)
}
