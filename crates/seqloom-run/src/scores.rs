//! The scores of a window of records.

use crate::column::ByteRows;

/// A matrix of scores with one row per record, in input order, and one column per
/// output.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// The ids of the records.
    pub names: ByteRows,
    /// The scores row by row: probabilities or predicted values.
    pub values: Vec<f32>,
    /// The number of scores per record, one for each output of the model.
    pub columns: usize,
}

impl Scores {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Iterates over the id and the scores of each record.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[f32])> {
        self.names
            .iter()
            .zip(self.values.chunks_exact(self.columns.max(1)))
    }
}
