//! Conversions between number types, and reading of little-endian numbers from bytes.

/// Converts a size or a position to `u64`.
#[inline]
pub fn as_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// Returns the little-endian number in the 8 bytes from index `at`, or 0 if there are
/// fewer than 8 bytes.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Returns the little-endian number in the 4 bytes from index `at`, or 0 if there are
/// fewer than 4 bytes.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    chunk.map_or(0, |chunk| u32::from_le_bytes(*chunk))
}
