//! An exported model that scores files.

use std::{path::PathBuf, time::Duration};

use numpy::{IntoPyArray, PyArray1};
use pyo3::{prelude::*, types::PyString};
use seqloom_core::{Error, Result};
use seqloom_macros::python_export;
use seqloom_run::{PredictOptions, PredictionObserver, Predictor, Scores};

use crate::{formats::source::PythonFailure, load::store::decode_header, pool};

/// A result: the names of the outputs, the ids of the records, the scores row by row,
/// and warnings.
type ScoresTuple<'py> = (
    Vec<String>,
    Vec<Bound<'py, PyString>>,
    Bound<'py, PyArray1<f32>>,
    Vec<String>,
);

/// An opened and checked exported model; several threads may use it.
#[python_export(frozen)]
pub(crate) struct ExportedPredictor {
    predictor: Predictor,
}

#[python_export]
impl ExportedPredictor {
    /// Opens a folder or a zip.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Self> {
        let predictor = pool::run(py, 1, || Predictor::open(&path, threads))?;
        Ok(Self { predictor })
    }

    /// The plural noun for the records that the model scores, such as "reads".
    #[getter]
    fn noun(&self) -> &'static str {
        self.predictor.noun()
    }

    /// Scores every record of files once, in input order. After each batch, `progress`
    /// is called with the number of scored records and the number of records read so
    /// far.
    #[pyo3(signature = (files, progress=None, *, interleaved=false))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        files: Vec<PathBuf>,
        progress: Option<Py<PyAny>>,
        interleaved: bool,
    ) -> PyResult<ScoresTuple<'py>> {
        let options = PredictOptions {
            interleaved,
            ..PredictOptions::default()
        };
        let failure = PythonFailure::default();
        let mut all = AllScores {
            progress,
            failure: failure.clone(),
            columns: Vec::new(),
            scores: Scores::default(),
        };
        let work = || {
            let predictor = &self.predictor;
            predictor.predict_observed(&files, &options, &mut all)
        };
        let done = pool::run(py, 1, work);
        let summary = done.map_err(|error| failure.take().unwrap_or(error))?;
        let names = all.scores.names.iter().map(|name| decode_header(py, name));
        Ok((
            all.columns,
            names.collect::<PyResult<_>>()?,
            all.scores.values.into_pyarray(py),
            summary.warnings,
        ))
    }
}

/// Collects all scores, and calls a Python function after each batch.
struct AllScores {
    progress: Option<Py<PyAny>>,
    failure: PythonFailure,
    columns: Vec<String>,
    scores: Scores,
}

impl PredictionObserver for AllScores {
    fn scores(&mut self, columns: &[String], scores: &Scores) -> Result<()> {
        if self.columns.is_empty() {
            self.columns = columns.to_vec();
        }
        for name in scores.names.iter() {
            self.scores.names.push(name);
        }
        self.scores.values.extend_from_slice(&scores.values);
        Ok(())
    }

    fn batch(&mut self, done: (u64, u64), _: Duration) -> Result<()> {
        let Some(progress) = &self.progress else {
            return Ok(());
        };
        let called = Python::try_attach(|py| progress.call1(py, done).map(drop));
        let called = called.unwrap_or(Ok(()));
        called.map_err(|error| Error::argument(self.failure.store(error).to_string()))
    }
}
