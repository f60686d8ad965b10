//! Arrays whose memory comes back: it is used again once the array, and every
//! view of it (or tensor that shares it), has died.

use std::any::Any;
use std::{mem, slice};

use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use seqloom_core::{Error, Result, BufferPool};
use seqloom_encode::Word;
use seqloom_macros::native;

use crate::error;

/// What owns the memory of an array, and outlives every view of it.
#[native(frozen)]
pub(crate) struct Loan {
    #[expect(dead_code, reason = "its drop is what it is for")]
    lent: Box<dyn Any + Send + Sync>,
}

/// A vector on its way back to its shelf.
struct Lent<T: Send + Sync + 'static> {
    vector: Vec<T>,
    shelf: BufferPool<T>,
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
    shelf: &BufferPool<T>,
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

/// One cache line; vector instructions and torch like arrays to begin on one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read as other numbers")] [u8; LINE]);

const LINE: usize = 64;

/// Some bytes that begin on a cache line, on their way through a ring.
pub(crate) struct Memory {
    lent: Lent<Line>,
    size: usize,
}

impl Memory {
    /// The same bytes as numbers, which any bits are.
    pub(crate) fn numbers<T: Word>(&mut self) -> &mut [T] {
        let count = self.size / size_of::<T>();
        let start = self.lent.vector.as_mut_ptr().cast::<T>();
        // SAFETY: the vector has at least `size` initialised bytes, it begins on a cache
        // line, every pattern of bits is a `T`, and `self` is borrowed for as long.
        #[expect(unsafe_code, reason = "one memory for numbers of any size")]
        unsafe {
            slice::from_raw_parts_mut(start, count)
        }
    }

    /// An array of bytes over them, which go back to the ring when its last view has died.
    pub(crate) fn into_array(self, py: Python<'_>) -> PyResult<Bound<'_, PyArray1<u8>>> {
        let start = self.lent.vector.as_ptr().cast::<u8>();
        own(py, self.lent, start, self.size)
    }
}

/// Memory for batches, lent again and again.
///
/// A piece is lent anew only when the array it was lent as, and every view of
/// it, has died: who keeps all batches gets a ring of that many pieces.
#[native(frozen)]
pub(crate) struct Ring {
    shelf: BufferPool<Line>,
}

#[native]
impl Ring {
    #[new]
    fn new() -> Self {
        Self {
            shelf: BufferPool::default(),
        }
    }

    /// An array of `size` bytes that begins on a cache line; its content is
    /// whatever stood there before.
    fn take<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let memory = self.memory(size);
        memory
            .map_err(|failure| error::raised(py, &failure))?
            .into_array(py)
    }

    /// How many pieces wait to be lent.
    fn __len__(&self) -> usize {
        self.shelf.len()
    }
}

impl Ring {
    /// Memory that holds whatever stood there before.
    pub(crate) fn memory(&self, size: usize) -> Result<Memory> {
        let mut vector = self.shelf.take();
        let lines = size.div_ceil(LINE).max(1);
        let more = lines.saturating_sub(vector.len());
        vector.try_reserve_exact(more).map_err(|_| {
            Error::full(format!("a batch of {size} bytes does not fit into memory"))
        })?;
        if more > 0 {
            vector.resize(lines, Line([0; LINE]));
        }
        let shelf = self.shelf.clone();
        let lent = Lent { vector, shelf };
        Ok(Memory { lent, size })
    }
}

/// An array that threads read without the interpreter; it lives as long as this.
pub(crate) struct Shared<T> {
    _array: Py<PyArray1<T>>,
    start: *const T,
    size: usize,
}

impl<T: Element> Shared<T> {
    /// The array must be contiguous.
    pub(crate) fn new(array: &Bound<'_, PyArray1<T>>) -> PyResult<Self> {
        let read = array.try_readonly()?;
        let numbers = read.as_slice()?;
        Ok(Self {
            start: numbers.as_ptr(),
            size: numbers.len(),
            _array: array.clone().unbind(),
        })
    }

    /// All of it.
    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: the array is held, was found contiguous, and cannot grow while it is
        // held. Python makes it read-only before it gives it (`share_column`); a caller who
        // makes it writeable again, or writes through a view from before, breaks the rule of
        // SECURITY.md.
        #[expect(unsafe_code, reason = "an array that outlives a call")]
        unsafe {
            slice::from_raw_parts(self.start, self.size)
        }
    }
}

// SAFETY: what is read through the pointer is plain numbers of a read-only array.
#[expect(unsafe_code, reason = "the pointer alone keeps it from being so")]
unsafe impl<T: Sync> Send for Shared<T> {}
// SAFETY: the same.
#[expect(unsafe_code, reason = "the pointer alone keeps it from being so")]
unsafe impl<T: Sync> Sync for Shared<T> {}
