//! Finds the position of a residue for an error message, by reading the file again.

use std::path::Path;

use seqloom_core::{Error, Result};

use crate::options::{Comments, ReaderOptions, Whitespace};
use crate::reader::Reader;
use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// Returns the line and byte offset of a residue. The arguments `record` and `position`
/// are zero-based.
pub fn locate_residue(path: &Path, record: u64, position: u64) -> Result<Position> {
    let options = ReaderOptions {
        comments: Comments::Skip,
        whitespace: Whitespace::Strip,
        max_record: Some(u64::MAX),
        ..ReaderOptions::default()
    };
    let mut reader = Reader::open(path, &options)?;
    let mut search = ResidueSearch {
        begun: 0,
        record,
        position,
        found: None,
    };
    reader.parse_to_sink(&mut search);
    match (search.found, reader.failure()) {
        (Some(found), _) => Ok(found),
        (None, Some(error)) => Err(error.clone()),
        (None, None) => Err(Error::OutOfRange {
            message: format!(
                "{}: has no residue {position} in record {record}",
                path.display()
            ),
        }),
    }
}

struct ResidueSearch {
    begun: u64,
    record: u64,
    /// The number of residues that are still to be skipped before the target residue.
    position: u64,
    found: Option<Position>,
}

impl RecordSink for ResidueSearch {
    fn begin_record(&mut self, _: &[u8]) {
        self.begun += 1;
    }

    fn add_residues(&mut self, letters: &[u8], start: Position) {
        if self.begun != self.record + 1 || self.found.is_some() {
            return;
        }
        let count = as_u64(letters.len());
        if self.position < count {
            self.found = Some(Position {
                byte: start.byte + self.position,
                ..start
            });
        }
        self.position = self.position.saturating_sub(count);
    }

    fn end_record(&mut self) {}

    fn is_full(&self) -> bool {
        self.found.is_some() || self.begun > self.record + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residue_is_found_across_wrapped_lines() {
        let path = std::env::temp_dir().join(format!("seqloom-locate-{}.fa", std::process::id()));
        std::fs::write(&path, b">a\nACGT\n>b x\r\nAC\r\n\r\nGT\r\n").unwrap();
        let found = locate_residue(&path, 1, 3).unwrap();
        let after_end = locate_residue(&path, 1, 4);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found, Position { line: 6, byte: 21 });
        assert!(matches!(after_end, Err(Error::OutOfRange { .. })));
    }
}
