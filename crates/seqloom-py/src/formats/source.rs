//! Python file objects as a source of bytes.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyBlockingIOError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};
use seqloom_core::Error;

use crate::error;

/// An exception of a Python file object, stored until the exception can be raised again.
#[derive(Clone, Default)]
pub(crate) struct PythonFailure(Arc<Mutex<Option<PyErr>>>);

impl PythonFailure {
    /// Removes and returns the stored exception.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }

    /// Stores an exception, and returns an I/O error with its message.
    pub(crate) fn store(&self, error: PyErr) -> io::Error {
        let message = format!("the file object failed: {error}");
        *self.lock() = Some(error);
        io::Error::other(message)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A Python object with the method `read1`, `read` or `readinto`. The reading thread
/// acquires the GIL for each read.
pub(crate) struct PythonReader {
    object: Py<PyAny>,
    method: &'static str,
    failure: PythonFailure,
}

impl PythonReader {
    /// Reads `object` from its current position.
    pub(crate) fn new(object: &Bound<'_, PyAny>, failure: &PythonFailure) -> PyResult<Self> {
        // Prefers `read1`, because `read` of a buffered pipe waits for the full size.
        for method in ["read1", "read", "readinto"] {
            if object.hasattr(method)? {
                return Ok(Self {
                    object: object.clone().unbind(),
                    method,
                    failure: failure.clone(),
                });
            }
        }
        Err(invalid(object, "has none of the methods read and readinto"))
    }

    fn read_once(&self, py: Python<'_>, out: &mut [u8]) -> PyResult<usize> {
        let object = self.object.bind(py);
        if self.method == "readinto" {
            return self.call_readinto(object, out);
        }
        let answer = object.call_method1(self.method, (out.len(),))?;
        if answer.is_none() {
            return Err(PyBlockingIOError::new_err(
                "the file object has no data yet",
            ));
        }
        if answer.is_instance_of::<PyString>() {
            return Err(invalid(
                object,
                "returns text: open it in binary mode, \"rb\"",
            ));
        }
        let Ok(bytes) = answer.cast::<PyBytes>() else {
            let kind = answer.get_type();
            return Err(invalid(object, &format!("returns {kind}, expected bytes")));
        };
        copy_bytes(object, bytes.as_bytes(), out)
    }

    fn call_readinto(&self, object: &Bound<'_, PyAny>, out: &mut [u8]) -> PyResult<usize> {
        let buffer = PyByteArray::new(object.py(), &vec![0; out.len()]);
        let count = object.call_method1(self.method, (&buffer,))?;
        if count.is_none() {
            return Err(PyBlockingIOError::new_err(
                "the file object has no data yet",
            ));
        }
        let bytes = buffer.to_vec();
        let count_read: Option<usize> = count.extract().ok();
        match count_read.and_then(|count_read| bytes.get(..count_read)) {
            Some(bytes) => copy_bytes(object, bytes, out),
            None => Err(invalid(object, &format!("returned the byte count {count}"))),
        }
    }
}

impl Read for PythonReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // This call fails if the Python interpreter is shutting down.
        let read = Python::try_attach(|py| self.read_once(py, out));
        let read = read.ok_or_else(|| io::Error::other("Python is shutting down"))?;
        read.map_err(|error| self.failure.store(error))
    }
}

fn copy_bytes(object: &Bound<'_, PyAny>, bytes: &[u8], out: &mut [u8]) -> PyResult<usize> {
    match out.get_mut(..bytes.len()) {
        Some(buffer) => buffer.copy_from_slice(bytes),
        None => {
            return Err(invalid(object, "returned more bytes than requested"));
        }
    }
    Ok(bytes.len())
}

fn invalid(object: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let kind = object.get_type().name().map_or_else(
        |_| "the object".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let message = format!("expected a binary file object; {kind} {what}");
    error::exception_for(object.py(), &Error::argument(message))
}
