//! Sequence records stored as columns, and selection of rows.

use std::{mem, sync::Arc};

use numpy::{IntoPyArray, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use seqloom_core::{Ragged, Result};
use seqloom_load::gather::{self, RaggedRows, first_word};
use seqloom_load::strand;
use seqloom_macros::python_export;

use crate::{error::raise, formats::columns::RowArrays, pool, pooled::SharedArray};

/// The residues of the selected rows, and their qualities if there are any.
type SequenceArrays<'py> = (RowArrays<'py>, Option<RowArrays<'py>>);

/// One record: its id, residues and qualities.
type RecordTuple<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
);

/// Sequence records stored as columns whose memory addresses do not change.
#[python_export(frozen, sequence)]
pub(crate) struct RecordStore {
    pub(super) columns: Arc<StoreColumns>,
}

/// Returns the first word of each header.
#[python_export]
pub(crate) fn first_words<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<RowArrays<'py>> {
    let headers = gather::RaggedView::new(data.as_slice()?, offsets.as_slice()?);
    let RaggedRows { data, offsets } = pool::run(py, 1, || headers.first_words())?;
    Ok((data.into_pyarray(py), offsets.into_pyarray(py)))
}

/// Returns the first word of each header as a list of strings.
#[python_export]
pub(crate) fn header_ids<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<Vec<Bound<'py, PyString>>> {
    let headers = gather::RaggedView::new(data.as_slice()?, offsets.as_slice()?);
    let rows = (0..headers.len()).map(|row| i64::try_from(row).unwrap_or(i64::MAX));
    rows.map(|row| decode_header(py, first_word(raise(py, headers.get(row))?)))
        .collect()
}

/// Reverse-complements marked rows in place; `other` contains the complement of each
/// byte.
#[python_export]
pub(crate) fn turn_rows<'py>(
    py: Python<'py>,
    mut data: PyReadwriteArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
    marked: PyReadonlyArray1<'py, u8>,
    other: [u8; 256],
) -> PyResult<()> {
    let (data, offsets) = (data.as_slice_mut()?, offsets.as_slice()?);
    let marked = marked.as_slice()?;
    pool::run(py, 1, || {
        strand::reverse_complement(data, offsets, marked, &other)
    })
}

/// A column of bytes that grows batch by batch.
#[python_export]
#[derive(Default)]
pub(crate) struct ColumnBuilder {
    rows: RaggedRows,
}

#[python_export]
impl ColumnBuilder {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Appends rows to the column.
    fn append(
        &mut self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let rows = gather::RaggedView::new(data.as_slice()?, offsets.as_slice()?);
        pool::run(py, 1, || self.rows.append(&rows))
    }

    /// Returns all rows, and clears the builder.
    fn finish<'py>(&mut self, py: Python<'py>) -> RowArrays<'py> {
        let RaggedRows { data, mut offsets } = mem::take(&mut self.rows);
        if offsets.is_empty() {
            offsets.push(0);
        }
        (data.into_pyarray(py), offsets.into_pyarray(py))
    }
}

/// The columns of a store, which threads share.
pub(super) struct StoreColumns {
    names: StoreColumn,
    sequences: StoreColumn,
    qualities: Option<StoreColumn>,
}

/// A column: concatenated rows of bytes, and the offset of each row.
struct StoreColumn {
    data: SharedArray<u8>,
    offsets: SharedArray<i64>,
}

#[python_export]
impl RecordStore {
    /// Creates a store. `names` are the headers, or the first words of the headers.
    #[new]
    fn new(
        names: RowArrays<'_>,
        sequences: RowArrays<'_>,
        qualities: Option<RowArrays<'_>>,
    ) -> PyResult<Self> {
        let columns = StoreColumns {
            names: StoreColumn::new(&names)?,
            sequences: StoreColumn::new(&sequences)?,
            qualities: qualities.as_ref().map(StoreColumn::new).transpose()?,
        };
        let columns = Arc::new(columns);
        Ok(Self { columns })
    }

    fn __len__(&self) -> usize {
        self.columns.names.columns().len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<RecordTuple<'py>> {
        let row = i64::try_from(index).unwrap_or(i64::MAX);
        let columns = &self.columns;
        let bytes = |column: &StoreColumn| PyResult::Ok(PyBytes::new(py, column.row(py, row)?));
        Ok((
            decode_header(py, first_word(columns.names.row(py, row)?))?,
            bytes(&columns.sequences)?,
            columns.qualities.as_ref().map(bytes).transpose()?,
        ))
    }

    /// Returns the ids of the selected rows.
    fn ids<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let names = raise(py, self.columns.names(rows.as_slice()?))?;
        names.iter().map(|name| decode_header(py, name)).collect()
    }

    /// Returns the concatenated residues and qualities of the selected rows.
    fn take<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<SequenceArrays<'py>> {
        let rows = rows.as_slice()?;
        let qualities = self.columns.qualities.as_ref();
        Ok((
            self.columns.sequences.take(py, rows, threads)?,
            qualities
                .map(|column| column.take(py, rows, threads))
                .transpose()?,
        ))
    }
}

impl StoreColumns {
    /// Returns the ids of the selected rows.
    pub(super) fn names(&self, rows: &[i64]) -> Result<RaggedRows> {
        let rows = rows.iter().copied();
        self.names.columns().first_words_of(rows)
    }

    /// Returns the residues of the selected rows.
    pub(super) fn sequences<'a>(&'a self, rows: &'a [i64]) -> Result<Ragged<'a>> {
        let StoreColumn { data, offsets } = &self.sequences;
        Ragged::select_rows(data.as_slice(), offsets.as_slice(), rows)
    }
}

impl StoreColumn {
    fn new((data, offsets): &RowArrays<'_>) -> PyResult<Self> {
        Ok(Self {
            data: SharedArray::new(data)?,
            offsets: SharedArray::new(offsets)?,
        })
    }

    fn columns(&self) -> gather::RaggedView<'_> {
        gather::RaggedView::new(self.data.as_slice(), self.offsets.as_slice())
    }

    fn take<'py>(&self, py: Python<'py>, rows: &[i64], threads: usize) -> PyResult<RowArrays<'py>> {
        let columns = self.columns();
        let RaggedRows { data, offsets } = pool::run(py, threads, || columns.gather(rows))?;
        Ok((data.into_pyarray(py), offsets.into_pyarray(py)))
    }

    fn row(&self, py: Python<'_>, row: i64) -> PyResult<&[u8]> {
        raise(py, self.columns().get(row))
    }
}

/// Decodes the bytes of a header; invalid bytes are escaped.
pub(crate) fn decode_header<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(PyString::new(py, text));
    }
    let text = PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "backslashreplace"))?;
    Ok(text.cast_into()?)
}
