//! Finds one record of a file.

use std::io::Read;
use std::path::Path;

use seqloom_compression::input::BufferedInput;
use seqloom_core::{Error, Ragged, Result, number::as_u64};
use seqloom_sequences::{Batch, Reader, ReaderOptions, pairs};

/// A record of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileRecord {
    pub(crate) id: String,
    pub(crate) letters: Vec<u8>,
}

/// The maximal numbers of records and residues that are read in one call.
const READ_LIMITS: (usize, usize) = (4096, 1 << 20);

/// Reads a file up to a record and returns this record; the first record has number 0.
pub(crate) fn find_record(
    name: &str,
    stream: impl Read + Send + Sync + 'static,
    number: u64,
) -> Result<FileRecord> {
    let input = BufferedInput::new(Box::new(stream));
    let mut reader = Reader::new(Path::new(name), input, &ReaderOptions::default())?;
    let (mut batch, mut before) = (Batch::default(), 0);
    while reader.refill_batch(&mut batch, READ_LIMITS.0, READ_LIMITS.1)? {
        let behind = before + as_u64(batch.len());
        if number < behind {
            return to_file_record(&batch, usize::try_from(number - before).unwrap_or_default());
        }
        before = behind;
    }
    Err(Error::argument(format!(
        "{name} has no record {number}; number of records: {before}"
    )))
}

fn to_file_record(batch: &Batch, row: usize) -> Result<FileRecord> {
    let headers = Ragged::new(&batch.headers, &batch.header_offsets)?;
    let letters = Ragged::new(&batch.data, &batch.offsets)?;
    let found = headers.iter().zip(letters.iter()).nth(row);
    let (header, letters) = found.unwrap_or_default();
    Ok(FileRecord {
        id: String::from_utf8_lossy(pairs::header_id(header)).into_owned(),
        letters: letters.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_record_is_found_by_its_number() {
        let found = find_record("x.fa", Cursor::new(">a\nAC\n>b c\nGT\nA\n"), 1).unwrap();
        let expected = FileRecord {
            id: "b".to_owned(),
            letters: b"GTA".to_vec(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_record_number_beyond_the_last_record_is_an_error() {
        let error = find_record("x.fa", Cursor::new(">a\nAC\n"), 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.fa has no record 1; number of records: 1"
        );
    }
}
