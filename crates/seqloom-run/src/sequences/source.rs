//! The source from which records are read, one window at a time.

use std::path::{Path, PathBuf};

use seqloom_compression::input::BufferedInput;
use seqloom_core::{Error, Result};
use seqloom_sequences::ReaderOptions;

use super::files::FileRecords;
use super::pairs::Mates;
use super::records::Records;

/// A source of single records or of pairs of mates.
pub(crate) enum RecordSource {
    /// Each record is scored separately.
    Single(Box<FileRecords>),
    /// The two mates of a pair are scored together.
    Paired(std::vec::IntoIter<Mates>),
}

/// The maximum numbers of records and bytes that are read at a time.
const READ_SIZE: (usize, usize) = (1 << 13, 4 << 20);

impl RecordSource {
    /// Creates the source for files. Single records are read from one file after the
    /// other. Pairs are read from two files in parallel, or from one file in which
    /// mates alternate.
    pub(crate) fn new(
        paths: &[PathBuf],
        is_paired: bool,
        interleaved: bool,
        options: &ReaderOptions,
    ) -> Result<Self> {
        check_paths(paths, is_paired, interleaved)?;
        if !is_paired {
            let files = FileRecords::new(paths.to_vec(), options);
            return Ok(Self::Single(Box::new(files)));
        }
        let each = if interleaved { 1 } else { 2 };
        let mates = paths.chunks(each);
        let mates = mates.map(|paths| Mates::new(paths, options));
        Ok(Self::Paired(mates.collect::<Vec<_>>().into_iter()))
    }

    /// Creates the source for a stream, in which mates alternate if records are pairs.
    /// Error messages call the stream `name`.
    pub(crate) fn of_stream(
        name: &Path,
        stream: BufferedInput,
        is_paired: bool,
        options: &ReaderOptions,
    ) -> Self {
        if is_paired {
            let mates = Mates::of_stream(name, stream, options);
            return Self::Paired(vec![mates].into_iter());
        }
        let files = FileRecords::of_stream(name, stream, options);
        Self::Single(Box::new(files))
    }

    /// Reads records with about this number of bytes in total. The number of records is
    /// a multiple of `multiple`, unless the files end. Returns `None` at the end.
    pub(super) fn window(&mut self, bytes: usize, multiple: usize) -> Result<Option<Vec<Records>>> {
        let mut lanes = [Records::default(), Records::default()];
        let piece = (READ_SIZE.0, READ_SIZE.1.min(bytes).max(1));
        while lanes.iter().map(Records::bytes).sum::<usize>() < bytes {
            if self.read(&mut lanes, piece)? == 0 {
                break;
            }
        }
        while lanes[0].len() % multiple != 0 {
            let missing = multiple - lanes[0].len() % multiple;
            if self.read(&mut lanes, (missing, usize::MAX))? == 0 {
                break;
            }
        }
        let [one, other] = lanes;
        let is_single = matches!(self, Self::Single(_));
        let lanes = if is_single {
            vec![one]
        } else {
            vec![one, other]
        };
        Ok(lanes
            .first()
            .is_some_and(|lane| lane.len() > 0)
            .then_some(lanes))
    }

    fn read(&mut self, lanes: &mut [Records; 2], size: (usize, usize)) -> Result<usize> {
        match self {
            Self::Single(files) => files.read(&mut lanes[0], size),
            Self::Paired(mates) => {
                while let Some(first) = mates.as_mut_slice().first_mut() {
                    match first.read(lanes, size)? {
                        0 => drop(mates.next()),
                        found => return Ok(found),
                    }
                }
                Ok(0)
            }
        }
    }
}

/// Returns an error if the number of files does not match the options.
fn check_paths(paths: &[PathBuf], is_paired: bool, interleaved: bool) -> Result<()> {
    if paths.is_empty() {
        return Err(Error::argument("expected a file of sequences, got none"));
    }
    if paths.len() > 1 && paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Error::argument("-: standard input must be the only input"));
    }
    if is_paired && !interleaved && paths.len() % 2 == 1 {
        return Err(Error::argument(format!(
            "the model reads pairs: expected two files for each, R1 R2, got {} files; \
             --interleaved reads one file in which mates alternate",
            paths.len()
        )));
    }
    if interleaved && !is_paired {
        return Err(Error::argument(
            "--interleaved is for pairs, but the model reads single records",
        ));
    }
    Ok(())
}
