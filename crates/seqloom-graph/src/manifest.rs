//! `export.json`: what records are and become, and a hash of each file.

use std::collections::BTreeMap;

use seqloom_core::Result;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::source::{ExportFiles, NAMES};

/// The newest version of the format that this reader knows.
pub const VERSION: u64 = 2;

/// What `export.json` says.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    checksum: String,
    format: String,
    /// The version of the format.
    pub version: u64,
    /// The program that wrote it.
    pub written_by: String,
    /// What the outputs are.
    pub task: Task,
    /// Records of a batch.
    pub batch_size: usize,
    /// How records lie in a batch.
    pub layout: BatchLayout,
    /// Positions that the network reads; none for any number.
    pub length: Option<usize>,
    /// What is done with a record of another length; none where that is an error.
    pub crop: Option<Crop>,
    /// How the outputs of two mates become one; none where records are single.
    pub pair: Option<Pair>,
    /// What becomes of the rows of a record of a packed batch.
    pub pool: Option<Pool>,
    /// What the network was trained on; older exports do not say.
    #[serde(default)]
    pub training: Training,
    files: BTreeMap<String, String>,
}

/// What a network was trained on.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Training {
    /// The alphabet of the encoder, where it has one.
    pub alphabet: Option<String>,
    /// The letters of the shortest and of the longest record.
    pub lengths: Option<(u64, u64)>,
    /// Whether training came to its end.
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

/// What a model's outputs are.
#[derive(Clone, Debug, Deserialize)]
pub struct Task {
    /// Which function makes scores of outputs.
    pub name: TaskName,
    /// What the outputs are called; may be empty where they are `Custom`.
    pub columns: Vec<String>,
    /// What is added to the outputs of a regression.
    #[serde(default)]
    pub mean: Vec<f64>,
    /// What the outputs of a regression are multiplied by before.
    #[serde(default)]
    pub deviation: Vec<f64>,
}

/// Which function makes scores of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskName {
    /// A softmax.
    Classify,
    /// A sigmoid each.
    Multilabel,
    /// A deviation and a mean.
    Regress,
    /// None.
    Custom,
}

/// How records lie in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchLayout {
    /// Each in a row, which is filled up.
    Padded,
    /// End to end.
    Packed,
}

/// What is done with a record of another length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Crop {
    /// A longer one is cut at its end, a shorter one is padded.
    Pad,
}

/// How the outputs of two mates become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pair {
    /// Their sum.
    Sum,
}

/// What becomes of the rows of a record of a packed batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// The mean over all tokens but the first and the last.
    Mean,
    /// The first row.
    Cls,
}

/// What is read before anything else: files of other versions may differ in all else.
#[derive(Deserialize)]
struct FormatHeader {
    format: String,
    version: u64,
}

impl Manifest {
    /// Reads and checks `export.json`.
    pub(crate) fn read(source: &ExportFiles) -> Result<Self> {
        if !source.has(NAME) {
            let message = "no such file; expected an exported model, which `seqloom export RUN --out \
                           FOLDER` writes of a run folder";
            return Err(source.fault(NAME, message));
        }
        let bytes = source.read(NAME)?;
        let head: FormatHeader = parse(source, &bytes)?;
        if head.format != FORMAT {
            let message = format!("expected the format {FORMAT:?}, found {:?}", head.format);
            return Err(source.fault(NAME, message));
        }
        if head.version > VERSION {
            let message = format!(
                "version {} of the format is newer than {VERSION}, the newest that this program \
                 reads: use a newer seqloom-run, or export the model again with an older seqloom",
                head.version
            );
            return Err(source.fault(NAME, message));
        }
        let manifest: Self = parse(source, &bytes)?;
        manifest.check_sum(source, bytes)?;
        manifest.check(source)?;
        Ok(manifest)
    }

    /// Compares the hash that `export.json` has of itself.
    fn check_sum(&self, source: &ExportFiles, mut bytes: Vec<u8>) -> Result<()> {
        let digits = self.checksum.as_bytes();
        let mut positions = (0..bytes.len().saturating_sub(63))
            .filter(|&start| !digits.is_empty() && bytes[start..].starts_with(digits));
        let (start, again) = (positions.next(), positions.next());
        let is_hash = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
        let (Some(start), None, true) = (start, again, is_hash) else {
            let message = "checksum: expected 64 hexadecimal digits that occur once in the file";
            return Err(source.fault(NAME, message));
        };
        bytes[start..start + 64].fill(b'0');
        if hash(&bytes) != self.checksum {
            let message = "the file is not as it was written: its checksum differs; export the \
                           model again";
            return Err(source.fault(NAME, message));
        }
        Ok(())
    }

    /// Checks what belongs together.
    fn check(&self, source: &ExportFiles) -> Result<()> {
        let bad = |message: String| Err(source.fault(NAME, message));
        if self.version == 0 || self.format != FORMAT {
            return bad("version: expected a number from 1, found 0".to_owned());
        }
        if self.batch_size == 0 || self.length == Some(0) {
            return bad("batch_size and length: expected numbers above 0, found 0".to_owned());
        }
        if self.batch_size > MOST_RECORDS {
            let found = self.batch_size;
            return bad(format!(
                "batch_size: expected at most {MOST_RECORDS}, found {found}"
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
                "files: expected names of {NAMES:?}, found {name:?}"
            ));
        }
        Ok(())
    }

    /// Reads a file and compares its hash; none where neither the list nor the source has it.
    pub(crate) fn file(&self, source: &ExportFiles, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(wanted) = self.files.get(name) else {
            if source.has(name) {
                let message = format!("{NAME} does not list this file: export the model again");
                return Err(source.fault(name, message));
            }
            return Ok(None);
        };
        let bytes = source.read(name)?;
        if hash(&bytes) != *wanted {
            let message = format!(
                "the file is not as it was written: its hash differs from that in {NAME}; export \
                 the model again"
            );
            return Err(source.fault(name, message));
        }
        Ok(Some(bytes))
    }

    /// The same of a file that must be there.
    pub(crate) fn needed(&self, source: &ExportFiles, name: &str) -> Result<Vec<u8>> {
        let found = self.file(source, name)?;
        found.ok_or_else(|| source.fault(NAME, format!("files: {name} is not listed")))
    }
}

/// Records of a batch: a batch of few is filled up.
const MOST_RECORDS: usize = (1 << 16) - 1;
const NAME: &str = "export.json";
const FORMAT: &str = "seqloom-export";

fn is_known(name: &str) -> bool {
    name != NAME && NAMES.contains(&name)
}

fn parse<'a, T: Deserialize<'a>>(source: &ExportFiles, bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| source.fault(NAME, error.to_string()))
}

/// A SHA-256 in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
