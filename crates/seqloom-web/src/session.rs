//! An open model and the functions that use it.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use seqloom_core::Result;
use seqloom_graph::{Export, Limits};
use seqloom_run::{PredictOptions, PredictionObserver, Predictor, Scores, Summary};
use serde_json::json;

use crate::host::{Host, HostStream};
use crate::occlusion::{self, Occlusion};
use crate::{facts::ModelFacts, record, table};

/// An open model.
pub struct Session {
    predictor: Predictor,
    facts: ModelFacts,
}

/// Memory limit in bytes for weights and values: half of the memory of the module.
const MEMORY_LIMIT: usize = 512 << 20;

/// Bytes of residues and ids that are sorted together. A small number makes the first
/// scores arrive soon.
const SORT_WINDOW_BYTES: usize = 1 << 20;

impl Session {
    /// Opens the bytes of an exported model.
    ///
    /// # Errors
    ///
    /// The bytes are not a supported export, or the model needs too much memory.
    pub fn open(zip: Vec<u8>) -> Result<Self> {
        let limits = Limits {
            memory_bytes: MEMORY_LIMIT,
        };
        let export = Export::from_zip(zip)?;
        let facts = ModelFacts::of(&export);
        let predictor = Predictor::new(export, limits, 1)?;
        Ok(Self { predictor, facts })
    }

    /// Returns a description of the inputs and outputs of the model, in JSON.
    pub fn facts(&self) -> String {
        self.facts.to_json(&self.predictor)
    }

    /// Scores every record of the host's file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has a record that the model cannot read.
    pub fn predict(&self, name: &str, host: &impl Host) -> Result<String> {
        host.rewind();
        let mut reporter = HostReporter {
            host,
            has_begun: false,
        };
        let stream = Box::new(HostStream(host.clone()));
        let summary = self.score(name, stream, &mut reporter)?;
        Ok(json!({"records": summary.records, "warnings": summary.warnings}).to_string())
    }

    /// Returns the importance of each position in a record of the host's file, counted from 0.
    ///
    /// # Errors
    ///
    /// Fails for the reasons of [`predict`](Self::predict), and if the record does not
    /// exist or the model does not read sequences.
    pub fn explain(&self, name: &str, host: &impl Host, number: u64) -> Result<Vec<u8>> {
        host.rewind();
        let record = record::find_record(name, HostStream(host.clone()), number)?;
        let occlusion = Occlusion::new(&self.predictor, record)?;
        occlusion::score_masked_copies(&occlusion, |text| {
            let mut stored = StoredScores::default();
            let stream = Box::new(std::io::Cursor::new(text));
            self.score(name, stream, &mut stored)?;
            Ok(stored)
        })
    }

    fn score(
        &self,
        name: &str,
        stream: Box<dyn Read + Send + Sync>,
        observer: &mut dyn PredictionObserver,
    ) -> Result<Summary> {
        let options = PredictOptions {
            window: SORT_WINDOW_BYTES,
            interleaved: self.predictor.manifest().pair.is_some(),
            ..PredictOptions::default()
        };
        self.predictor
            .predict_stream(Path::new(name), stream, &options, observer)
    }
}

/// Passes scores and progress to the host.
struct HostReporter<'a, H> {
    host: &'a H,
    has_begun: bool,
}

impl<H: Host> PredictionObserver for HostReporter<'_, H> {
    fn scores(&mut self, columns: &[String], scores: &Scores) -> Result<()> {
        let table = table::encode_table(columns, scores, !self.has_begun)?;
        self.has_begun = true;
        self.host.rows(&table);
        Ok(())
    }

    fn batch(&mut self, (done, _): (u64, u64), _: Duration) -> Result<()> {
        self.host.progress(done);
        Ok(())
    }
}

/// Scores in memory.
#[derive(Debug, Default)]
pub(crate) struct StoredScores {
    pub(crate) columns: Vec<String>,
    pub(crate) values: Vec<f32>,
}

impl PredictionObserver for StoredScores {
    fn scores(&mut self, columns: &[String], scores: &Scores) -> Result<()> {
        self.columns = columns.to_vec();
        self.values.extend_from_slice(&scores.values);
        Ok(())
    }
}
