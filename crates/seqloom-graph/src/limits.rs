//! How much a model may use.

/// How much a model may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory: of a file that is read, and of weights, values and results together.
    pub memory_bytes: usize,
}

impl Default for Limits {
    /// Four GiB, or the half of what can be addressed where that is less.
    fn default() -> Self {
        Self {
            memory_bytes: (usize::MAX / 2).min(1 << 32_u32.min(usize::BITS - 1)),
        }
    }
}
