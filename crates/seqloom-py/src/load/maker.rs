//! Batches that threads make without the GIL.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{prelude::*, types::PyString};
use seqloom_core::workers::{Job, Workers};
use seqloom_core::{Error, Result};
use seqloom_encode::LetterCounts;
use seqloom_load::gather::RaggedRows;
use seqloom_macros::python_export;

use super::store::{RecordStore, StoreColumns, decode_header};
use crate::encode::kernel::SequenceKernel;
use crate::error::{self, raise};
use crate::pool;
use crate::pooled::{BatchMemory, PooledBytes};

/// The number of bytes below which waking other threads costs more time than it saves.
const PARALLEL_BYTES: usize = 1 << 23;

/// The inputs of a batch and, after the batch is encoded, its result.
struct BatchJob {
    kernel: Py<SequenceKernel>,
    columns: Arc<StoreColumns>,
    rows: Vec<i64>,
    memory: PooledBytes,
    /// The copied record ids, or `None` if the ids can be read later from stored
    /// columns.
    names: Option<RaggedRows>,
    /// The result, or `None` before the work is done or after a panic.
    counts: Option<Result<LetterCounts>>,
}

/// A result: the bytes of the encoded numbers, the counts of unusual residues (if any),
/// and the ids (if requested).
type BatchTuple = (Py<PyArray1<u8>>, Option<[i64; 7]>, Option<Names>);

/// Record ids that are converted to strings when they are requested.
#[python_export(frozen)]
pub(crate) struct Names {
    names: RaggedRows,
}

#[python_export]
impl Names {
    /// Returns all ids as strings.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyString>>> {
        self.names
            .iter()
            .map(|name| decode_header(py, name))
            .collect()
    }
}

impl Names {
    pub(super) fn new(names: RaggedRows) -> Self {
        Self { names }
    }
}

impl Job for BatchJob {
    type Workspace = ();

    fn workspace(&self) {}

    fn run(&mut self, (): &mut ()) {
        self.counts = Some(self.encode_batch());
    }

    fn mark_failed(&mut self) {
        self.counts = None;
    }
}

impl BatchJob {
    fn new(
        (kernel, store, rows): (Py<SequenceKernel>, &RecordStore, PyReadonlyArray1<'_, i64>),
        memory: PooledBytes,
        with_names: bool,
    ) -> PyResult<Self> {
        Ok(Self {
            kernel,
            columns: Arc::clone(&store.columns),
            rows: rows.as_slice()?.to_vec(),
            memory,
            names: with_names.then(RaggedRows::default),
            counts: None,
        })
    }

    fn encode_batch(&mut self) -> Result<LetterCounts> {
        if let Some(names) = &mut self.names {
            *names = self.columns.names(&self.rows)?;
        }
        let sequences = self.columns.sequences(&self.rows)?;
        self.kernel.get().write(&sequences, &mut self.memory)
    }

    /// Converts the result for Python.
    fn into_tuple(self, py: Python<'_>) -> PyResult<BatchTuple> {
        let panicked = || error::internal_error(py, "a batch could not be made");
        let counts = raise(py, self.counts.ok_or_else(panicked)?)?.to_array();
        Ok((
            self.memory.into_array(py)?.unbind(),
            counts.iter().any(|count| *count > 0).then_some(counts),
            self.names.map(|names| Names { names }),
        ))
    }
}

/// Makes batches of records that are stored as columns.
///
/// The threads end when the `BatchMaker` is dropped, and never wait for the GIL.
#[python_export(frozen)]
pub(crate) struct BatchMaker {
    memory: Py<BatchMemory>,
    workers: Workers<BatchJob>,
}

#[python_export]
impl BatchMaker {
    /// Creates a maker of batches whose memory belongs to `memory`.
    #[new]
    fn new(memory: Py<BatchMemory>, threads: usize) -> Self {
        Self {
            memory,
            workers: Workers::start("seqloom-batches", threads),
        }
    }

    /// Requests a batch of `size` bytes, into which the kernel encodes the selected
    /// rows.
    #[pyo3(signature = (kernel, store, rows, size, with_names))]
    fn push(
        &self,
        py: Python<'_>,
        kernel: Py<SequenceKernel>,
        store: &RecordStore,
        rows: PyReadonlyArray1<'_, i64>,
        size: usize,
        with_names: bool,
    ) -> PyResult<()> {
        let memory = raise(py, self.memory(size))?;
        let batch = BatchJob::new((kernel, store, rows), memory, with_names)?;
        self.workers.push(batch);
        Ok(())
    }

    /// Returns the next requested batch, in the order of requests.
    fn pop(&self, py: Python<'_>) -> PyResult<BatchTuple> {
        if !self.workers.is_in_this_process() {
            let message = "an epoch that began before a fork cannot continue after it";
            return raise(py, Err(Error::argument(message)));
        }
        let found = py.detach(|| self.workers.pop(&mut ()));
        let missing = || Error::argument("no batch was requested");
        raise(py, found.ok_or_else(missing))?.into_tuple(py)
    }

    /// Makes a batch immediately, and splits the rows among `threads` threads.
    #[pyo3(signature = (kernel, store, rows, size, with_names, threads))]
    fn make(
        &self,
        py: Python<'_>,
        kernel: Py<SequenceKernel>,
        store: &RecordStore,
        rows: PyReadonlyArray1<'_, i64>,
        size: usize,
        with_names: bool,
        threads: usize,
    ) -> PyResult<BatchTuple> {
        let memory = raise(py, self.memory(size))?;
        let mut batch = BatchJob::new((kernel, store, rows), memory, with_names)?;
        let threads = if size < PARALLEL_BYTES { 1 } else { threads };
        let counts = pool::run(py, threads, || batch.encode_batch())?;
        batch.counts = Some(Ok(counts));
        batch.into_tuple(py)
    }
}

impl BatchMaker {
    fn memory(&self, size: usize) -> Result<PooledBytes> {
        self.memory.get().memory(size)
    }
}
