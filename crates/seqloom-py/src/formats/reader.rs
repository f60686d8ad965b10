//! Files of sequences, batch by batch.

use std::ffi::OsString;
use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use seqloom_formats::{Batch, Reader};

use crate::pool;

/// Letters, their offsets, headers, and theirs.
type Columns<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
);

/// Reads a FASTA file: plain, gzip or bgzip, told from its content.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(module = "seqloom._rust._native")]
pub(crate) struct SequenceReader {
    reader: Reader,
}

#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pymethods)]
#[pymethods]
impl SequenceReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let reader = pool::run(py, 1, || Reader::open(&path))?;
        Ok(Self { reader })
    }

    /// The path as it was given.
    #[getter]
    fn path(&self) -> OsString {
        self.reader.path().as_os_str().to_os_string()
    }

    /// What the records are written in.
    #[getter]
    #[expect(clippy::unused_self, reason = "a reader's, as soon as it reads FASTQ")]
    fn format(&self) -> &'static str {
        "fasta"
    }

    /// What the file is packed in: "none", "gzip" or "bgzip".
    #[getter]
    fn compression(&self) -> String {
        self.reader.compression().to_string()
    }

    /// The next records, at most `max_records` and hardly more than `max_bytes`
    /// of letters: letters, offsets, headers and their offsets; None at the end.
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        max_records: usize,
        max_bytes: usize,
    ) -> PyResult<Option<Columns<'py>>> {
        let batch = pool::run(py, 1, || self.reader.read(max_records, max_bytes))?;
        Ok(batch.map(|batch| columns(py, batch)))
    }
}

fn columns(py: Python<'_>, batch: Batch) -> Columns<'_> {
    (
        batch.data.into_pyarray(py),
        batch.offsets.into_pyarray(py),
        batch.headers.into_pyarray(py),
        batch.header_offsets.into_pyarray(py),
    )
}
