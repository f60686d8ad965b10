//! Arrays whose memory comes back: it is used again once the array, and every
//! view of it (or tensor that shares it), has died.

use std::any::Any;
use std::mem;

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use seqloom_core::Shelf;

/// What owns the memory of an array, and outlives every view of it.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(frozen, module = "seqloom._rust._native")]
pub(crate) struct Loan {
    #[expect(dead_code, reason = "its drop is what it is for")]
    lent: Box<dyn Any + Send + Sync>,
}

/// A vector on its way back to its shelf.
struct Lent<T: Send + Sync + 'static> {
    vector: Vec<T>,
    shelf: Shelf<T>,
}

impl<T: Send + Sync + 'static> Drop for Lent<T> {
    fn drop(&mut self) {
        self.shelf.put(mem::take(&mut self.vector));
    }
}

/// An array over `vector`, which goes to `shelf` when the last view has died.
pub(crate) fn array<'py, T: Element + Send + Sync + 'static>(
    py: Python<'py>,
    vector: Vec<T>,
    shelf: &Shelf<T>,
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let lent = Lent {
        vector,
        shelf: shelf.clone(),
    };
    let (start, size) = (lent.vector.as_ptr(), lent.vector.len());
    own(py, lent, start, size)
}

/// An array of `size` elements from `start`, all of which `owner` owns.
fn own<T: Element, O: Send + Sync + 'static>(
    py: Python<'_>,
    owner: O,
    start: *const T,
    size: usize,
) -> PyResult<Bound<'_, PyArray1<T>>> {
    let lent: Box<dyn Any + Send + Sync> = Box::new(owner);
    let loan = Bound::new(py, Loan { lent })?.into_any();
    // SAFETY: `owner` holds `size` initialised elements at `start`, in a heap
    // allocation that does not move with it; nothing reads or writes them but
    // through the array, and the array holds `loan`, which holds `owner`.
    #[expect(unsafe_code, reason = "an array over memory that Rust owns")]
    let lent = unsafe {
        let view = ArrayView1::from_shape_ptr(size, start);
        PyArray1::borrow_from_array(&view, loan)
    };
    Ok(lent)
}

/// One cache line, written and read through the array; vector instructions and torch like arrays to begin on one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "Python reads it")] [u8; LINE]);

const LINE: usize = 64;

/// Memory for batches, lent again and again.
///
/// A piece is lent anew only when the array it was lent as, and every view of
/// it, has died: who keeps all batches gets a ring of that many pieces.
#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pyclass)]
#[pyclass(frozen, module = "seqloom._rust._native")]
pub(crate) struct Ring {
    shelf: Shelf<Line>,
}

#[cfg_attr(feature = "stubs", pyo3_stub_gen::derive::gen_stub_pymethods)]
#[pymethods]
impl Ring {
    #[new]
    fn new() -> Self {
        Self {
            shelf: Shelf::default(),
        }
    }

    /// An array of `size` bytes that begins on a cache line; its content is
    /// whatever stood there before.
    fn take<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let mut vector = self.shelf.take();
        let lines = size.div_ceil(LINE).max(1);
        if vector.len() < lines {
            vector.resize(lines, Line([0; LINE]));
        }
        let lent = Lent {
            vector,
            shelf: self.shelf.clone(),
        };
        let start = lent.vector.as_ptr().cast::<u8>();
        own(py, lent, start, size)
    }

    /// How many pieces wait to be lent.
    fn __len__(&self) -> usize {
        self.shelf.len()
    }
}
