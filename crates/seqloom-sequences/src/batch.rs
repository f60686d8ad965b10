//! Batches of records, stored by column.

use crate::sink::{Position, RecordSink};

/// Sequence records, stored by column. The residues of all records are concatenated,
/// and the headers of all records are concatenated too. Record `i` spans the range from
/// offset `i` to offset `i + 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The residues of all records.
    pub data: Vec<u8>,
    /// The offset of the residues of each record, and the end of the residues of the
    /// last record.
    pub offsets: Vec<i64>,
    /// The headers of all records, without `>` or `@` and without line ends.
    pub headers: Vec<u8>,
    /// The offset of each header, and the end of the last header.
    pub header_offsets: Vec<i64>,
    /// The quality of each residue, or an empty vector if the records have no
    /// qualities.
    pub qualities: Vec<u8>,
    /// True if the records have qualities.
    pub has_qualities: bool,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            offsets: vec![0],
            headers: Vec::new(),
            header_offsets: vec![0],
            qualities: Vec::new(),
            has_qualities: false,
        }
    }
}

impl Batch {
    /// Returns the number of complete records.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if the batch has no complete record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all records but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.header_offsets.clear();
        self.header_offsets.push(0);
        self.truncate_to_records();
    }

    /// Removes the residues, qualities and headers of incomplete records.
    fn truncate_to_records(&mut self) {
        let end = |offsets: &[i64]| offsets.last().and_then(|end| usize::try_from(*end).ok());
        self.data.truncate(end(&self.offsets).unwrap_or(0));
        self.qualities.truncate(self.data.len());
        self.headers
            .truncate(end(&self.header_offsets).unwrap_or(0));
    }
}

/// A sink that adds the records of a parser to a batch.
pub struct BatchSink<'a> {
    pub(crate) batch: &'a mut Batch,
    pub(crate) max_records: usize,
    pub(crate) max_bytes: usize,
    with_qualities: bool,
    is_exhausted: bool,
}

/// The maximum unused memory of a vector in bytes.
const MAX_SPARE_BYTES: usize = 64 << 20;
/// The minimum capacity of a vector, in elements.
const MIN_CAPACITY: usize = 4096;
/// The size of a memory page in bytes.
const PAGE_BYTES: usize = 4096;

impl<'a> BatchSink<'a> {
    /// Creates a sink that replaces the records of `batch`, with qualities if `has_qualities` is set.
    pub fn new(batch: &'a mut Batch, max_records: usize, max_bytes: usize) -> Self {
        batch.clear();
        Self {
            with_qualities: batch.has_qualities,
            batch,
            max_records,
            max_bytes,
            is_exhausted: false,
        }
    }

    /// Removes an incomplete record and, if an allocation failed, releases unused
    /// memory.
    pub fn finish(self) {
        self.batch.truncate_to_records();
        if self.is_exhausted {
            self.batch.data.shrink_to_fit();
            self.batch.qualities.shrink_to_fit();
        }
    }

    /// Returns the expected final size of a column, estimated from the mean size of the
    /// records so far.
    fn expected_size(&self, size: usize) -> usize {
        match self.batch.len() {
            0 => 0,
            count => (size / count)
                .saturating_mul(self.max_records)
                .min(self.max_bytes.saturating_add(size / count)),
        }
    }

    #[inline]
    fn append_to_column(&mut self, column: BatchColumn, bytes: &[u8]) {
        let vector = column(self.batch);
        if vector.capacity() - vector.len() < bytes.len() {
            let size = vector.len();
            let expected_size = self.expected_size(size);
            self.is_exhausted |= !reserve(column(self.batch), bytes.len(), expected_size);
        }
        if !self.is_exhausted {
            column(self.batch).extend_from_slice(bytes);
        }
    }

    #[cold]
    fn grow_and_add_record(&mut self, header: &[u8], letters: (&[u8], Position), qualities: &[u8]) {
        self.begin_record(header);
        self.add_residues(letters.0, letters.1);
        self.add_qualities(qualities);
        self.end_record();
    }

    fn push_offsets(&mut self) {
        let expected_size = self.max_records.min(MAX_SPARE_BYTES / size_of::<i64>());
        let batch = &mut *self.batch;
        let mut has_capacity = |offsets: fn(&mut Batch) -> &mut Vec<i64>| {
            let offsets = offsets(batch);
            offsets.len() < offsets.capacity() || reserve(offsets, 1, expected_size)
        };
        let has_capacity = has_capacity(|batch| &mut batch.offsets)
            && has_capacity(|batch| &mut batch.header_offsets);
        self.is_exhausted |= !has_capacity;
        if !self.is_exhausted {
            self.batch.offsets.push(to_offset(self.batch.data.len()));
            self.batch
                .header_offsets
                .push(to_offset(self.batch.headers.len()));
        }
    }
}

