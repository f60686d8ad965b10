//! Conversion of the errors of the other crates to the classes of `seqloom.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use seqloom_core::{Error, Result};

/// Returns the exception for an error.
pub(crate) fn exception_for(py: Python<'_>, error: &Error) -> PyErr {
    new_exception(py, error).unwrap_or_else(|failure| failure)
}

/// Converts the error of a result to an exception.
pub(crate) fn raise<T>(py: Python<'_>, outcome: Result<T>) -> PyResult<T> {
    outcome.map_err(|error| exception_for(py, &error))
}

/// Returns the exception for a panic in Rust, which is a bug in seqloom.
pub(crate) fn internal_error(py: Python<'_>, message: &str) -> PyErr {
    let message = format!("seqloom failed ({message}): please report it");
    build_exception(py, "InternalError", &message, &PyDict::new(py)).unwrap_or_else(|error| error)
}

fn new_exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    let mut cause = None;
    let class = match error {
        Error::Missing { .. } => "MissingFileError",
        Error::File { .. } => "FileError",
        Error::Format { path, fault } => {
            details.set_item("kind", fault.kind.to_string())?;
            details.set_item("path", path.as_os_str())?;
            details.set_item("record", fault.record)?;
            details.set_item("line", fault.line)?;
            details.set_item("byte", fault.byte)?;
            cause = fault.cause;
            "FormatError"
        }
        Error::Letter {
            record,
            position,
            letter,
            expected,
        } => {
            details.set_item("record", record)?;
            details.set_item("position", position)?;
            details.set_item("character", char::from(*letter))?;
            details.set_item("expected", &**expected)?;
            "AlphabetError"
        }
        Error::Memory { .. } | Error::Full { .. } => "MemoryLimitError",
        Error::OutOfRange { .. } => "OutOfRangeError",
        Error::Range { .. } => "NumberRangeError",
        _ => "ArgumentError",
    };
    let raised = build_exception(py, class, &error.to_string(), &details)?;
    if let Some(cause) = cause {
        raised.value(py).setattr("cause", cause.to_string())?;
    }
    Ok(raised)
}

fn build_exception(
    py: Python<'_>,
    class: &str,
    message: &str,
    details: &Bound<'_, PyDict>,
) -> PyResult<PyErr> {
    let class = errors_module(py)?.getattr(class)?.cast_into::<PyType>()?;
    Ok(PyErr::from_value(class.call((message,), Some(details))?))
}

/// Returns the module `seqloom.errors`, which is imported only once.
fn errors_module(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ERRORS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = ERRORS.get_or_try_init(py, || {
        py.import("seqloom.errors")
            .map(|module| module.into_any().unbind())
    })?;
    Ok(module.bind(py))
}
