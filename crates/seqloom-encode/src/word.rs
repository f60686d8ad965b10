//! Numbers as the bits that an array holds.

use seqloom_core::{Ragged, Result};

use crate::fill::{self, RowKernel, RowLayout};
use crate::letters::{LetterCounts, LetterTable};
use crate::{KmerCounts, Kmers, Lookup, OneHot};

/// The bits of one number of an array, whatever its type: kernels copy them from tables.
pub trait Word: Copy + Default + PartialEq + Send + Sync + 'static {
    /// The low bits of a wider word, or of an integer.
    fn cut(bits: u64) -> Self;

    /// This integer and one more.
    #[must_use]
    fn next(self) -> Self;

    /// The bits of the float of this size that equals this integer; where there is no
    /// such float type, the number itself.
    #[must_use]
    fn to_float(self) -> Self;

    /// A kernel for numbers of this type, which is compiled in this crate alone.
    fn boxed(kernel: AnyKernel<Self>) -> Box<dyn RowKernel<Self>>;

    /// Fills rows, as [`fill`](crate::fill) does.
    fn fill_rows(
        kernel: (&LetterTable, &dyn RowKernel<Self>),
        sequences: &Ragged<'_>,
        out: &mut [Self],
        rows: RowLayout<'_>,
    ) -> Result<LetterCounts>;
}

/// One of the kernels.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is the kernel that it names")]
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved once, into a box of the kernel alone"
)]
pub enum AnyKernel<T> {
    OneHot(OneHot<T>),
    Lookup(Lookup<T>),
    Kmers(Kmers<T>),
    KmerCounts(KmerCounts),
}

macro_rules! word {
    ($type:ty, $to_float:expr) => {
        impl Word for $type {
            #[inline(always)]
            fn cut(bits: u64) -> Self {
                let bytes = bits.to_le_bytes();
                Self::from_le_bytes(std::array::from_fn(|position| bytes[position]))
            }

            #[inline(always)]
            fn next(self) -> Self {
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

word!(u8, std::convert::identity);
word!(u16, std::convert::identity);
word!(u32, single);
word!(u64, double);

#[expect(
    clippy::cast_precision_loss,
    reason = "counts above 16 million are rounded"
)]
fn single(whole: u32) -> u32 {
    (whole as f32).to_bits()
}

#[expect(clippy::cast_precision_loss, reason = "no count is so large")]
fn double(whole: u64) -> u64 {
    (whole as f64).to_bits()
}
