//! `export.json`: a description of the records and the task, and a hash of each file.

use std::collections::BTreeMap;

use seqloom_core::Result;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::source::{EXPORT_FILES, ExportFiles};

/// The newest version of the format that this reader supports.
pub const FORMAT_VERSION: u64 = 2;

/// The contents of `export.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    checksum: String,
    format: String,
    /// The version of the format.
    pub version: u64,
    /// The program that wrote the file.
    pub written_by: String,
    /// The task, which describes the outputs.
    pub task: Task,
    /// The number of records of a batch.
    pub batch_size: usize,
    /// The layout of records in a batch.
    pub layout: BatchLayout,
    /// The number of positions that the network reads, or `None` for any number.
    pub length: Option<usize>,
    /// The treatment of records of another length, or `None` if such records are an
    /// error.
    pub crop: Option<Crop>,
    /// The method that combines the outputs of two mates (paired reads), or `None` for
    /// single records.
    pub pair: Option<PairMode>,
    /// The method that pools the token rows of a record in a packed batch.
    pub pool: Option<PoolMode>,
    /// The training data; missing in older exports.
    #[serde(default)]
    pub training: Training,
    files: BTreeMap<String, String>,
}

/// The training data of a network.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Training {
    /// The alphabet of the encoder, if it has one.
    pub alphabet: Option<String>,
    /// The lengths of the shortest and the longest record.
    pub lengths: Option<(u64, u64)>,
    /// True if training finished.
    pub finished: bool,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            alphabet: None,
            lengths: None,
            finished: true,
        }
    }
}

/// The task of a model, which describes its outputs.
#[derive(Clone, Debug, Deserialize)]
pub struct Task {
    /// The function that converts outputs to scores.
    pub name: TaskName,
    /// The names of the outputs; may be empty for a `Custom` task.
    pub columns: Vec<String>,
    /// The mean that is added to the outputs of a regression.
    #[serde(default)]
    pub mean: Vec<f64>,
    /// The standard deviation by which regression outputs are multiplied before the mean is
    /// added.
    #[serde(default)]
    pub deviation: Vec<f64>,
}

/// The function that converts outputs to scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskName {
    /// The softmax over the classes.
    Classify,
    /// The sigmoid of the output for each class.
    Multilabel,
    /// The score is the output times the standard deviation, plus the mean.
    Regress,
    /// The outputs are the scores.
    Custom,
}

/// The layout of records in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchLayout {
    /// The batch has one padded row per record.
    Padded,
    /// The records of a batch are concatenated in one row.
    Packed,
}

/// The treatment of records of another length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Crop {
    /// Longer records are truncated at the end, and shorter ones are padded.
    Pad,
}

/// The method that combines the outputs of two mates (paired reads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairMode {
    /// The sum of the outputs of both mates.
    Sum,
}

/// The method that pools the token rows of a record in a packed batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    /// The mean of the rows of all tokens except the first and the last.
    Mean,
    /// The row of the first token.
    Cls,
}

/// The format and version, which are read first because all other entries may differ
/// between versions.
#[derive(Deserialize)]
struct FormatHeader {
    format: String,
    version: u64,
}

impl Manifest {
    /// Reads and checks `export.json`.
    pub(crate) fn read(source: &ExportFiles) -> Result<Self> {
        if !source.has(MANIFEST_FILE) {
            let message = "no such file; expected an exported model, which `seqloom export RUN --out \
                           FOLDER` writes of a run folder";
            return Err(source.error(MANIFEST_FILE, message));
        }
        let bytes = source.read(MANIFEST_FILE)?;
        let head: FormatHeader = parse_json(source, &bytes)?;
        if head.format != FORMAT {
            let message = format!("expected the format {FORMAT:?}, found {:?}", head.format);
            return Err(source.error(MANIFEST_FILE, message));
        }
        if head.version > FORMAT_VERSION {
            let message = format!(
                "version {} of the format is newer than {FORMAT_VERSION}, the newest that this program \
                 reads: use a newer seqloom-run, or export the model again with an older seqloom",
                head.version
            );
            return Err(source.error(MANIFEST_FILE, message));
        }
        let manifest: Self = parse_json(source, &bytes)?;
        manifest.check_hash(source, bytes)?;
        manifest.check_entries(source)?;
        Ok(manifest)
    }

