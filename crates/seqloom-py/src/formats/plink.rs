//! The `.fam` and `.bim` tables that belong to a `.bed` file.

use std::path::PathBuf;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use seqloom_macros::python_export;
use seqloom_plink::table::render::{ColumnValues, render_rows};
use seqloom_plink::table::{COLUMN_COUNT, TableKind, TextTable, lines};

use crate::pool;

/// A checked `.fam` or `.bim` table, and the columns read from it. Error messages call
/// the file `name`.
#[python_export(frozen)]
pub(crate) struct PlinkTable {
    table: TextTable<PyBackedBytes>,
}

#[python_export]
impl PlinkTable {
    #[new]
    fn new(
        py: Python<'_>,
        text: PyBackedBytes,
        suffix: &str,
        names: Vec<String>,
        name: PathBuf,
    ) -> PyResult<Self> {
        let table = pool::run(py, 1, || {
            TextTable::parse(&name, TableKind::of(suffix)?, &names, text)
        })?;
        Ok(Self { table })
    }

    /// The number of rows in the table.
    #[getter]
    fn rows(&self) -> usize {
        self.table.row_count()
    }

    /// Returns the length of the longest field of a column, and the total number of
    /// bytes.
    fn size(&self, py: Python<'_>, name: &str) -> PyResult<(usize, usize)> {
        let size = pool::run(py, 1, || self.table.column_size(name))?;
        Ok((size.longest, size.bytes))
    }

    /// Returns the length of the longest field of a column in the `count` rows that
    /// start at row `first`.
    fn max_field_length(
        &self,
        py: Python<'_>,
        name: &str,
        first: usize,
        count: usize,
    ) -> PyResult<usize> {
        let rows = first..first.saturating_add(count);
        pool::run(py, 1, || self.table.max_field_chars(name, rows))
    }

    /// Fills `out` with the code points of a column from row `first`, `width` code
    /// points for each field.
    fn write_points(
        &self,
        py: Python<'_>,
        name: &str,
        first: usize,
        width: usize,
        mut out: PyReadwriteArray1<'_, u32>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        pool::run(py, 1, || {
            self.table.write_code_points(name, first, width, out)
        })
    }

    /// Fills `out` with a column of integers.
    fn write_integers(
        &self,
        py: Python<'_>,
        name: &str,
        mut out: PyReadwriteArray1<'_, i32>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        pool::run(py, 1, || self.table.write_integers(name, out))
    }

    /// Fills `out` with a column of floats.
    fn write_floats(
        &self,
        py: Python<'_>,
        name: &str,
        mut out: PyReadwriteArray1<'_, f32>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        pool::run(py, 1, || self.table.write_floats(name, out))
    }
}

/// Returns the number of lines of a table file, without trailing blank lines.
#[python_export]
pub(crate) fn count_lines_in(py: Python<'_>, path: PathBuf) -> PyResult<usize> {
    pool::run(py, 1, || lines::count_lines_of_file(&path))
}

/// Returns the number of lines of a text, without trailing blank lines.
#[python_export]
pub(crate) fn count_lines_of(py: Python<'_>, text: PyBackedBytes) -> PyResult<usize> {
    pool::run(py, 1, || Ok(lines::count_lines(&text)))
}

/// The values of a column: code points in rows of equal width, numbers, or strings.
#[derive(FromPyObject)]
pub(crate) enum Cells<'py> {
    Points(PyReadonlyArray2<'py, u32>),
    Integers(PyReadonlyArray1<'py, i32>),
    Floats(PyReadonlyArray1<'py, f32>),
    Texts(Vec<PyBackedStr>),
}

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for Cells<'_> {
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        PyReadonlyArray2::<u32>::type_output()
            | PyReadonlyArray1::<i32>::type_output()
            | PyReadonlyArray1::<f32>::type_output()
            | Vec::<String>::type_output()
    }
}

impl Cells<'_> {
    fn values(&self) -> PyResult<ColumnValues<'_>> {
        Ok(match self {
            Self::Points(points) => ColumnValues::Points(points.as_slice()?, points.shape()[1]),
            Self::Integers(numbers) => ColumnValues::Integers(numbers.as_slice()?),
            Self::Floats(numbers) => ColumnValues::Floats(numbers.as_slice()?),
            Self::Texts(texts) => ColumnValues::Texts(texts.iter().map(|text| &**text).collect()),
        })
    }
}

/// Returns the text lines of the selected rows of a table; `first` is the index of the
/// first row.
#[python_export]
pub(crate) fn render_table<'py>(
    py: Python<'py>,
    suffix: &str,
    columns: [Cells<'py>; COLUMN_COUNT],
    first: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let [one, two, three, four, five, six] = &columns;
    let columns = [
        one.values()?,
        two.values()?,
        three.values()?,
        four.values()?,
        five.values()?,
        six.values()?,
    ];
    let text = pool::run(py, 1, || {
        let mut text = Vec::new();
        render_rows(TableKind::of(suffix)?, &columns, first, &mut text)?;
        Ok(text)
    })?;
    Ok(PyBytes::new(py, &text))
}
