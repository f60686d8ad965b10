//! The kinds of characters that are not plain residues of the alphabet.

// Each kind has eight bits, so a sum of these numbers counts the characters of each
// kind.
pub(super) const AMBIGUOUS_KIND: u64 = 1;
pub(super) const LOWER_CASE_KIND: u64 = 1 << 8;
pub(super) const RARE_KIND: u64 = 1 << 16;
pub(super) const SYMBOL_KIND: u64 = 1 << 24;
pub(super) const RNA_KIND: u64 = 1 << 40;
pub(super) const REJECTED_KIND: u64 = 1 << 56;

/// Returns true if a sum of kinds contains a rejected character.
pub(super) fn is_rejected(kinds: u64) -> bool {
    kinds >= REJECTED_KIND
}
