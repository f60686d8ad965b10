//! Conversions between numbers, and numbers at any position of some bytes.

/// A size or a position as a number of 64 bits.
#[inline]
pub fn as_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// The 8 bytes at `at` as a little-endian number; 0 where there are fewer.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// The 4 bytes at `at` as a little-endian number; 0 where there are fewer.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    chunk.map_or(0, |chunk| u32::from_le_bytes(*chunk))
}
