//! The vector loops that decode genotypes, for each number type.

/// The number for each of the four codes.
pub type CodeTable<T> = [T; 4];

/// Functions that decode codes with vector instructions. The functions return the
/// number of decoded codes, and the caller decodes the remaining codes.
pub trait DecodeKernels: Sized {
    /// Decodes consecutive codes.
    fn decode_rows(codes: &[u8], table: &CodeTable<Self>, out: &mut [Self]) -> usize;

    /// Decodes one code of each byte, at bit `shift`.
    fn decode_columns(bytes: &[u8], shift: u32, table: &CodeTable<Self>, out: &mut [Self])
    -> usize;
}

#[cfg(not(target_arch = "x86_64"))]
mod scalar {
    use super::{CodeTable, DecodeKernels};

    macro_rules! impl_scalar_kernels {
        ($($number:ty),*) => {$(
            impl DecodeKernels for $number {
                fn decode_rows(_: &[u8], _: &CodeTable<Self>, _: &mut [Self]) -> usize {
                    0
                }

                fn decode_columns(_: &[u8], _: u32, _: &CodeTable<Self>, _: &mut [Self]) -> usize {
                    0
                }
            }
        )*};
    }
    impl_scalar_kernels!(i8, f32, f64);
}
