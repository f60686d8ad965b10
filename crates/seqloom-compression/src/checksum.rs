//! Checksums of the data in an index.

/// Returns a 32-bit checksum of the data.
pub fn hash_32(bytes: &[u8]) -> u32 {
    low_32_bits(hash_64(bytes))
}

/// Returns the lower 32 bits of a number.
pub fn low_32_bits(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).unwrap_or(0)
}

/// Returns a 64-bit hash of the data.
pub fn hash_64(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}
