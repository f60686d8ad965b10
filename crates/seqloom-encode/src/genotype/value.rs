//! What a code becomes.

use super::kernels::{CodeTable, Kernels};

/// A number that a genotype can become: `i8`, `f32` or `f64`.
pub trait Genotype: Kernels + Copy + PartialEq + Send + Sync + 'static {
    /// What stands where a genotype is missing.
    const MISSING: Self;

    /// So many copies of the allele that is counted.
    fn copies(count: u8) -> Self;

    /// The value of each code, if A1 is counted, or if A2 is.
    fn table(count_a1: bool) -> CodeTable<Self> {
        let [a1, a2] = if count_a1 { [2, 0] } else { [0, 2] };
        [
            Self::copies(a1),
            Self::MISSING,
            Self::copies(1),
            Self::copies(a2),
        ]
    }
}

impl Genotype for i8 {
    const MISSING: Self = -127;

    fn copies(count: u8) -> Self {
        count.cast_signed()
    }
}

impl Genotype for f32 {
    const MISSING: Self = Self::NAN;

    fn copies(count: u8) -> Self {
        Self::from(count)
    }
}

impl Genotype for f64 {
    const MISSING: Self = Self::NAN;

    fn copies(count: u8) -> Self {
        Self::from(count)
    }
}

/// One code of a byte.
#[inline(always)]
pub(super) fn code(byte: u8, position: usize) -> usize {
    usize::from(byte >> (2 * (position & 3)) & 3)
}