#[inline]
fn to_offset(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// A function that returns one column of a batch.
type BatchColumn = fn(&mut Batch) -> &mut Vec<u8>;

/// Reserves memory for `more` elements. Returns true if enough memory was available.
#[cold]
fn reserve<T>(vector: &mut Vec<T>, more: usize, expected_size: usize) -> bool {
    let required = vector.len().saturating_add(more);
    let spare = MAX_SPARE_BYTES / size_of::<T>();
    let capacity = if required <= spare {
        (required + required / 2)
            .max(expected_size)
            .clamp(MIN_CAPACITY, spare)
    } else {
        larger_capacity(required, spare)
    };
    vector.try_reserve_exact(capacity - vector.len()).is_ok()
}

/// Returns a capacity of about one and a half times `required`: a multiple of `spare`,
/// minus a memory page for the allocator.
fn larger_capacity(required: usize, spare: usize) -> usize {
    let capacity = required.saturating_add(required / 2 + 2 * PAGE_BYTES);
    let steps = (capacity / spare).saturating_add(1);
    steps.saturating_mul(spare) - PAGE_BYTES
}

impl RecordSink for BatchSink<'_> {
    fn begin_record(&mut self, header: &[u8]) {
        self.append_to_column(|batch| &mut batch.headers, header);
    }

    #[inline]
    fn add_residues(&mut self, letters: &[u8], _: Position) {
        self.append_to_column(|batch| &mut batch.data, letters);
    }

    fn add_qualities(&mut self, qualities: &[u8]) {
        if self.with_qualities {
            self.append_to_column(|batch| &mut batch.qualities, qualities);
        }
    }

    fn end_record(&mut self) {
        self.push_offsets();
    }

    fn cancel_record(&mut self) {
        self.batch.truncate_to_records();
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.batch.len() >= self.max_records || self.batch.data.len() >= self.max_bytes
    }

    #[inline]
    fn is_out_of_memory(&self) -> bool {
        self.is_exhausted
    }

    #[inline]
    fn add_record(&mut self, header: &[u8], letters: (&[u8], Position), qualities: &[u8]) {
        let qualities = if self.with_qualities { qualities } else { &[] };
        let batch = &mut *self.batch;
        let has_capacity = batch.headers.capacity() - batch.headers.len() >= header.len()
            && batch.data.capacity() - batch.data.len() >= letters.0.len()
            && batch.qualities.capacity() - batch.qualities.len() >= qualities.len()
            && batch.offsets.capacity() > batch.offsets.len()
            && batch.header_offsets.capacity() > batch.header_offsets.len();
        if !has_capacity {
            return self.grow_and_add_record(header, letters, qualities);
        }
        batch.headers.extend_from_slice(header);
        batch.data.extend_from_slice(letters.0);
        batch.qualities.extend_from_slice(qualities);
        batch.offsets.push(to_offset(batch.data.len()));
        batch.header_offsets.push(to_offset(batch.headers.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_batch_keeps_its_memory() {
        let mut batch = Batch::default();
        let mut sink = BatchSink::new(&mut batch, 9, 99);
        sink.begin_record(b"a");
        sink.add_residues(b"ACGT", Position { line: 2, byte: 3 });
        sink.end_record();
        sink.finish();
        let (position, larger_capacity) = (batch.data.as_ptr(), batch.data.capacity());
        batch.clear();
        assert!(batch.is_empty() && batch.data.is_empty());
        assert_eq!(
            (batch.data.as_ptr(), batch.data.capacity()),
            (position, larger_capacity)
        );
    }

    #[test]
    fn a_failed_allocation_returns_false() {
        let mut vector: Vec<u8> = vec![0; 8];
        assert!(!reserve(&mut vector, usize::MAX / 2, 0));
        assert_eq!(vector.len(), 8);
    }

    #[test]
    fn capacity_is_at_most_three_halves_plus_the_spare_bytes() {
        for required in [
            MAX_SPARE_BYTES + 1,
            (2 * MAX_SPARE_BYTES) - PAGE_BYTES + 1,
            100 << 20,
            1 << 28,
            (1 << 28) + 1,
            1 << 33,
        ] {
            let larger_capacity = larger_capacity(required, MAX_SPARE_BYTES);
            assert!(
                required <= larger_capacity
                    && larger_capacity <= required / 2 * 3 + MAX_SPARE_BYTES + PAGE_BYTES,
                "{required}"
            );
        }
    }
}
