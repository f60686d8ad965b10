//! Random access to the records of a file through an index.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::{prelude::*, types::PyBytes};
use seqloom_core::{Error, interrupt::CancelToken};
use seqloom_index::{BuildOptions, Index, IndexState, build_in_memory, build_index_file};
use seqloom_macros::python_export;

use super::{columns::RowArrays, reader::BatchArrays};
use crate::pool;

/// The progress of indexing, which another thread may read or cancel.
#[python_export(frozen)]
#[derive(Default)]
pub(crate) struct IndexProgress {
    bytes: Arc<AtomicU64>,
    stop: CancelToken,
}

#[python_export]
impl IndexProgress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Returns the number of bytes of text scanned so far.
    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Cancels the indexing, which then raises an error.
    fn stop(&self) {
        self.stop.cancel();
    }
}

/// Builds the index of a file. Writes the index to the file `side`, or returns the
/// index as bytes.
#[python_export]
pub(crate) fn build_index<'py>(
    py: Python<'py>,
    path: PathBuf,
    side: Option<PathBuf>,
    progress: &IndexProgress,
    threads: usize,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let building = BuildOptions {
        threads,
        progress: Arc::clone(&progress.bytes),
        stop: progress.stop.clone(),
    };
    let made = pool::run(py, threads, || match &side {
        Some(side) => build_index_file(&path, side, &building).map(|()| None),
        None => build_in_memory(&path, &building).map(Some),
    })?;
    Ok(made.map(|bytes| PyBytes::new(py, &bytes)))
}

/// An open index and the indexed sequence file; threads may share this object.
#[python_export(frozen)]
pub(crate) struct SequenceIndex {
    pub(crate) index: Arc<Index>,
    state: IndexState,
}

#[python_export]
impl SequenceIndex {
    /// Opens an index file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, side: PathBuf, threads: usize) -> PyResult<Self> {
        let opened = pool::run(py, threads, || Index::open(&path, &side, threads))?;
        Ok(Self::new(opened))
    }

    /// Opens an index from bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, path: PathBuf, kept: Vec<u8>, threads: usize) -> PyResult<Self> {
        let opened = pool::run(py, threads, || Index::from_bytes(&path, kept, threads))?;
        Ok(Self::new(opened))
    }

    /// Opens a FASTA file by its `.fai` and, for bgzip, its `.gzi`; each index is
    /// passed as a name and its bytes.
    #[staticmethod]
    fn from_standard(
        py: Python<'_>,
        path: PathBuf,
        fai: (PathBuf, Vec<u8>),
        gzi: Option<(PathBuf, Vec<u8>)>,
    ) -> PyResult<Self> {
        let index = pool::run(py, 1, || {
            let gzi = gzi
                .as_ref()
                .map(|(path, bytes)| (path.as_path(), &bytes[..]));
            Index::open_with_fai(&path, (&fai.0, &fai.1), gzi)
        })?;
        Ok(Self::new((index, IndexState::Fresh)))
    }

    /// Returns how the file has changed since it was indexed: "fresh" (not at all),
    /// "touched" (only its time), "cut" (truncated) or "changed".
    #[getter]
    fn state(&self) -> &'static str {
        match self.state {
            IndexState::Fresh => "fresh",
            IndexState::Touched => "touched",
            IndexState::Cut => "cut",
            IndexState::Changed => "changed",
        }
    }

    /// The format of the records: "fasta" or "fastq".
    #[getter]
    fn format(&self) -> String {
        self.index.format().to_string()
    }

    /// The compression of the file: "none", "gzip" or "bgzip".
    #[getter]
    fn compression(&self) -> String {
        self.index.compression().to_string()
    }

    /// A hash of the content of the file when it was indexed.
    #[getter]
    fn content(&self) -> u64 {
        self.index.content_hash()
    }

    /// The number of residues of all records.
    #[getter]
    fn letters(&self) -> u64 {
        self.index.residue_count()
    }

    /// Returns the bytes of the index if it is in memory.
    fn index_bytes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.index.bytes().map(|bytes| PyBytes::new(py, bytes))
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.index.len()).unwrap_or(usize::MAX)
    }

    /// Returns the length of each record.
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let lengths = pool::run(py, 1, || self.index.record_lengths(0..self.index.len()))?;
        Ok(lengths.into_pyarray(py))
    }

    /// Returns the indices of the records with an id.
    fn find(&self, py: Python<'_>, id: Vec<u8>) -> PyResult<Vec<u64>> {
        pool::run(py, 1, || self.index.find_by_id(&id))
    }

    /// Returns the headers of records selected by index: the concatenated headers, and
    /// their offsets.
    fn headers<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<RowArrays<'py>> {
        let rows = rows.as_slice()?;
        let (data, offsets) = pool::run(py, 1, || self.index.fetch_headers(rows))?;
        Ok((data.into_pyarray(py), offsets.into_pyarray(py)))
    }

    /// Returns the records selected by index, in the given order: residues, offsets,
    /// headers, their offsets and qualities (None for FASTA).
    fn fetch_many<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<BatchArrays<'py>> {
        let rows = rows.as_slice()?;
        let batch = pool::run(py, threads, || self.index.fetch_records(rows, threads))?;
        let qualities = batch
            .has_qualities
            .then(|| batch.qualities.into_pyarray(py));
        Ok((
            batch.data.into_pyarray(py),
            batch.offsets.into_pyarray(py),
            batch.headers.into_pyarray(py),
            batch.header_offsets.into_pyarray(py),
            qualities,
        ))
    }

    /// Returns the residues from `starts` to `stops` of records selected by index: the
    /// concatenated residues, and their offsets.
    fn fetch_intervals<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
        starts: PyReadonlyArray1<'py, i64>,
        stops: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<RowArrays<'py>> {
        let rows = rows.as_slice()?;
        let bounds = (starts.as_slice()?, stops.as_slice()?);
        let fetch = || self.index.fetch_intervals(rows, bounds, threads);
        let (data, offsets) = pool::run(py, threads, fetch)?;
        Ok((data.into_pyarray(py), offsets.into_pyarray(py)))
    }

    /// Returns the text of a `.fai` file.
    fn fai<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = pool::run(py, 1, || {
            self.index
                .fai_lines(0..self.index.len(), &mut HashSet::new())
        })?;
        Ok(PyBytes::new(py, &text))
    }

    /// Returns the bytes of a `.gzi` file; only bgzip files have a `.gzi` file.
    fn gzi<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = pool::run(py, 1, || {
            let none = || Error::argument("only a bgzip file has a .gzi");
            self.index.gzi_bytes().ok_or_else(none)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl SequenceIndex {
    fn new((index, state): (Index, IndexState)) -> Self {
        let index = Arc::new(index);
        Self { index, state }
    }
}
