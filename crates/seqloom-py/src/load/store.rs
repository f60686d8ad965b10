//! Sequence records held as columns, and picking some of them.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use seqloom_core::Result;
use seqloom_load::gather::{Columns, Rows, first_word};
use seqloom_load::strand;

use crate::{error, pool};

/// Bytes, and where rows begin.
type Column<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

/// Letters of some rows, and their qualities where there are any.
type Picked<'py> = (Column<'py>, Option<Column<'py>>);

/// One record: id, letters, qualities.
type Record<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
);

/// Sequence records as columns, which stay where they are.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(frozen, sequence, module = "seqloom._rust._native")]
pub(crate) struct RecordStore {
    names: Held,
    sequences: Held,
    qualities: Option<Held>,
}

/// Headers up to their first blanks.
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
pub(crate) fn first_words<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<Column<'py>> {
    let headers = Columns::new(data.as_slice()?, offsets.as_slice()?);
    let Rows { data, offsets } = pool::run(py, 1, || headers.first_words())?;
    Ok((data.into_pyarray(py), offsets.into_pyarray(py)))
}

/// The same as a list of texts.
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
pub(crate) fn header_ids<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<Vec<Bound<'py, PyString>>> {
    let headers = Columns::new(data.as_slice()?, offsets.as_slice()?);
    let rows = (0..headers.len()).map(|row| i64::try_from(row).unwrap_or(i64::MAX));
    rows.map(|row| text(py, first_word(raised(py, headers.get(row))?)))
        .collect()
}

/// Turns marked rows to the other strand, in place; `other` has a letter for
/// each byte.
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
pub(crate) fn turn_rows<'py>(
    py: Python<'py>,
    mut data: PyReadwriteArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
    marked: PyReadonlyArray1<'py, u8>,
    other: [u8; 256],
) -> PyResult<()> {
    let (data, offsets) = (data.as_slice_mut()?, offsets.as_slice()?);
    let marked = marked.as_slice()?;
    pool::run(py, 1, || strand::turn(data, offsets, marked, &other))
}

/// One column, kept alive.
struct Held {
    data: Py<PyArray1<u8>>,
    offsets: Py<PyArray1<i64>>,
}

/// One column, to be read for as long as a call lasts.
struct Read<'py> {
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
}

#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pymethods)]
#[pymethods]
impl RecordStore {
    #[new]
    fn new(names: Column<'_>, sequences: Column<'_>, qualities: Option<Column<'_>>) -> Self {
        Self {
            names: Held::new(names),
            sequences: Held::new(sequences),
            qualities: qualities.map(Held::new),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names.read(py)?.columns()?.len())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Record<'py>> {
        let row = i64::try_from(index).unwrap_or(i64::MAX);
        let qualities = self.qualities.as_ref();
        Ok((
            text(py, self.names.read(py)?.row(py, row)?)?,
            PyBytes::new(py, self.sequences.read(py)?.row(py, row)?),
            qualities
                .map(|held| PyResult::Ok(PyBytes::new(py, held.read(py)?.row(py, row)?)))
                .transpose()?,
        ))
    }

    /// The ids of some rows.
    fn ids<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let read = self.names.read(py)?;
        let names = read.columns()?;
        let rows = rows.as_slice()?.iter();
        rows.map(|&row| text(py, raised(py, names.get(row))?))
            .collect()
    }

    /// Letters and qualities of some rows, copied end to end.
    fn take<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<Picked<'py>> {
        let rows = rows.as_slice()?;
        let qualities = self.qualities.as_ref();
        Ok((
            self.sequences.take(py, rows, threads)?,
            qualities
                .map(|held| held.take(py, rows, threads))
                .transpose()?,
        ))
    }
}

impl Held {
    fn new((data, offsets): Column<'_>) -> Self {
        Self {
            data: data.unbind(),
            offsets: offsets.unbind(),
        }
    }

    fn read<'py>(&self, py: Python<'py>) -> PyResult<Read<'py>> {
        Ok(Read {
            data: self.data.bind(py).try_readonly()?,
            offsets: self.offsets.bind(py).try_readonly()?,
        })
    }

    fn take<'py>(&self, py: Python<'py>, rows: &[i64], threads: usize) -> PyResult<Column<'py>> {
        let read = self.read(py)?;
        let columns = read.columns()?;
        let Rows { data, offsets } = pool::run(py, threads, || columns.gather(rows))?;
        Ok((data.into_pyarray(py), offsets.into_pyarray(py)))
    }
}

impl Read<'_> {
    fn columns(&self) -> PyResult<Columns<'_>> {
        Ok(Columns::new(
            self.data.as_slice()?,
            self.offsets.as_slice()?,
        ))
    }

    fn row(&self, py: Python<'_>, row: i64) -> PyResult<&[u8]> {
        raised(py, self.columns()?.get(row))
    }
}

fn raised<T>(py: Python<'_>, outcome: Result<T>) -> PyResult<T> {
    outcome.map_err(|failure| error::raised(py, &failure))
}

/// A header's bytes as text, whatever they are.
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(PyString::new(py, text));
    }
    let text = PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "backslashreplace"))?;
    Ok(text.cast_into()?)
}
