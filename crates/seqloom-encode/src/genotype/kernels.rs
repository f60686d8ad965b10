//! The loops of each type, which know this machine's instructions.

/// The value of each of the four codes.
pub type CodeTable<T> = [T; 4];

/// Decodes what vectors can, and says how many positions that were.
pub trait Kernels: Sized {
    /// Positions end to end.
    fn rows(codes: &[u8], table: &CodeTable<Self>, out: &mut [Self]) -> usize;

    /// One position, `shift` bits up, of each byte.
    fn columns(bytes: &[u8], shift: u32, table: &CodeTable<Self>, out: &mut [Self]) -> usize;
}

#[cfg(not(target_arch = "x86_64"))]
mod plain {
    use super::{CodeTable, Kernels};

    macro_rules! plain {
        ($($number:ty),*) => {$(
            impl Kernels for $number {
                fn rows(_: &[u8], _: &CodeTable<Self>, _: &mut [Self]) -> usize {
                    0
                }

                fn columns(_: &[u8], _: u32, _: &CodeTable<Self>, _: &mut [Self]) -> usize {
                    0
                }
            }
        )*};
    }
    plain!(i8, f32, f64);
}
