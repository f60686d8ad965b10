//! Memory limits.

/// The limit of the memory that a model may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limit in bytes. The limit applies to each file that is read, and to the sum
    /// of weights, intermediate values and results.
    pub memory_bytes: usize,
}

impl Default for Limits {
    /// Returns 4 GiB, or half of the address space if that is less.
    fn default() -> Self {
        Self {
            memory_bytes: (usize::MAX / 2).min(1 << 32_u32.min(usize::BITS - 1)),
        }
    }
}
