//! What one byte counts as.

/// A verdict holds one byte for each kind, so that the verdicts of a chunk can be summed.
pub(super) const AMBIGUOUS: u64 = 1;
pub(super) const LOWER: u64 = 1 << 8;
pub(super) const RARE: u64 = 1 << 16;
pub(super) const SYMBOL: u64 = 1 << 24;
pub(super) const RNA: u64 = 1 << 40;
pub(super) const FOREIGN: u64 = 1 << 56;

/// Whether one of the letters of a sum of verdicts is refused.
pub(super) fn is_foreign(verdict: u64) -> bool {
    verdict >= FOREIGN
}
