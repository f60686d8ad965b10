//! An exported model that runs on NumPy arrays.

use std::{collections::HashMap, path::PathBuf};

use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods, ToPyArray,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seqloom_graph::{Array, Elements, Export, Input, Limits, Model, Values};
use seqloom_macros::python_export;

use crate::error;

/// An exported model in a folder, a zip, or the bytes of a zip.
#[python_export(frozen)]
pub(crate) struct ExportedModel {
    model: Model,
    facts: String,
}

/// The location of a model: a path, or the bytes of a zip.
#[derive(FromPyObject)]
enum ModelLocation<'py> {
    Bytes(Bound<'py, PyBytes>),
    Path(PathBuf),
}

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for ModelLocation<'_> {
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        PathBuf::type_input() | Bound::<'_, PyBytes>::type_output()
    }
}

#[python_export]
impl ExportedModel {
    /// Opens and checks an export; `memory_limit` limits its memory in bytes.
    #[new]
    #[pyo3(signature = (path_or_bytes, memory_limit=None))]
    fn new(
        py: Python<'_>,
        path_or_bytes: ModelLocation<'_>,
        memory_limit: Option<usize>,
    ) -> PyResult<Self> {
        let limits =
            memory_limit.map_or_else(Limits::default, |memory_bytes| Limits { memory_bytes });
        let opened = match path_or_bytes {
            ModelLocation::Path(path) => py.detach(|| Export::open_with_limits(&path, limits)),
            ModelLocation::Bytes(bytes) => Export::from_zip(bytes.as_bytes().to_vec()),
        };
        let made = opened.and_then(|export| {
            let facts = export.summary().to_string();
            Model::new(export, limits).map(|model| Self { model, facts })
        });
        error::raise(py, made)
    }

    /// A description of the model, as JSON.
    #[getter]
    fn facts(&self) -> &str {
        &self.facts
    }

    /// Returns the outputs of the model for `inputs`, C-contiguous arrays by input
    /// name.
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: HashMap<String, Bound<'py, PyAny>>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut borrowed = Vec::with_capacity(inputs.len());
        for (name, array) in inputs {
            let array = array.cast_into::<PyUntypedArray>()?;
            let numbers = BorrowedArray::borrow(&array, &name)?;
            borrowed.push((name, array.shape().to_vec(), numbers));
        }
        let mut arguments = Vec::with_capacity(borrowed.len());
        for (name, shape, numbers) in &borrowed {
            let data = numbers.data(name)?;
            arguments.push(Input { name, shape, data });
        }
        let arrays = error::raise(py, py.detach(|| self.model.run(&arguments, threads)))?;
        arrays
            .into_iter()
            .map(|array| to_numpy(py, &array))
            .collect()
    }
}

macro_rules! element_types {
    ($($kind:ident $type:ident $letter:literal;)*) => {
        /// A NumPy array that is borrowed for reading.
        enum BorrowedArray<'py> { $($kind(PyReadonlyArrayDyn<'py, $type>)),* }

        impl<'py> BorrowedArray<'py> {
            fn borrow(array: &Bound<'py, PyUntypedArray>, name: &str) -> PyResult<Self> {
                let found = array.dtype();
                match (found.kind(), found.itemsize()) {
                    $(($letter, size) if size == size_of::<$type>() => {
                        downcast::<$type>(array, name).map(Self::$kind)
                    })*
                    _ => Err(PyTypeError::new_err(format!("{name}: arrays of {found} are not supported"))),
                }
            }

            fn data(&self, name: &str) -> PyResult<Elements<'_>> {
                match self { $(Self::$kind(array) => contiguous_slice(array, name).map(Elements::$kind)),* }
            }
        }

        /// Copies an output to a NumPy array.
        fn to_numpy<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
            let shape = array.shape.clone();
            match &array.values {
                $(Values::$kind(numbers) => Ok(numbers.to_pyarray(py).reshape(shape)?.into_any()),)*
            }
        }
    };
}

element_types! {
    F32 f32 b'f';
    F64 f64 b'f';
    I64 i64 b'i';
    I32 i32 b'i';
    U32 u32 b'u';
    U8 u8 b'u';
    Bool bool b'b';
}

fn downcast<'py, T: Element>(
    array: &Bound<'py, PyUntypedArray>,
    name: &str,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let typed = array.cast::<PyArrayDyn<T>>();
    let typed =
        typed.map_err(|_| PyTypeError::new_err(format!("{name}: unsupported byte order")))?;
    let arguments = typed.try_readonly();
    arguments.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

fn contiguous_slice<'a, T: Element>(
    array: &'a PyReadonlyArrayDyn<'_, T>,
    name: &str,
) -> PyResult<&'a [T]> {
    let message =
        || format!("{name}: expected a C-contiguous array; numpy.ascontiguousarray makes one");
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err(message()))
}
