//! NumPy arrays as inputs and outputs of a program.

use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyReadwriteArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use seqloom_fuse::{Elements, ElementsMut};

/// An array that is borrowed for reading.
pub(super) struct ReadArray<'py> {
    numbers: Readonly<'py>,
    /// The stride of each axis, in elements.
    pub(super) strides: Vec<usize>,
}

/// An array that is borrowed for writing.
pub(super) struct WrittenArray<'py>(Readwrite<'py>);

macro_rules! element_types {
    ($($kind:ident $type:ident $letter:literal;)*) => {
        enum Readonly<'py> { $($kind(PyReadonlyArrayDyn<'py, $type>)),* }
        enum Readwrite<'py> { $($kind(PyReadwriteArrayDyn<'py, $type>)),* }

        fn borrow_readonly<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Readonly<'py>> {
            let found = array.dtype();
            match (found.kind(), found.itemsize()) {
                $(($letter, size) if size == size_of::<$type>() => {
                    Ok(Readonly::$kind(downcast::<$type>(array)?.try_readonly().map_err(in_use)?))
                })*
                _ => Err(unsupported_dtype(&found)),
            }
        }

        fn borrow_readwrite<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Readwrite<'py>> {
            let found = array.dtype();
            match (found.kind(), found.itemsize()) {
                $(($letter, size) if size == size_of::<$type>() => {
                    Ok(Readwrite::$kind(downcast::<$type>(array)?.try_readwrite().map_err(in_use)?))
                })*
                _ => Err(unsupported_dtype(&found)),
            }
        }

        /// Returns the address of an array.
        pub(super) fn start_address(array: &Bound<'_, PyUntypedArray>) -> Option<usize> {
            let found = array.dtype();
            match (found.kind(), found.itemsize()) {
                $(($letter, size) if size == size_of::<$type>() => {
                    Some(downcast::<$type>(array).ok()?.data().addr())
                })*
                _ => None,
            }
        }

        impl ReadArray<'_> {
            /// Returns the elements between the first and the last of the array,
            /// including gaps.
            pub(super) fn numbers(&self) -> Elements<'_> {
                match &self.numbers { $(Readonly::$kind(array) => Elements::$kind(full_span(array, &self.strides))),* }
            }
        }

        impl WrittenArray<'_> {
            /// Returns the elements of the array, in order.
            pub(super) fn numbers(&mut self) -> PyResult<ElementsMut<'_>> {
                Ok(match &mut self.0 { $(Readwrite::$kind(array) => ElementsMut::$kind(array.as_slice_mut()?)),* })
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

impl<'py> ReadArray<'py> {
    pub(super) fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        let size = isize::try_from(array.dtype().itemsize())?;
        let step = |&bytes: &isize| {
            let whole = bytes % size == 0;
            let step = usize::try_from(bytes / size).ok().filter(|_| whole);
            step.ok_or_else(|| PyValueError::new_err("input strides must be 0 or more elements"))
        };
        Ok(Self {
            strides: array.strides().iter().map(step).collect::<PyResult<_>>()?,
            numbers: borrow_readonly(array)?,
        })
    }
}

impl<'py> WrittenArray<'py> {
    pub(super) fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        if !array.is_c_contiguous() {
            return Err(PyValueError::new_err("outputs must be C-contiguous"));
        }
        Ok(Self(borrow_readwrite(array)?))
    }
}

/// Returns all elements from the first to the last of an array.
fn full_span<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>, strides: &[usize]) -> &'a [T] {
    if array.is_empty() {
        return &[];
    }
    let steps = array.shape().iter().zip(strides);
    let last: usize = steps.map(|(size, stride)| (size - 1) * stride).sum();
    // SAFETY: the first and the last element are in one allocation, and everything
    // between them is initialised. The array is borrowed, and nothing writes to this
    // range: outputs that share its memory are rejected when they are borrowed.
    #[expect(unsafe_code, reason = "a view with gaps has no slice")]
    unsafe {
        std::slice::from_raw_parts(array.data(), last + 1)
    }
}

fn downcast<'a, 'py, T: Element>(
    array: &'a Bound<'py, PyUntypedArray>,
) -> PyResult<&'a Bound<'py, PyArrayDyn<T>>> {
    let typed = array.cast::<PyArrayDyn<T>>();
    typed.map_err(|_| PyTypeError::new_err("arrays must have the native byte order"))
}

fn unsupported_dtype(found: &Bound<'_, numpy::PyArrayDescr>) -> PyErr {
    PyTypeError::new_err(format!("arrays of {found} are not supported"))
}

fn in_use(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("an array is in use elsewhere: {error}"))
}
