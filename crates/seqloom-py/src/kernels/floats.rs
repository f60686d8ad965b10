//! Arrays of float32 or float64. The type is determined from one array, and the other
//! arrays must have the same type.

use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyReadwriteArrayDyn, PyUntypedArray, PyUntypedArrayMethods, dtype,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Runs a block of code in which `$T` is the float type of an array.
macro_rules! by_dtype {
    ($array:expr, $T:ident => $body:block) => {
        match $array.width() {
            $crate::kernels::floats::Width::Single => {
                type $T = f32;
                $body
            }
            $crate::kernels::floats::Width::Double => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use by_dtype;

/// A C-contiguous array of float32 or float64.
pub(crate) struct Floats<'py> {
    array: Bound<'py, PyUntypedArray>,
    width: Width,
}

/// The float type.
#[derive(Clone, Copy)]
pub(super) enum Width {
    Single,
    Double,
}

impl<'py> FromPyObject<'_, 'py> for Floats<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array = object.cast::<PyUntypedArray>()?.to_owned();
        let found = array.dtype();
        let width = if found.is_equiv_to(&dtype::<f32>(object.py())) {
            Width::Single
        } else if found.is_equiv_to(&dtype::<f64>(object.py())) {
            Width::Double
        } else {
            let message = format!("expected an array of float32 or float64, got one of {found}");
            return Err(PyTypeError::new_err(message));
        };
        Ok(Self { array, width })
    }
}

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for Floats<'_> {
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        numpy::PyArrayDyn::<f32>::type_output() | numpy::PyArrayDyn::<f64>::type_output()
    }
}

impl<'py> Floats<'py> {
    pub(super) fn width(&self) -> Width {
        self.width
    }

    /// Returns the shape of an array with `N` axes.
    pub(super) fn axes<const N: usize>(&self, name: &str) -> PyResult<[usize; N]> {
        let shape = self.array.shape();
        <[usize; N]>::try_from(shape).map_err(|_| {
            PyValueError::new_err(format!("{name}: expected {N} axes, got shape {shape:?}"))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.array.len()
    }

    /// Borrows the elements of an array of this shape for reading.
    pub(super) fn read<T: Element>(
        &self,
        name: &str,
        shape: &[usize],
    ) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
        self.downcast::<T>(name, shape)?
            .try_readonly()
            .map_err(|error| in_use(name, error))
    }

    /// Borrows the elements of an array of this shape for writing.
    pub(super) fn write<T: Element>(
        &self,
        name: &str,
        shape: &[usize],
    ) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
        self.downcast::<T>(name, shape)?
            .try_readwrite()
            .map_err(|error| in_use(name, error))
    }

    /// Returns true if the columns of a matrix are contiguous, false if its rows are
    /// contiguous, and `None` otherwise.
    pub(super) fn is_fortran(&self) -> Option<bool> {
        if self.array.is_c_contiguous() {
            return Some(false);
        }
        self.array.is_fortran_contiguous().then_some(true)
    }

    /// Borrows the elements of an array of this shape, which may be transposed in
    /// memory.
    pub(super) fn transposed<T: Element>(
        &self,
        name: &str,
        shape: &[usize],
    ) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
        if self.array.shape() != shape {
            return Err(wrong_shape(name, shape, self.array.shape()));
        }
        self.read_any(name)
    }

    /// Borrows the elements in memory order for reading.
    pub(super) fn read_any<T: Element>(&self, name: &str) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
        let typed = self.cast::<T>(name)?;
        typed.try_readonly().map_err(|error| in_use(name, error))
    }

    /// Borrows the elements in memory order for writing.
    pub(super) fn write_any<T: Element>(
        &self,
        name: &str,
    ) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
        let typed = self.cast::<T>(name)?;
        typed.try_readwrite().map_err(|error| in_use(name, error))
    }

    /// Returns the shape.
    pub(super) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    fn downcast<T: Element>(
        &self,
        name: &str,
        shape: &[usize],
    ) -> PyResult<&Bound<'py, PyArrayDyn<T>>> {
        check_layout(name, &self.array, shape)?;
        self.cast(name)
    }

    fn cast<T: Element>(&self, name: &str) -> PyResult<&Bound<'py, PyArrayDyn<T>>> {
        self.array.cast::<PyArrayDyn<T>>().map_err(|_| {
            let expected = dtype::<T>(self.array.py());
            let found = self.array.dtype();
            PyTypeError::new_err(format!("{name}: expected {expected}, got {found}"))
        })
    }
}

/// Returns an error for an array with another shape or with gaps.
pub(super) fn check_layout(
    name: &str,
    array: &Bound<'_, PyUntypedArray>,
    shape: &[usize],
) -> PyResult<()> {
    if array.shape() != shape {
        return Err(wrong_shape(name, shape, array.shape()));
    }
    if !array.is_c_contiguous() {
        let message =
            format!("{name}: expected a C-contiguous array; numpy.ascontiguousarray makes one");
        return Err(PyValueError::new_err(message));
    }
    Ok(())
}

fn wrong_shape(name: &str, expected: &[usize], found: &[usize]) -> PyErr {
    PyValueError::new_err(format!(
        "{name}: expected shape {expected:?}, got {found:?}"
    ))
}

pub(super) fn in_use(name: &str, error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{name}: {error}"))
}

/// Borrows an optional array for reading.
pub(super) fn read_opt<'py, T: Element>(
    array: Option<&Floats<'py>>,
    name: &str,
    shape: &[usize],
) -> PyResult<Option<PyReadonlyArrayDyn<'py, T>>> {
    array.map(|array| array.read(name, shape)).transpose()
}

/// Borrows an optional array for writing.
pub(super) fn write_opt<'py, T: Element>(
    array: Option<&Floats<'py>>,
    name: &str,
    shape: &[usize],
) -> PyResult<Option<PyReadwriteArrayDyn<'py, T>>> {
    array.map(|array| array.write(name, shape)).transpose()
}

/// Returns the elements of an optional array.
pub(super) fn slice_opt<'a, T: Element>(
    array: Option<&'a PyReadonlyArrayDyn<'_, T>>,
) -> PyResult<Option<&'a [T]>> {
    Ok(array.map(|array| array.as_slice()).transpose()?)
}
