//! Batches made by threads that never ask for the interpreter.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;
use seqloom_core::crew::{Crew, Job};
use seqloom_core::{Error, Result};
use seqloom_encode::Counts;
use seqloom_load::gather::Rows;

use super::store::{Columns, RecordStore, raised, text};
use crate::encode::kernel::SequenceKernel;
use crate::lend::{Memory, Ring};
use crate::pool;

/// Below so many bytes, waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 23;

/// What one batch is made of and, when that is done, the batch.
struct Batch {
    kernel: Py<SequenceKernel>,
    columns: Arc<Columns>,
    rows: Option<Vec<i64>>,
    memory: Memory,
    /// Whether ids are copied: those of columns that stay can be had later.
    with_names: bool,
    names: Rows,
    answer: Result<Counts>,
}

/// Memory with the numbers; letters met that are not plain, if there were any; ids, if they
/// were asked for.
type Made = (Py<PyArray1<u8>>, Option<[i64; 7]>, Option<Names>);

/// Ids that are made into texts when somebody asks for them.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(frozen, module = "seqloom._rust._native")]
pub(crate) struct Names {
    names: Rows,
}

#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pymethods)]
#[pymethods]
impl Names {
    /// All of them.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyString>>> {
        self.names.iter().map(|name| text(py, name)).collect()
    }
}

impl Job for Batch {
    type Tool = ();

    fn tool(&self) {}

    fn work(&mut self, (): &mut ()) {
        self.answer = self.make();
    }

    fn fail(&mut self) {
        self.answer = Err(Error::argument("a batch could not be made"));
    }
}

impl Batch {
    fn make(&mut self) -> Result<Counts> {
        let rows = self.rows.as_deref();
        if self.with_names {
            self.names = self.columns.names(rows)?;
        }
        let sequences = self.columns.sequences(rows)?;
        self.kernel.get().write(&sequences, &mut self.memory)
    }

    /// What Python gets of it.
    fn hand_over(self, py: Python<'_>) -> PyResult<Made> {
        let counts = raised(py, self.answer)?.to_array();
        let names = self.with_names.then_some(Names { names: self.names });
        Ok((
            self.memory.into_array(py)?.unbind(),
            counts.iter().any(|count| *count > 0).then_some(counts),
            names,
        ))
    }
}

/// Makes batches of records that are held as columns.
///
/// Its threads end when it dies, and never wait for the interpreter.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(frozen, module = "seqloom._rust._native")]
pub(crate) struct BatchMaker {
    ring: Py<Ring>,
    crew: Crew<Batch>,
}

#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pymethods)]
#[pymethods]
impl BatchMaker {
    /// Batches' memory comes from `ring`.
    #[new]
    fn new(ring: Py<Ring>, threads: usize) -> Self {
        Self {
            ring,
            crew: Crew::start("seqloom-batches", threads),
        }
    }

    /// Asks for a batch: `size` bytes, into which the kernel writes some rows, or all.
    #[pyo3(signature = (kernel, store, rows, size, with_names))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn push(
        &self,
        py: Python<'_>,
        kernel: Py<SequenceKernel>,
        store: &RecordStore,
        rows: Option<PyReadonlyArray1<'_, i64>>,
        size: usize,
        with_names: bool,
    ) -> PyResult<()> {
        let mut batch = self.batch(py, kernel, store, (rows, size))?;
        batch.with_names = with_names;
        self.crew.push(batch);
        Ok(())
    }

    /// The next of the batches that were asked for, in that order.
    fn pop(&self, py: Python<'_>) -> PyResult<Made> {
        if !self.crew.is_here() {
            let message = "an epoch that was begun before a fork cannot go on behind it";
            return raised(py, Err(Error::argument(message)));
        }
        let found = py.detach(|| self.crew.pop(&mut ()));
        let missing = || Error::argument("no batch was asked for");
        raised(py, found.ok_or_else(missing))?.hand_over(py)
    }

    /// A batch made at once, its rows shared out among so many threads.
    #[pyo3(signature = (kernel, store, rows, size, with_names, threads))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn make(
        &self,
        py: Python<'_>,
        kernel: Py<SequenceKernel>,
        store: &RecordStore,
        rows: Option<PyReadonlyArray1<'_, i64>>,
        size: usize,
        with_names: bool,
        threads: usize,
    ) -> PyResult<Made> {
        let mut batch = self.batch(py, kernel, store, (rows, size))?;
        batch.with_names = with_names;
        let threads = if size < WORTH_SHARING { 1 } else { threads };
        batch.answer = Ok(pool::run(py, threads, || batch.make())?);
        batch.hand_over(py)
    }
}

impl BatchMaker {
    fn batch(
        &self,
        py: Python<'_>,
        kernel: Py<SequenceKernel>,
        store: &RecordStore,
        (rows, size): (Option<PyReadonlyArray1<'_, i64>>, usize),
    ) -> PyResult<Batch> {
        let rows = rows.map(|rows| rows.as_slice().map(<[i64]>::to_vec));
        Ok(Batch {
            kernel,
            columns: Arc::clone(&store.columns),
            rows: rows.transpose()?,
            memory: raised(py, self.ring.get().memory(size))?,
            with_names: false,
            names: Rows::default(),
            answer: Ok(Counts::default()),
        })
    }
}
