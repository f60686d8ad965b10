//! Arrays over pooled buffers. A buffer is reused when the array and every view of it
//! (or tensor that shares its memory) have been dropped.

use std::{any::Any, mem, slice};

use numpy::{Element, PyArray1, PyArrayMethods, ndarray::ArrayView1};
use pyo3::prelude::*;
use seqloom_core::{BufferPool, Error, Result};
use seqloom_encode::ElementBits;
use seqloom_macros::python_export;

use crate::error;

/// The owner of the memory of an array, which outlives every view of it.
#[python_export(frozen)]
pub(crate) struct ArrayOwner {
    #[expect(dead_code, reason = "the field is only dropped")]
    buffer: Box<dyn Any + Send + Sync>,
}

/// A vector that returns to its buffer pool when it is dropped.
struct PooledVec<T: Send + Sync + 'static> {
    vector: Vec<T>,
    buffer_pool: BufferPool<T>,
}

impl<T: Send + Sync + 'static> Drop for PooledVec<T> {
    fn drop(&mut self) {
        self.buffer_pool.put(mem::take(&mut self.vector));
    }
}

/// Returns an array over `vector`, which returns to `buffer_pool` when the last view is
/// dropped.
pub(crate) fn array<'py, T: Element + Send + Sync + 'static>(
    py: Python<'py>,
    vector: Vec<T>,
    buffer_pool: &BufferPool<T>,
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let buffer = PooledVec {
        vector,
        buffer_pool: buffer_pool.clone(),
    };
    let (start, size) = (buffer.vector.as_ptr(), buffer.vector.len());
    owned_array(py, buffer, start, size)
}

/// Returns an array of `size` elements from `start`, which `owner` owns.
fn owned_array<T: Element, O: Send + Sync + 'static>(
    py: Python<'_>,
    owner: O,
    start: *const T,
    size: usize,
) -> PyResult<Bound<'_, PyArray1<T>>> {
    let buffer: Box<dyn Any + Send + Sync> = Box::new(owner);
    let loan = Bound::new(py, ArrayOwner { buffer })?.into_any();
    // SAFETY: `owner` contains `size` initialised elements at `start`, in a heap
    // allocation with a fixed address. These elements are accessed only through the
    // array, and the array keeps `loan` and `owner` alive.
    #[expect(unsafe_code, reason = "an array over memory that Rust owns")]
    let buffer = unsafe {
        let view = ArrayView1::from_shape_ptr(size, start);
        PyArray1::borrow_from_array(&view, loan)
    };
    Ok(buffer)
}

/// The size of a cache line in bytes. Vector instructions and PyTorch are faster with
/// arrays that begin at a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[expect(dead_code, reason = "read as numbers")] [u8; CACHE_LINE]);

const CACHE_LINE: usize = 64;

/// A byte buffer that begins at a cache line and returns to its [`BatchMemory`] when it is
/// dropped.
pub(crate) struct PooledBytes {
    buffer: PooledVec<CacheLine>,
    size: usize,
}

impl PooledBytes {
    /// Returns the bytes as numbers of a type for which every bit pattern is valid.
    pub(crate) fn numbers<T: ElementBits>(&mut self) -> &mut [T] {
        let count = self.size / size_of::<T>();
        let start = self.buffer.vector.as_mut_ptr().cast::<T>();
        // SAFETY: the vector has at least `size` initialised bytes and begins at a
        // cache line. Every bit pattern is a valid `T`, and `self` is borrowed while
        // the slice is in use.
        #[expect(unsafe_code, reason = "the same memory stores numbers of any size")]
        unsafe {
            slice::from_raw_parts_mut(start, count)
        }
    }

    /// Returns an array over the bytes, which return to the [`BatchMemory`] when the last
    /// view is dropped.
    pub(crate) fn into_array(self, py: Python<'_>) -> PyResult<Bound<'_, PyArray1<u8>>> {
        let start = self.buffer.vector.as_ptr().cast::<u8>();
        owned_array(py, self.buffer, start, self.size)
    }
}

/// A pool of memory for batches.
///
/// A buffer is reused only after its array and every view of it have been dropped. If
/// all batches are kept, the pool grows by one buffer per batch.
#[python_export(frozen)]
pub(crate) struct BatchMemory {
    buffer_pool: BufferPool<CacheLine>,
}

#[python_export]
impl BatchMemory {
    #[new]
    fn new() -> Self {
        Self {
            buffer_pool: BufferPool::default(),
        }
    }

    /// Returns an array of `size` bytes that begins at a cache line, with unspecified
    /// content.
    fn take<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyArray1<u8>>> {
        error::raise(py, self.memory(size))?.into_array(py)
    }

    /// Returns the number of unused buffers.
    fn __len__(&self) -> usize {
        self.buffer_pool.len()
    }
}

impl BatchMemory {
    /// Returns a buffer with unspecified content.
    pub(crate) fn memory(&self, size: usize) -> Result<PooledBytes> {
        let mut vector = self.buffer_pool.take();
        let lines = size.div_ceil(CACHE_LINE).max(1);
        let more = lines.saturating_sub(vector.len());
        vector.try_reserve_exact(more).map_err(|_| {
            Error::full(format!("a batch of {size} bytes does not fit into memory"))
        })?;
        if more > 0 {
            vector.resize(lines, CacheLine([0; CACHE_LINE]));
        }
        let buffer_pool = self.buffer_pool.clone();
        let buffer = PooledVec {
            vector,
            buffer_pool,
        };
        Ok(PooledBytes { buffer, size })
    }
}

/// An array that threads read without the GIL; this object keeps the array alive.
pub(crate) struct SharedArray<T> {
    _array: Py<PyArray1<T>>,
    start: *const T,
    size: usize,
}

impl<T: Element> SharedArray<T> {
    /// Creates the object from a contiguous array.
    pub(crate) fn new(array: &Bound<'_, PyArray1<T>>) -> PyResult<Self> {
        let read = array.try_readonly()?;
        let numbers = read.as_slice()?;
        Ok(Self {
            start: numbers.as_ptr(),
            size: numbers.len(),
            _array: array.clone().unbind(),
        })
    }

    /// Returns all elements.
    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: the array is kept alive, was contiguous, and cannot be resized while
        // it is referenced. Python first makes the array read-only (`share_column`);
        // SECURITY.md forbids callers to make it writeable again or to write through an
        // earlier view.
        #[expect(unsafe_code, reason = "an array that outlives a call")]
        unsafe {
            slice::from_raw_parts(self.start, self.size)
        }
    }
}

// SAFETY: the pointer is used only to read numbers of a read-only array.
#[expect(unsafe_code, reason = "a raw pointer prevents the derived trait")]
unsafe impl<T: Sync> Send for SharedArray<T> {}
// SAFETY: the pointer is used only to read numbers of a read-only array.
#[expect(unsafe_code, reason = "a raw pointer prevents the derived trait")]
unsafe impl<T: Sync> Sync for SharedArray<T> {}
