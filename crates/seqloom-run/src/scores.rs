//! Scores: what a model says of each record of a window.

use crate::column::ByteRows;

/// One row a record and one column an output, in input order.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// The records' ids.
    pub names: ByteRows,
    /// Probabilities or values, row by row.
    pub values: Vec<f32>,
    /// How many a row has.
    pub columns: usize,
}

impl Scores {
    /// How many records there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Each record's id and its scores.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[f32])> {
        self.names
            .iter()
            .zip(self.values.chunks_exact(self.columns.max(1)))
    }
}
