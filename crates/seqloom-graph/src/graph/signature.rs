//! The signatures of operations. The module `table` lists all signatures.
//!
//! Operations are looked up by name; a test checks that every operation in the table is
//! implemented.

use super::table::SIGNATURES;

/// The signature of an operation: its parameters and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    /// The number of results; 0 if an operation may have any number of results.
    pub(crate) results: usize,
    pub(crate) kind: OperationKind,
    /// The number of required parameters, which precede the optional ones.
    pub(crate) needed: usize,
    pub(crate) arguments: &'static [&'static str],
}

/// The arguments and rows on which each result element of an operation depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Each result element is a float that is computed from one element of each argument,
    /// after broadcasting.
    Float,
    /// Each result element is a boolean that is computed from one element of each argument,
    /// after broadcasting.
    Bool,
    /// Row i of the result depends only on row i of the first argument, unless the
    /// operation reduces or moves the first axis. All arguments except the first are the
    /// same for all rows.
    Row,
    Other,
}

/// Finds a signature by name.
pub(crate) fn find_signature(name: &str) -> Option<Signature> {
    SIGNATURES.iter().find(|known| known.name == name).copied()
}
