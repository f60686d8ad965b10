//! The signatures of operations. `table` lists them all.
//!
//! Operations are found by name. With an `enum` the compiler would check that `ops` handles each
//! of them, but it needs 150 lines more. A test calls each operation of the table instead.

use super::table::TABLE;

/// The signature of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    /// The number of results; 0 for any number.
    pub(crate) results: usize,
    pub(crate) kind: OperationKind,
    /// The number of required arguments, which come first.
    pub(crate) needed: usize,
    pub(crate) arguments: &'static [&'static str],
}

/// The effect of an operation on the elements of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Computes floats, element by element of arrays that broadcast.
    Float,
    /// Computes booleans element by element.
    Bool,
    /// Row i of the result depends only on row i of the first argument, if the first axis is kept.
    /// The other arguments are the same for all rows.
    Row,
    Other,
}

/// Finds a signature by name.
pub(crate) fn find(name: &str) -> Option<Signature> {
    TABLE.iter().find(|known| known.name == name).copied()
}
