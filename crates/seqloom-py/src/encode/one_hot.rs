//! Sequences to one-hot arrays, and back.

use numpy::{
    Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray3, PyReadwriteArray3,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seqloom_core::Ragged;
use seqloom_encode::one_hot::{Counts, Layout, Number, Table};

use crate::{error, pool};

/// What each of the 256 bytes becomes under a declared policy.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(frozen, module = "seqloom._rust._native")]
pub(crate) struct OneHotTable {
    table: Table,
}

/// An output array of one of the dtypes.
#[derive(FromPyObject)]
pub(crate) enum Output<'py> {
    Single(PyReadwriteArray3<'py, f32>),
    Double(PyReadwriteArray3<'py, f64>),
    Byte(PyReadwriteArray3<'py, u8>),
}

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for Output<'_> {
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        numpy::PyArray3::<f32>::type_output()
            | numpy::PyArray3::<f64>::type_output()
            | numpy::PyArray3::<u8>::type_output()
    }
}

#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pymethods)]
#[pymethods]
impl OneHotTable {
    #[new]
    fn new(py: Python<'_>, alphabet: &str, unknown: &str, case: &str) -> PyResult<Self> {
        let table = Table::named(alphabet, unknown, case);
        let table = table.map_err(|failure| error::raised(py, &failure))?;
        Ok(Self { table })
    }

    /// The number of channels.
    #[getter]
    fn width(&self) -> usize {
        self.table.width()
    }

    /// The letters of the channels, in order.
    #[getter]
    fn letters(&self) -> String {
        String::from_utf8_lossy(self.table.letters()).into_owned()
    }

    /// Writes all sequences into `out`, and says how many ambiguity codes,
    /// lower-case letters and foreign letters (always 0) were met.
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn fill<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray1<'py, u8>,
        offsets: PyReadonlyArray1<'py, i64>,
        out: Output<'py>,
        channels_first: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let sequences = Ragged::new(data.as_slice()?, offsets.as_slice()?);
        let sequences = sequences.map_err(|failure| error::raised(py, &failure))?;
        let call = Call {
            table: &self.table,
            sequences,
            channels_first,
            threads,
        };
        let counts = match out {
            Output::Single(out) => call.fill(py, out),
            Output::Double(out) => call.fill(py, out),
            Output::Byte(out) => call.fill(py, out),
        }?;
        Ok(counts.to_array().to_vec().into_pyarray(py))
    }

    /// The letters of each row of an array.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        array: PyReadonlyArray3<'py, f32>,
        channels_first: bool,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let layout = Layout::new(sizes(array.shape()), channels_first);
        let numbers = array.as_slice()?;
        let sequences = pool::run(py, 1, || self.table.decode(numbers, layout))?;
        Ok(sequences
            .iter()
            .map(|letters| PyBytes::new(py, letters))
            .collect())
    }
}

/// What does not depend on the dtype.
struct Call<'a> {
    table: &'a Table,
    sequences: Ragged<'a>,
    channels_first: bool,
    threads: usize,
}

impl Call<'_> {
    fn fill<T: Number + Element>(
        &self,
        py: Python<'_>,
        mut out: PyReadwriteArray3<'_, T>,
    ) -> PyResult<Counts> {
        let layout = Layout::new(sizes(out.shape()), self.channels_first);
        let out = out.as_slice_mut()?;
        pool::run(py, self.threads, || {
            self.table.fill(&self.sequences, out, layout)
        })
    }
}

fn sizes(shape: &[usize]) -> [usize; 3] {
    std::array::from_fn(|axis| shape[axis])
}
