//! The signatures of operations. The module `table` lists all signatures.
//!
//! Operations are looked up by name. With an `enum`, the compiler would check that
//! `ops` implements every operation, but the code would be 150 lines longer. Instead, a
//! test calls every operation in the table.

use super::table::TABLE;

/// The signature of an operation: its parameters and results.
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

/// The dependence of the result elements of an operation on the elements of its
/// arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// The operation computes floats, element by element, from arrays that broadcast.
    Float,
    /// The operation computes booleans, element by element.
    Bool,
    /// Row i of the result depends only on row i of the first argument, if the first
    /// axis is kept. All arguments except the first are the same for all rows.
    Row,
    Other,
}

/// Finds a signature by name.
pub(crate) fn find(name: &str) -> Option<Signature> {
    TABLE.iter().find(|known| known.name == name).copied()
}
