//! Predictions with an exported model.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use seqloom_compression::input::BufferedInput;
use seqloom_core::{Error, Result, number::as_u64};
use seqloom_graph::{Array, Dtype, Export, Input, Limits, Manifest, PairMode};
use seqloom_sequences::ReaderOptions;

use crate::feed::{Feed, FeedBatch, FeedEvent, run_ahead, run_in_this_thread};
use crate::genotypes::{GenotypeEncoder, GenotypeFeed};
use crate::input_warnings::{IdCounts, unfinished_warning};
use crate::network::{Network, NetworkOutputs};
use crate::sequences::{BatchFiller, RecordSource, SequenceFeed};
use crate::{encoder::Encoder, scores::Scores, task::activate};

/// An exported model that can score files and arrays.
///
/// ```no_run
/// use seqloom_run::{PredictOptions, Predictor};
///
/// let model = Predictor::open("splice.seqloom".as_ref(), 2)?;
/// model.predict(&["reads.fq.gz".into()], &PredictOptions::default(), |columns, scores| {
///     for (id, values) in scores.rows() {
///         println!("{} {:?}", String::from_utf8_lossy(id), columns.iter().zip(values));
///     }
///     Ok(())
/// })?;
/// # Ok::<(), seqloom_run::Error>(())
/// ```
pub struct Predictor {
    manifest: Manifest,
    network: Network,
    kind: RecordKind,
    /// The inputs of the graph, and whether a separate graph exists for batches without
    /// padding.
    inputs: (Vec<(String, Dtype)>, bool),
    limits: Limits,
    threads: usize,
}

/// The kind of records that the model reads.
#[derive(Clone, Debug)]
enum RecordKind {
    Sequences(Arc<Encoder>),
    Genotypes(Arc<GenotypeEncoder>),
    Arrays,
}

impl RecordKind {
    fn new(export: &Export) -> Result<Self> {
        let Some(file) = export.encoder() else {
            return Ok(Self::Arrays);
        };
        let arrays = export.encoder_arrays();
        if let Some(learned) = GenotypeEncoder::read(file, arrays.as_ref())? {
            return Ok(Self::Genotypes(Arc::new(learned)));
        }
        let encoder = Encoder::new("encoder.json".as_ref(), file)?;
        Ok(Self::Sequences(Arc::new(encoder)))
    }
}

/// Options for scoring files.
#[derive(Clone, Debug)]
pub struct PredictOptions {
    /// The options of the sequence reader.
    pub reading: ReaderOptions,
    /// The maximum size in bytes of a window: the records that are loaded and sorted
    /// together.
    pub window: usize,
    /// True if first and second mates alternate in each file.
    pub interleaved: bool,
}

impl Default for PredictOptions {
    fn default() -> Self {
        Self {
            reading: ReaderOptions::default(),
            window: WINDOW_BYTES,
            interleaved: false,
        }
    }
}

/// The default window size in bytes, as in Python. A window contains the records that
/// are loaded and sorted together.
const WINDOW_BYTES: usize = 1 << 30;
/// The window size in bytes if all records have the same length. For records of equal
/// length, the window size does not affect the scores.
const EQUAL_BYTES: usize = 16 << 20;

/// An observer that receives scores and progress. If the observer returns an error,
/// scoring ends.
pub trait PredictionObserver {
    /// Receives the scores of a window of records. `columns` are the names of the
    /// outputs.
    ///
    /// # Errors
    ///
    /// An error ends the scoring.
    fn scores(&mut self, columns: &[String], scores: &Scores) -> Result<()>;

    /// Receives the progress after each batch: the numbers of records that were scored
    /// and read, and the time in which the graph computed the batch.
    ///
    /// # Errors
    ///
    /// An error ends the scoring.
    fn batch(&mut self, (_done, _read): (u64, u64), _graph: Duration) -> Result<()> {
        Ok(())
    }
}

/// An observer that passes scores to a function and ignores progress.
struct ScoreCallback<F>(F);

impl<F: FnMut(&[String], &Scores) -> Result<()>> PredictionObserver for ScoreCallback<F> {
    fn scores(&mut self, columns: &[String], scores: &Scores) -> Result<()> {
        self.0(columns, scores)
    }
}

/// A summary of the scored records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of scored records.
    pub records: u64,
    /// The number of batches.
    pub batches: u64,
    /// Warnings about the records or the model, one sentence each.
    pub warnings: Vec<String>,
}

impl Predictor {
    /// Opens an exported model in a folder or zip file, and checks all its files.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing, damaged, of a newer version, or not
    /// supported by this program.
    pub fn open(path: &Path, threads: usize) -> Result<Self> {
        Self::new(Export::open(path)?, Limits::default(), threads)
    }

    /// Creates a predictor from an exported model that is already open.
    ///
    /// # Errors
    ///
    /// Returns an error if this program does not support the encoder or the graph.
    pub fn new(export: Export, limits: Limits, threads: usize) -> Result<Self> {
        let inputs = export.graph().inputs().iter();
        let inputs = inputs.map(|input| (input.name.clone(), input.declared.dtype));
        let kind = RecordKind::new(&export)?;
        Ok(Self {
            inputs: (inputs.collect(), export.unpadded_graph().is_some()),
            manifest: export.manifest().clone(),
            kind,
            network: Network::new(export, limits, threads)?,
            limits,
            threads,
        })
    }

