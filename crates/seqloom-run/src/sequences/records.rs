//! Records of files, stored by column.

use std::path::{Path, PathBuf};

use seqloom_core::{Ragged, number::as_u64};
use seqloom_sequences::{Batch, pairs};

use crate::{column::ByteRows, text::escape_invalid_utf8};

/// The ids of records, and the residues or qualities that are encoded.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(super) names: ByteRows,
    pub(super) letters: ByteRows,
    starts: Vec<FileStart>,
    /// The number of records, which is still valid after the ids were moved out.
    count: usize,
}

/// Consecutive rows that come from one file.
#[derive(Debug)]
struct FileStart {
    row: usize,
    path: PathBuf,
    /// The index in the file of the record in the first row.
    record: u64,
    /// The distance between the records of adjacent rows in the file: 2 if mates
    /// alternate, otherwise 1.
    step: u64,
}

impl Records {
    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the size of the ids and residues in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.names.bytes() + self.letters.bytes()
    }

    /// Adds consecutive records of a file. `record` is the index in the file of the first
    /// record.
    pub(super) fn append(&mut self, batch: &Batch, (path, record): (&Path, u64)) {
        self.begin(path, (record, 1));
        if let Ok(headers) = Ragged::new(&batch.headers, &batch.header_offsets) {
            for header in headers.iter() {
                self.names
                    .push(&escape_invalid_utf8(pairs::header_id(header)));
            }
        }
        let letters = if batch.has_qualities {
            &batch.qualities
        } else {
            &batch.data
        };
        self.letters.append(letters, &batch.offsets);
        self.count += batch.len();
    }

    /// Adds one record of `others`. In each file, every second record must be added in
    /// this way.
    pub(super) fn push(&mut self, others: &Self, row: usize) {
        let (path, record) = others.locate(row);
        self.begin(path, (record, 2));
        self.names.push(others.names.get(row));
        self.letters.push(others.letters.get(row));
        self.count += 1;
    }

    /// Stores the file and index of the next row, unless they follow from the previous
    /// row.
    fn begin(&mut self, path: &Path, (record, step): (u64, u64)) {
        let continues = |start: &FileStart| {
            let expected = start.record + start.step * as_u64(self.count - start.row);
            start.path == path && expected == record && start.step == step
        };
        if !self.starts.last().is_some_and(continues) {
            self.starts.push(FileStart {
                row: self.count,
                path: path.to_path_buf(),
                record,
                step,
            });
        }
    }

    /// Returns the file of a row, and the index of the record in that file.
    pub(super) fn locate(&self, row: usize) -> (&Path, u64) {
        let start = self.starts.iter().rev().find(|start| start.row <= row);
        start.map_or((Path::new(""), 0), |start| {
            (
                &start.path,
                start.record + start.step * as_u64(row - start.row),
            )
        })
    }

    /// Moves the ids out of this object and returns them.
    pub(super) fn take_names(&mut self) -> ByteRows {
        std::mem::take(&mut self.names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(ids: &str, letters: &[u8], offsets: &[i64]) -> Batch {
        let headers: Vec<u8> = ids.split(' ').flat_map(str::bytes).collect();
        let ends = (0..=i64::try_from(headers.len()).unwrap()).collect();
        Batch {
            data: letters.to_vec(),
            offsets: offsets.to_vec(),
            headers,
            header_offsets: ends,
            ..Batch::default()
        }
    }

    #[test]
    fn a_record_is_located_in_its_file_across_reads() {
        let (one, other) = (Path::new("a.fa"), Path::new("b.fa"));
        let mut records = Records::default();
        records.append(&batch("a b", b"ACG", &[0, 1, 3]), (one, 7));
        records.append(&batch("c", b"T", &[0, 1]), (one, 9));
        records.append(&batch("d e", b"TA", &[0, 1, 2]), (other, 0));
        assert_eq!(records.locate(2), (one, 9));
        assert_eq!(records.locate(4), (other, 1));
        assert_eq!((records.len(), records.names.get(3)), (5, b"d".as_slice()));
    }

    #[test]
    fn mates_of_one_file_are_located_at_every_second_record() {
        let path = Path::new("a.fa");
        let mut both = Records::default();
        both.append(&batch("a b c d", b"ACGT", &[0, 1, 2, 3, 4]), (path, 10));
        let mut second = Records::default();
        second.push(&both, 1);
        second.push(&both, 3);
        assert_eq!(second.locate(1), (path, 13));
        assert_eq!(
            (second.names.get(1), second.letters.get(0)),
            (b"d".as_slice(), b"C".as_slice())
        );
    }

    #[test]
    fn records_of_a_repeated_file_are_located_in_each_copy() {
        let path = Path::new("a.fa");
        let mut records = Records::default();
        records.append(&batch("a b", b"AC", &[0, 1, 2]), (path, 0));
        records.append(&batch("a b", b"AC", &[0, 1, 2]), (path, 0));
        assert_eq!(records.locate(3), (path, 1));
    }
}
