//! Batches of records of similar length, as Python's evaluation loop makes them.

use crate::feed::FeedBatch;

/// The records of a window, sorted by their positions; equal ones keep their order.
#[derive(Debug)]
pub(super) struct Order {
    rows: Vec<i64>,
    places: Vec<usize>,
}

/// How sorted records become batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchCut {
    /// All batches have one size: the last is filled up with its last record, because the
    /// matrix library rounds another number of rows in another way.
    Full,
    /// The last batch is as large as it is: packed records are computed each by itself.
    Loose,
    /// The records of a batch have one length, because the graph has no input for padding.
    OneLength,
}

impl Order {
    /// `places` are the positions of each record.
    pub(super) fn new(places: Vec<usize>) -> Self {
        let mut rows: Vec<i64> = (0_i64..).take(places.len()).collect();
        rows.sort_by_key(|row| at(&places, *row));
        Self { rows, places }
    }

    /// The positions of a record.
    pub(super) fn places(&self, row: i64) -> usize {
        at(&self.places, row)
    }

    /// Takes the rows of the batch that begins at a position, at most `size`. False after the
    /// last.
    pub(super) fn pick(
        &self,
        start: usize,
        (size, cut): (usize, BatchCut),
        batch: &mut FeedBatch,
    ) -> bool {
        let rows = self.rows.get(start..).unwrap_or_default();
        let rows = rows.get(..size).unwrap_or(rows);
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return false;
        };
        // As in Python, batches of a window of one length are full ones.
        let is_loose =
            cut == BatchCut::Loose || (cut == BatchCut::OneLength && self.has_several_lengths());
        let is_alike =
            |row: &&i64| cut != BatchCut::OneLength || self.places(**row) == self.places(*first);
        batch.rows.clear();
        batch.rows.extend(rows.iter().take_while(is_alike));
        batch.real = batch.rows.len();
        if !is_loose {
            batch.rows.resize(size, *last);
        }
        true
    }

    fn has_several_lengths(&self) -> bool {
        let ends = (self.rows.first(), self.rows.last());
        matches!(ends, (Some(first), Some(last)) if self.places(*first) != self.places(*last))
    }
}

fn at(places: &[usize], row: i64) -> usize {
    let row = usize::try_from(row).ok();
    row.and_then(|row| places.get(row).copied())
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
        assert!(order.pick(2, (2, BatchCut::Full), &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([2, 2].as_slice(), 1));
        assert!(order.pick(2, (2, BatchCut::Loose), &mut batch));
        assert_eq!(batch.rows, [2]);
        assert!(!order.pick(4, (2, BatchCut::Full), &mut batch));
    }

    #[test]
    fn a_graph_without_an_input_for_padding_gets_records_of_one_length() {
        let order = Order::new(vec![5, 3, 5, 3]);
        let (mut batch, how) = (FeedBatch::default(), (3, BatchCut::OneLength));
        assert!(order.pick(0, how, &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([1, 3].as_slice(), 2));
        assert!(order.pick(2, how, &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([0, 2].as_slice(), 2));
    }

    #[test]
    fn a_window_of_one_length_is_filled_up_for_such_a_graph_too() {
        let order = Order::new(vec![5, 5]);
        let mut batch = FeedBatch::default();
        assert!(order.pick(0, (3, BatchCut::OneLength), &mut batch));
        assert_eq!(
            (batch.rows.as_slice(), batch.real),
            ([0, 1, 1].as_slice(), 2)
        );
    }
}