    /// Returns the manifest, which describes the records, the network and the task.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the sequence encoder, or `None` if the model does not read sequences.
    pub fn encoder(&self) -> Option<&Encoder> {
        match &self.kind {
            RecordKind::Sequences(encoder) => Some(encoder),
            RecordKind::Genotypes(_) | RecordKind::Arrays => None,
        }
    }

    /// Computes the graph for arrays. Records are not encoded, and outputs are not
    /// converted to scores.
    ///
    /// # Errors
    ///
    /// Returns an error if an array does not match the name, type or shape of an input.
    pub fn run(&self, inputs: &[Input<'_>]) -> Result<Vec<Array>> {
        self.network.run(inputs)
    }

    /// Returns the plural noun for the records of the model.
    pub fn noun(&self) -> &'static str {
        match (&self.kind, self.manifest.pair) {
            (RecordKind::Sequences(_), None) => "sequences",
            (RecordKind::Sequences(_), Some(_)) => "pairs",
            (RecordKind::Genotypes(_), _) => "samples",
            (RecordKind::Arrays, _) => "rows",
        }
    }

    /// Scores every record of some files once, in input order. `each` receives the
    /// names of the outputs, and the scores of a window of records.
    ///
    /// A window contains the records that are loaded and sorted together; its size
    /// limits memory use. Scores are bitwise equal to those of Python if all records
    /// are in one window or have the same length.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, if it contains a record that the
    /// model cannot read, or if `each` fails.
    pub fn predict(
        &self,
        files: &[PathBuf],
        options: &PredictOptions,
        each: impl FnMut(&[String], &Scores) -> Result<()>,
    ) -> Result<Summary> {
        self.predict_observed(files, options, &mut ScoreCallback(each))
    }

    /// Scores files as [`predict`](Self::predict) does, and calls an observer after each
    /// batch.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`predict`](Self::predict).
    pub fn predict_observed(
        &self,
        files: &[PathBuf],
        options: &PredictOptions,
        observer: &mut dyn PredictionObserver,
    ) -> Result<Summary> {
        let mut feed = self.open_files(files, options)?;
        self.score(&mut *feed, observer)
    }

    /// Scores every record of a stream, in which first and second mates alternate if
    /// the model reads pairs. Error messages call the stream `name`.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`predict`](Self::predict), and if the
    /// model does not read sequences.
    pub fn predict_stream(
        &self,
        name: &Path,
        stream: Box<dyn Read + Send + Sync>,
        options: &PredictOptions,
        observer: &mut dyn PredictionObserver,
    ) -> Result<Summary> {
        let RecordKind::Sequences(encoder) = &self.kind else {
            return Err(Error::argument(
                "this model reads no sequences: run it on files or arrays",
            ));
        };
        let filler = self.filler(encoder)?;
        let reading = self.reading(options, &filler);
        let is_paired = self.manifest.pair.is_some();
        let stream = BufferedInput::new(stream);
        let source = RecordSource::of_stream(name, stream, is_paired, &reading);
        let size = self.manifest.batch_size;
        let training = self.manifest.training.clone();
        let mut feed = SequenceFeed::new(source, filler, size, options.window, training);
        self.score(&mut feed, observer)
    }

    /// Returns the object that fills the input arrays for batches of sequences.
    fn filler(&self, encoder: &Arc<Encoder>) -> Result<BatchFiller> {
        let encoder = Arc::clone(encoder);
        BatchFiller::new(encoder, &self.manifest, self.inputs.clone(), self.limits)
    }

    fn score(&self, feed: &mut dyn Feed, observer: &mut dyn PredictionObserver) -> Result<Summary> {
        let mut window = WindowScores {
            predictor: self,
            observer,
            columns: self.manifest.task.columns.clone(),
            scores: Scores::default(),
            summary: Summary::default(),
            done: 0,
            ids: IdCounts::default(),
        };
        let step = |piece| window.step(piece);
        if self.threads > 1 {
            run_ahead(feed, step)?;
        } else {
            run_in_this_thread(feed, step)?;
        }
        let mut summary = window.finish()?;
        summary.warnings.splice(..0, feed.warnings());
        Ok(summary)
    }

    /// Opens files of the kind that the model reads.
    fn open_files(&self, files: &[PathBuf], options: &PredictOptions) -> Result<Box<dyn Feed>> {
        match &self.kind {
            RecordKind::Sequences(encoder) => self.open_sequences(encoder, files, options),
            RecordKind::Genotypes(learned) => self.open_genotypes(learned, files, options),
            RecordKind::Arrays => Err(Error::argument(
                "this model was trained on arrays, and has no encoder for files; run it on \
                 arrays",
            )),
        }
    }

