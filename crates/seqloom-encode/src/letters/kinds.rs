//! The kinds of bytes that are not plain members of the alphabet.

// The value of a byte has 8 bits for each kind: a sum of values counts the bytes of each kind.
pub(super) const AMBIGUOUS: u64 = 1;
pub(super) const LOWER: u64 = 1 << 8;
pub(super) const RARE: u64 = 1 << 16;
pub(super) const SYMBOL: u64 = 1 << 24;
pub(super) const RNA: u64 = 1 << 40;
pub(super) const REJECTED: u64 = 1 << 56;

/// Returns whether a sum of kinds contains a rejected byte.
pub(super) fn is_rejected(kinds: u64) -> bool {
    kinds >= REJECTED
}
