//! Checksums of what an index describes.

/// A checksum of 32 bits.
pub fn sum(bytes: &[u8]) -> u32 {
    low(hash(bytes))
}

/// The lower half of a hash.
pub fn low(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).unwrap_or(0)
}

/// A hash of 64 bits.
pub fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}
