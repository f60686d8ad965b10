//! The bit patterns of the elements of output arrays.

use seqloom_core::{Ragged, Result};

use crate::fill::{self, RowKernel, RowLayout};
use crate::letters::{LetterCounts, LetterTable};
use crate::{KmerCounts, Kmers, Lookup, OneHot};

/// The bit pattern of one element of an output array. Kernels copy bit patterns from
/// tables, so that one kernel can write any number type.
pub trait ElementBits: Copy + Default + PartialEq + Send + Sync + 'static {
    /// Returns the low bits of `bits` as an element.
    fn from_bits(bits: u64) -> Self;

    /// Returns this integer plus one.
    #[must_use]
    fn increment(self) -> Self;

    /// Returns the bit pattern of the float that equals this integer. Types of 8 and 16
    /// bits return the integer itself.
    #[must_use]
    fn to_float(self) -> Self;

    /// Returns a boxed kernel for elements of this type, so that only this crate
    /// compiles the kernel.
    fn boxed(kernel: AnyKernel<Self>) -> Box<dyn RowKernel<Self>>;

    /// Fills the rows of an array; see [`encode`](crate::encode).
    fn fill_rows(
        kernel: (&LetterTable, &dyn RowKernel<Self>),
        sequences: &Ragged<'_>,
        out: &mut [Self],
        rows: RowLayout<'_>,
    ) -> Result<LetterCounts>;
}

/// A kernel of any type.
#[derive(Debug)]
#[expect(missing_docs, reason = "a variant has the name of its kernel")]
#[expect(
    clippy::large_enum_variant,
    reason = "the kernel is moved only once, into a box"
)]
pub enum AnyKernel<T> {
    OneHot(OneHot<T>),
    Lookup(Lookup<T>),
    Kmers(Kmers<T>),
    KmerCounts(KmerCounts),
}

macro_rules! impl_element_bits {
    ($type:ty, $to_float:expr) => {
        impl ElementBits for $type {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                let bytes = bits.to_le_bytes();
                Self::from_le_bytes(std::array::from_fn(|position| bytes[position]))
            }

            #[inline(always)]
            fn increment(self) -> Self {
                self.wrapping_add(1)
            }

            #[inline(always)]
            fn to_float(self) -> Self {
                $to_float(self)
            }

            #[inline(never)]
            fn boxed(kernel: AnyKernel<Self>) -> Box<dyn RowKernel<Self>> {
                match kernel {
                    AnyKernel::OneHot(kernel) => Box::new(kernel),
                    AnyKernel::Lookup(kernel) => Box::new(kernel),
                    AnyKernel::Kmers(kernel) => Box::new(kernel),
                    AnyKernel::KmerCounts(kernel) => Box::new(kernel),
                }
            }

            #[inline(never)]
            fn fill_rows(
                kernel: (&LetterTable, &dyn RowKernel<Self>),
                sequences: &Ragged<'_>,
                out: &mut [Self],
                rows: RowLayout<'_>,
            ) -> Result<LetterCounts> {
                fill::fill_rows(kernel, sequences, out, rows)
            }
        }
    };
}

impl_element_bits!(u8, std::convert::identity);
impl_element_bits!(u16, std::convert::identity);
impl_element_bits!(u32, f32_bits);
impl_element_bits!(u64, f64_bits);

#[expect(
    clippy::cast_precision_loss,
    reason = "counts above 16 million are rounded"
)]
fn f32_bits(whole: u32) -> u32 {
    (whole as f32).to_bits()
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2**53")]
fn f64_bits(whole: u64) -> u64 {
    (whole as f64).to_bits()
}
