//! Reads pairs of mates from two files, or from one file in which mates alternate.

use std::path::{Path, PathBuf};

use seqloom_compression::input::BufferedInput;
use seqloom_core::error::{Fault, FaultKind};
use seqloom_core::{Error, Result, number::as_u64};
use seqloom_sequences::{ReaderOptions, pairs};

use super::files::FileRecords;
use super::records::Records;
use crate::text::{format_thousands, quote};

/// A reader of pairs of mates, from one or more files or pairs of files.
pub(crate) struct Mates {
    files: Vec<FileRecords>,
    paths: Vec<PathBuf>,
    /// The number of pairs read so far.
    count: usize,
}

impl Mates {
    /// Creates a reader of mates from two files, or from one file in which mates
    /// alternate.
    pub(crate) fn new(paths: &[PathBuf], options: &ReaderOptions) -> Self {
        let open = |path: &PathBuf| FileRecords::new(vec![path.clone()], options);
        Self {
            files: paths.iter().map(open).collect(),
            paths: paths.to_vec(),
            count: 0,
        }
    }

    /// Creates a reader of a stream in which mates alternate.
    pub(crate) fn of_stream(name: &Path, stream: BufferedInput, options: &ReaderOptions) -> Self {
        Self {
            files: vec![FileRecords::of_stream(name, stream, options)],
            paths: vec![name.to_path_buf()],
            count: 0,
        }
    }

    /// Adds up to `most` pairs with about `bytes` bytes of residues. Returns the number
    /// of added pairs.
    pub(super) fn read(
        &mut self,
        lanes: &mut [Records; 2],
        (most, bytes): (usize, usize),
    ) -> Result<usize> {
        let before = lanes[0].len();
        let found = match self.files.as_mut_slice() {
            [first, second] => {
                let found = first.read(&mut lanes[0], (most, bytes))?;
                // When the first file ends, the second file must end as well.
                let mates = second.read_all(&mut lanes[1], found.max(1))?;
                if mates != found {
                    return Err(self.missing_mate(lanes, found.min(mates)));
                }
                found
            }
            [both] => split_mates(both, (lanes, &self.paths), (most, bytes), self.count)?,
            _ => 0,
        };
        self.check(lanes, before)?;
        self.count += found;
        Ok(found)
    }

    /// Returns an error that names the file with fewer records, for two files with
    /// different numbers of records.
    fn missing_mate(&self, [one, other]: &[Records; 2], found: usize) -> Error {
        let is_first = one.len() < other.len();
        let (ended, longer, rest) = if is_first { (0, 1, other) } else { (1, 0, one) };
        let shown = |file: usize| self.paths.get(file).cloned().unwrap_or_default();
        let record = self.count + found;
        let row = one.len().min(other.len());
        let message = format!(
            "ends after {} records, but {} continues with record {record} ({}); each pair needs \
             a read in both files",
            format_thousands(as_u64(record)),
            shown(longer).display(),
            String::from_utf8_lossy(rest.names.get(row))
        );
        fault(&shown(ended), FaultKind::Count, message)
    }

    /// Returns an error if the two mates of a pair have different ids.
    fn check(&self, [one, other]: &[Records; 2], before: usize) -> Result<()> {
        let mut ids = one.names.iter().zip(other.names.iter()).skip(before);
        let Some(row) = ids.position(|(first, second)| !pairs::are_mates(first, second)) else {
            return Ok(());
        };
        let both: Vec<String> = self
            .paths
            .iter()
            .map(|it| it.display().to_string())
            .collect();
        let message = format!(
            "pair {}: expected two reads of one fragment, found {} and {}; both files must have the \
             same order",
            self.count + row,
            quote(one.names.get(before + row)),
            quote(other.names.get(before + row))
        );
        Err(fault(
            Path::new(&both.join(" and ")),
            FaultKind::Names,
            message,
        ))
    }
}

/// Reads pairs from a file in which mates alternate.
fn split_mates(
    file: &mut FileRecords,
    (lanes, paths): (&mut [Records; 2], &[PathBuf]),
    (most, bytes): (usize, usize),
    count: usize,
) -> Result<usize> {
    let path = paths.first().cloned().unwrap_or_default();
    let mut both = Records::default();
    let found = file.read(&mut both, (most.saturating_mul(2), bytes))?;
    if found % 2 == 1 && file.read_all(&mut both, 1)? == 0 {
        let record = 2 * count + found - 1;
        let message = format!(
            "record {record} ({}): expected its mate, found the end of the file: {} records \
             cannot be pairs",
            String::from_utf8_lossy(both.names.get(found - 1)),
            format_thousands(as_u64(record + 1))
        );
        return Err(fault(&path, FaultKind::Count, message));
    }
    for row in 0..both.len() {
        if let Some(lane) = lanes.get_mut(row % 2) {
            lane.push(&both, row);
        }
    }
    Ok(both.len() / 2)
}

fn fault(path: &Path, kind: FaultKind, message: String) -> Error {
    let fault = Fault {
        kind,
        ..Fault::of_file(message)
    };
    Error::format(path, fault)
}
