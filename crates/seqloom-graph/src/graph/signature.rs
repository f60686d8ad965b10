//! What an operation takes and makes; `table` has all that this version knows.
//!
//! Operations are found by name. An `enum` of them would let the compiler check that each has an
//! arm in `ops`, but take 150 lines more; a test calls each operation of the table instead.

use super::table::TABLE;

/// An operation's name and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    /// How many results it has; 0 for any.
    pub(crate) results: usize,
    pub(crate) kind: OperationKind,
    /// How many arguments must be given: the first ones.
    pub(crate) needed: usize,
    pub(crate) arguments: &'static [&'static str],
}

/// What an operation does with the elements of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Computes floats, element by element of arrays that broadcast.
    Float,
    /// Computes booleans in the same way.
    Bool,
    /// Makes each row of its result from the same row of its first argument, if the first axis
    /// remains. The other arguments are the same for all rows.
    Row,
    Other,
}

/// The operation of that name.
pub(crate) fn find(name: &str) -> Option<Signature> {
    TABLE.iter().find(|known| known.name == name).copied()
}
