//! Batches of records of similar length, as Python's evaluation loop makes them.

use crate::feed::Batch;

/// The records of a window, sorted by their positions; equal ones keep their order.
#[derive(Debug)]
pub(super) struct Order {
    rows: Vec<i64>,
    places: Vec<usize>,
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

    /// Takes the rows of the batch that begins at a position: always `size` of them, or with
    /// `None` those that there are. False after the last.
    pub(super) fn pick(
        &self,
        start: usize,
        (size, is_full): (usize, bool),
        batch: &mut Batch,
    ) -> bool {
        let rows = self.rows.get(start..).unwrap_or_default();
        let rows = rows.get(..size).unwrap_or(rows);
        let Some(last) = rows.last() else {
            return false;
        };
        batch.rows.clear();
        batch.rows.extend_from_slice(rows);
        batch.real = rows.len();
        if is_full {
            // The matrix library rounds another number of rows in another way.
            batch.rows.resize(size, *last);
        }
        true
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
        let mut batch = Batch::default();
        assert!(order.pick(2, (2, true), &mut batch));
        assert_eq!((batch.rows.as_slice(), batch.real), ([2, 2].as_slice(), 1));
        assert!(order.pick(2, (2, false), &mut batch));
        assert_eq!(batch.rows, [2]);
        assert!(!order.pick(4, (2, true), &mut batch));
    }
}
