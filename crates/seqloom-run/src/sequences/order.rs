//! Groups records of similar length into batches, exactly as Python does for
//! evaluation.

use crate::feed::FeedBatch;

/// The records of a window, sorted by their number of positions. Records of the same
/// length keep their order.
#[derive(Debug)]
pub(super) struct Order {
    rows: Vec<i64>,
    positions: Vec<usize>,
}

/// The rule by which sorted records are grouped into batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchRule {
    /// All batches have the same size, and the last batch is filled with copies of the
    /// last record. A different number of rows would change the rounding of matrix
    /// products.
    Full,
    /// The last batch may be smaller, because the records of a packed batch are
    /// computed independently.
    Partial,
    /// All records of a batch have the same length, because the graph has no input for
    /// a mask.
    OneLength,
}

impl Order {
    /// Sorts records. `positions` contains the number of positions of each record.
    pub(super) fn new(positions: Vec<usize>) -> Self {
        let mut rows: Vec<i64> = (0_i64..).take(positions.len()).collect();
        rows.sort_by_key(|row| at(&positions, *row));
        Self { rows, positions }
    }

    /// Returns the number of positions of a record.
    pub(super) fn positions(&self, row: i64) -> usize {
        at(&self.positions, row)
    }

    /// Selects at most `size` rows for the batch that starts at a position of the
    /// order. Returns false after the last batch.
    pub(super) fn select(
        &self,
        start: usize,
        (size, rule): (usize, BatchRule),
        batch: &mut FeedBatch,
    ) -> bool {
        let rows = self.rows.get(start..).unwrap_or_default();
        let rows = rows.get(..size).unwrap_or(rows);
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return false;
        };
        // As in Python, batches are always full if all records of a window have the
        // same length.
        let may_be_partial = rule == BatchRule::Partial
            || (rule == BatchRule::OneLength && self.has_several_lengths());
        let is_alike = |row: &&i64| {
            rule != BatchRule::OneLength || self.positions(**row) == self.positions(*first)
        };
        batch.rows.clear();
        batch.rows.extend(rows.iter().take_while(is_alike));
        batch.real = batch.rows.len();
        if !may_be_partial {
            batch.rows.resize(size, *last);
        }
        true
    }

    fn has_several_lengths(&self) -> bool {
        let ends = (self.rows.first(), self.rows.last());
        matches!(ends, (Some(first), Some(last)) if self.positions(*first) != self.positions(*last))
    }
}

fn at(positions: &[usize], row: i64) -> usize {
    let row = usize::try_from(row).ok();
    row.and_then(|row| positions.get(row).copied())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lengths_keep_their_order() {
        let order = Order::new(vec![5, 3, 5, 3]);
        assert_eq!(order.rows, [1, 3, 0, 2]);
    }

    #[test]
    fn the_last_batch_is_filled_up_with_its_last_record() {
        let order = Order::new(vec![1, 1, 1]);
        let mut batch = FeedBatch::default();
        assert!(order.select(2, (2, BatchRule::Full), &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([2, 2].as_slice(), 1));
        assert!(order.select(2, (2, BatchRule::Partial), &mut batch));
        assert_eq!(batch.rows, [2]);
        assert!(!order.select(4, (2, BatchRule::Full), &mut batch));
    }

    #[test]
    fn a_graph_without_a_mask_gets_records_of_one_length() {
        let order = Order::new(vec![5, 3, 5, 3]);
        let (mut batch, how) = (FeedBatch::default(), (3, BatchRule::OneLength));
        assert!(order.select(0, how, &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([1, 3].as_slice(), 2));
        assert!(order.select(2, how, &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([0, 2].as_slice(), 2));
    }

    #[test]
    fn a_window_of_one_length_has_full_batches_without_a_mask() {
        let order = Order::new(vec![5, 5]);
        let mut batch = FeedBatch::default();
        assert!(order.select(0, (3, BatchRule::OneLength), &mut batch));
        assert_eq!(
            (batch.rows.as_slice(), batch.real),
            ([0, 1, 1].as_slice(), 2)
        );
    }
}