    fn open_sequences(
        &self,
        encoder: &Arc<Encoder>,
        files: &[PathBuf],
        options: &PredictOptions,
    ) -> Result<Box<dyn Feed>> {
        let filler = self.filler(encoder)?;
        let is_paired = self.manifest.pair.is_some();
        let reading = self.reading(options, &filler);
        let source = RecordSource::new(files, is_paired, options.interleaved, &reading)?;
        let size = self.manifest.batch_size;
        let is_equal = self.manifest.length.is_some() || encoder.counts_words();
        let most = if is_equal { EQUAL_BYTES } else { usize::MAX };
        let window_bytes = options.window.min(most);
        let training = self.manifest.training.clone();
        Ok(Box::new(SequenceFeed::new(
            source,
            filler,
            size,
            window_bytes,
            training,
        )))
    }

    /// Returns the options for reading sequences, with the number of threads and the
    /// use of qualities.
    fn reading(&self, options: &PredictOptions, filler: &BatchFiller) -> ReaderOptions {
        ReaderOptions {
            threads: self.threads,
            with_qualities: filler.reads_qualities(),
            ..options.reading.clone()
        }
    }

    fn open_genotypes(
        &self,
        learned: &GenotypeEncoder,
        files: &[PathBuf],
        options: &PredictOptions,
    ) -> Result<Box<dyn Feed>> {
        let [path] = files else {
            return Err(Error::argument(format!(
                "genotypes must be a single .bed, got {} files; merge them first",
                files.len()
            )));
        };
        let size = self.manifest.batch_size;
        let feed = GenotypeFeed::open(path, learned, size, self.threads, options.window)?;
        Ok(Box::new(feed))
    }
}

/// The scores of the current window of records.
struct WindowScores<'a> {
    predictor: &'a Predictor,
    observer: &'a mut dyn PredictionObserver,
    columns: Vec<String>,
    scores: Scores,
    summary: Summary,
    /// The number of records whose outputs were computed. Both mates of a pair are
    /// counted.
    done: u64,
    ids: IdCounts,
}

impl WindowScores<'_> {
    fn step(&mut self, piece: FeedEvent) -> Result<Option<FeedBatch>> {
        match piece {
            FeedEvent::Begin(names) => {
                self.ids.count_ids(&names);
                self.scores.names = names;
                self.scores.values.clear();
                Ok(None)
            }
            FeedEvent::Batch(batch) => {
                self.compute(&batch)?;
                Ok(Some(batch))
            }
            FeedEvent::End => {
                self.end()?;
                Ok(None)
            }
        }
    }

    fn compute(&mut self, batch: &FeedBatch) -> Result<()> {
        let begun = now();
        let outputs = self.predictor.network.outputs(batch)?;
        let graph = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.add_outputs(batch, &outputs)?;
        self.summary.batches += 1;
        self.done += as_u64(batch.real);
        let lanes = if self.predictor.manifest.pair.is_some() {
            2
        } else {
            1
        };
        let read = self.summary.records + as_u64(self.scores.len());
        self.observer.batch((self.done / lanes, read), graph)
    }

    /// Adds the outputs of a batch to the rows of its records.
    fn add_outputs(&mut self, batch: &FeedBatch, outputs: &NetworkOutputs) -> Result<()> {
        let (scores, columns) = (&mut self.scores, outputs.columns);
        if scores.values.is_empty() {
            scores.columns = columns;
            let size = crate::array::checked_product(&[scores.names.len(), columns])?;
            crate::array::resize_vector(&mut scores.values, size)?;
        }
        let rows = batch.rows.iter().take(batch.real);
        for (row, values) in rows.zip(outputs.values.chunks_exact(columns.max(1))) {
            let start = usize::try_from(*row).unwrap_or_default() * columns;
            let sums = scores.values.get_mut(start..start + columns);
            // The outputs of two mates are added. For single records, the outputs are
            // added to 0, which does not change them.
            for (sum, value) in sums.unwrap_or_default().iter_mut().zip(values) {
                *sum = if self.predictor.manifest.pair == Some(PairMode::Sum) {
                    *sum + value
                } else {
                    *value
                };
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let (task, columns) = (&self.predictor.manifest.task, self.scores.columns);
        activate(task, &mut self.scores.values, columns)?;
        if self.columns.is_empty() {
            self.columns = (0..columns).map(|column| column.to_string()).collect();
        }
        self.summary.records += as_u64(self.scores.len());
        self.observer.scores(&self.columns, &self.scores)
    }

    fn finish(self) -> Result<Summary> {
        if self.summary.records == 0 {
            return Err(Error::argument("there are no sequences to score"));
        }
        let mut summary = self.summary;
        let ids = self.ids.duplicate_id_warning(self.predictor.noun());
        let training = unfinished_warning(&self.predictor.manifest.training);
        summary.warnings.extend(ids.into_iter().chain(training));
        Ok(summary)
    }
}

/// Returns the current time, or `None` if there is no clock, as for WebAssembly in a
/// browser.
fn now() -> Option<Instant> {
    (!cfg!(target_family = "wasm")).then(Instant::now)
}
