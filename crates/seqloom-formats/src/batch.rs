//! Many records, column by column.

/// Sequence records without an object per record: letters and headers lie end
/// to end, and record `i` is what lies between its two offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The letters of all records.
    pub data: Vec<u8>,
    /// Where each record's letters begin, and where the last one's end.
    pub offsets: Vec<i64>,
    /// The headers of all records, without `>` and line end.
    pub headers: Vec<u8>,
    /// Where each header begins, and where the last one ends.
    pub header_offsets: Vec<i64>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            offsets: vec![0],
            headers: Vec::new(),
            header_offsets: vec![0],
        }
    }
}

impl Batch {
    /// The number of finished records.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether no record is finished.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
