//! Writes scores as a table, as JSON lines, or as NumPy arrays.

mod json;
mod npz;
mod number;
mod target;
mod tsv;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use seqloom_core::{Error, Result};

use self::{npz::Npz, target::TargetFile};
use crate::scores::Scores;

pub use self::number::write_number;

/// The format in which scores are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreFormat {
    /// A tab-separated table: the id, then a column for each output.
    Tsv,
    /// A comma-separated table: the id, then a column for each output.
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// The NumPy arrays `ids`, `columns` and `scores` in one file.
    Npz,
}

impl FromStr for ScoreFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "tsv" => Ok(Self::Tsv),
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::Jsonl),
            "npz" => Ok(Self::Npz),
            _ => Err(Error::argument(format!(
                "--format must be tsv, csv, jsonl or npz, got {name:?}"
            ))),
        }
    }
}

impl ScoreFormat {
    /// Returns the format for the extension of a path. Extensions other than `.csv`,
    /// `.jsonl` and `.npz` mean a tab-separated table.
    ///
    /// # Errors
    ///
    /// Returns an error if the extension belongs to a format that this program does not
    /// write.
    pub fn from_path(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|it| it.to_str());
        let ending = ending.unwrap_or_default().to_ascii_lowercase();
        match ending.as_str() {
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::Jsonl),
            "npz" => Ok(Self::Npz),
            "xlsx" | "xls" | "ods" | "parquet" | "json" | "npy" | "gz" | "bz2" | "xz" | "zst"
            | "zip" => Err(Error::argument(format!(
                "{}: scores are written as .tsv, .csv, .jsonl or .npz, not as .{ending}; a \
                 spreadsheet program opens .csv, and `seqloom predict` writes .parquet",
                path.display()
            ))),
            _ => Ok(Self::Tsv),
        }
    }
}

/// A writer that receives the scores of one window of records after the other.
///
/// ```
/// use seqloom_run::{ScoreFormat, ScoreWriter, Scores};
///
/// let mut scores = Scores { columns: 2, values: vec![0.9, 0.1], ..Scores::default() };
/// scores.names.push(b"a");
/// let mut table = Vec::new();
/// let columns = ["EI".to_owned(), "IE".to_owned()];
/// let mut writer = ScoreWriter::to_stream(&mut table, ScoreFormat::Tsv)?;
/// writer.write(&columns, &scores)?;
/// writer.finish()?;
/// assert_eq!(table, b"id\tEI\tIE\na\t0.9\t0.1\n");
/// # Ok::<(), seqloom_run::Error>(())
/// ```
pub struct ScoreWriter<'a> {
    output: ScoreDestination<'a>,
    format: ScoreFormat,
    path: PathBuf,
    has_head: bool,
    line: Vec<u8>,
}

/// The destination of the scores.
enum ScoreDestination<'a> {
    Stream(Box<dyn Write + 'a>),
    File(TargetFile),
    Arrays(Npz),
}

/// The path `-`, which means standard output.
const STDOUT_PATH: &str = "-";
/// The number of bytes that are written at a time.
const WRITE_BUFFER_BYTES: usize = 1 << 18;

impl<'a> ScoreWriter<'a> {
    /// Creates a writer that writes scores to a stream as soon as they are computed.
    ///
    /// # Errors
    ///
    /// Returns an error if the format is `.npz`, which needs a file.
    pub fn to_stream(stream: impl Write + 'a, format: ScoreFormat) -> Result<Self> {
        if format == ScoreFormat::Npz {
            return Err(Error::argument(
                "npz needs a file, because its header is written last: give --out FILE.npz",
            ));
        }
        Ok(Self::new(
            ScoreDestination::Stream(Box::new(stream)),
            format,
            STDOUT_PATH.as_ref(),
        ))
    }

    /// Creates a writer to a file. `finish` renames the complete file to `path`. If an
    /// error occurs, no file remains.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn to_file(path: &Path, format: ScoreFormat) -> Result<Self> {
        let target = TargetFile::create(path)?;
        let output = match format {
            ScoreFormat::Npz => ScoreDestination::Arrays(Npz::new(target)?),
            _ => ScoreDestination::File(target),
        };
        Ok(Self::new(output, format, path))
    }

    fn new(output: ScoreDestination<'a>, format: ScoreFormat, path: &Path) -> Self {
        Self {
            output,
            format,
            path: path.to_path_buf(),
            has_head: false,
            line: Vec::new(),
        }
    }

    /// Writes the scores of a window of records. `columns` are the names of the
    /// outputs.
    ///
    /// # Errors
    ///
    /// Returns an error if the disk is full, or if the reader has closed the stream.
    pub fn write(&mut self, columns: &[String], scores: &Scores) -> Result<()> {
        let written = self.write_rows(columns, scores);
        written.map_err(|error| Error::io(&self.path, &error))
    }

    fn write_rows(&mut self, columns: &[String], scores: &Scores) -> io::Result<()> {
        if let ScoreDestination::Arrays(arrays) = &mut self.output {
            return arrays.write(columns, scores);
        }
        let separator = match self.format {
            ScoreFormat::Csv => tsv::COMMA,
            _ => tsv::TAB,
        };
        if !self.has_head && self.format != ScoreFormat::Jsonl {
            tsv::write_head(columns, separator, &mut self.line);
        }
        self.has_head = true;
        let id = tsv::id_column(columns);
        for (name, values) in scores.rows() {
            match self.format {
                ScoreFormat::Jsonl => {
                    json::write_row((&id, name), (columns, values), &mut self.line);
                }
                _ => tsv::write_row((name, values), separator, &mut self.line),
            }
            if self.line.len() >= WRITE_BUFFER_BYTES {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            ScoreDestination::Stream(stream) => {
                stream.write_all(&self.line)?;
                stream.flush()?;
            }
            ScoreDestination::File(target) => target.write_all(&self.line)?,
            ScoreDestination::Arrays(_) => {}
        }
        self.line.clear();
        Ok(())
    }

    /// Completes the output file and renames it.
    ///
    /// # Errors
    ///
    /// Returns an error if the disk is full.
    pub fn finish(self) -> Result<()> {
        let finished = match self.output {
            ScoreDestination::Stream(mut stream) => stream.flush(),
            ScoreDestination::File(target) => target.finish(),
            ScoreDestination::Arrays(arrays) => arrays.finish(),
        };
        finished.map_err(|error| Error::io(&self.path, &error))
    }
}
