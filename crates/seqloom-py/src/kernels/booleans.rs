//! Arrays of booleans.

use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::prelude::*;

use super::floats::unusable;

/// An array of bool.
#[derive(FromPyObject)]
pub(crate) struct Booleans<'py>(Bound<'py, PyArrayDyn<bool>>);

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for Booleans<'_> {
    // By hand: the generator knows NumPy's numbers, not its bool.
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        pyo3_stub_gen::TypeInfo {
            name: "numpy.typing.NDArray[numpy.bool_]".into(),
            ..PyArrayDyn::<u8>::type_output()
        }
    }
}

impl<'py> Booleans<'py> {
    /// The values as they lie in memory, to be read.
    pub(super) fn read(&self, name: &str) -> PyResult<PyReadonlyArrayDyn<'py, bool>> {
        self.0.try_readonly().map_err(|error| unusable(name, error))
    }

    /// The values as they lie in memory, to be written.
    pub(super) fn write(&self, name: &str) -> PyResult<PyReadwriteArrayDyn<'py, bool>> {
        self.0
            .try_readwrite()
            .map_err(|error| unusable(name, error))
    }
}
