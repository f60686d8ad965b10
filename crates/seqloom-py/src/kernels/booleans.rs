//! Boolean arrays.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::prelude::*;

use super::floats::in_use;

/// A boolean array.
#[derive(FromPyObject)]
pub(crate) struct Booleans<'py>(Bound<'py, PyArrayDyn<bool>>);

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for Booleans<'_> {
    // The stub type is written by hand because the generator supports only numeric
    // NumPy types.
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        pyo3_stub_gen::TypeInfo {
            name: "numpy.typing.NDArray[numpy.bool_]".into(),
            ..PyArrayDyn::<u8>::type_output()
        }
    }
}

impl<'py> Booleans<'py> {
    /// Borrows the elements in memory order for reading.
    pub(super) fn read(&self, name: &str) -> PyResult<PyReadonlyArrayDyn<'py, bool>> {
        self.0.try_readonly().map_err(|error| in_use(name, error))
    }

    /// Borrows the elements in memory order for writing.
    pub(super) fn write(&self, name: &str) -> PyResult<PyReadwriteArrayDyn<'py, bool>> {
        self.0.try_readwrite().map_err(|error| in_use(name, error))
    }
}