    /// Checks the hash of `export.json`; the hash is stored in that file itself.
    fn check_hash(&self, source: &ExportFiles, mut bytes: Vec<u8>) -> Result<()> {
        let digits = self.checksum.as_bytes();
        let mut positions = (0..bytes.len().saturating_sub(63))
            .filter(|&start| !digits.is_empty() && bytes[start..].starts_with(digits));
        let (start, again) = (positions.next(), positions.next());
        let is_hash = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
        let (Some(start), None, true) = (start, again, is_hash) else {
            let message = "checksum: expected 64 hexadecimal digits that occur once in the file";
            return Err(source.error(MANIFEST_FILE, message));
        };
        bytes[start..start + 64].fill(b'0');
        if sha256_hex(&bytes) != self.checksum {
            let message = "the file has changed: its checksum differs; export the \
                           model again";
            return Err(source.error(MANIFEST_FILE, message));
        }
        Ok(())
    }

    /// Checks that the entries are consistent.
    fn check_entries(&self, source: &ExportFiles) -> Result<()> {
        let bad = |message: String| Err(source.error(MANIFEST_FILE, message));
        if self.version == 0 || self.format != FORMAT {
            return bad("version: expected a number from 1, found 0".to_owned());
        }
        if self.batch_size == 0 || self.length == Some(0) {
            return bad("batch_size and length: expected numbers above 0, found 0".to_owned());
        }
        if self.batch_size > MAX_BATCH_SIZE {
            let found = self.batch_size;
            return bad(format!(
                "batch_size: expected at most {MAX_BATCH_SIZE}, found {found}"
            ));
        }
        let count = self.task.columns.len();
        let (mean, deviation) = (self.task.mean.len(), self.task.deviation.len());
        if self.task.name == TaskName::Regress && (mean != count || deviation != count) {
            return bad(format!(
                "task: expected a mean and a deviation for each of {count} columns, found {mean} \
                 and {deviation}"
            ));
        }
        if let Some(name) = self.files.keys().find(|name| !is_known(name)) {
            return bad(format!(
                "files: expected names of {EXPORT_FILES:?}, found {name:?}"
            ));
        }
        Ok(())
    }

    /// Reads a file and checks its hash. Returns `None` if neither the manifest nor the
    /// source lists the file.
    pub(crate) fn read_file(&self, source: &ExportFiles, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(wanted) = self.files.get(name) else {
            if source.has(name) {
                let message =
                    format!("{MANIFEST_FILE} does not list this file: export the model again");
                return Err(source.error(name, message));
            }
            return Ok(None);
        };
        let bytes = source.read(name)?;
        if sha256_hex(&bytes) != *wanted {
            let message = format!(
                "the file is not as it was written: its hash differs from that in {MANIFEST_FILE}; export \
                 the model again"
            );
            return Err(source.error(name, message));
        }
        Ok(Some(bytes))
    }

    /// Reads a required file and checks its hash.
    pub(crate) fn read_required(&self, source: &ExportFiles, name: &str) -> Result<Vec<u8>> {
        let found = self.read_file(source, name)?;
        found.ok_or_else(|| source.error(MANIFEST_FILE, format!("files: {name} is not listed")))
    }
}

/// The maximum batch size. The batch size is limited because smaller batches are padded
/// to it.
const MAX_BATCH_SIZE: usize = (1 << 16) - 1;
const MANIFEST_FILE: &str = "export.json";
const FORMAT: &str = "seqloom-export";

fn is_known(name: &str) -> bool {
    name != MANIFEST_FILE && EXPORT_FILES.contains(&name)
}

fn parse_json<'a, T: Deserialize<'a>>(source: &ExportFiles, bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| source.error(MANIFEST_FILE, error.to_string()))
}

/// Returns a SHA-256 in hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
