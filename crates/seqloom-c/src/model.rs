//! Opens and frees a model.

use std::ffi::{CString, c_char};
use std::ptr;

use seqloom_run::Predictor;

use crate::ffi::{borrow, catch_errors, free_pointer, into_pointer, to_path};

/// An exported model. Several threads may use a model at the same time.
pub struct SeqloomModel {
    pub(crate) predictor: Predictor,
    columns: Vec<CString>,
}

/// Opens a folder or a .zip that `seqloom export` wrote, and checks all files.
///
/// A call may use up to `threads` threads; 0 means one. Returns null on failure;
/// `seqloom_last_error` returns the reason.
///
/// # Safety
///
/// `path` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_open(path: *const c_char, threads: usize) -> *mut SeqloomModel {
    catch_errors(ptr::null_mut(), || {
        // SAFETY: the caller guarantees valid pointers.
        let path = unsafe { self::to_path("path", path) }?;
        let predictor = Predictor::open(&path, threads.max(1))?;
        let columns = predictor.manifest().task.columns.iter();
        let columns = columns.map(|name| CString::new(name.replace('\0', "\\0")));
        Ok(into_pointer(SeqloomModel {
            columns: columns.map(Result::unwrap_or_default).collect(),
            predictor,
        }))
    })
}

/// Frees a model; null has no effect. No other call may use the model afterwards.
///
/// # Safety
///
/// `model` is null, or comes from `seqloom_open` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_free(model: *mut SeqloomModel) {
    // SAFETY: the caller guarantees valid pointers.
    unsafe { free_pointer(model) }
}

/// Returns the number of named output columns (classes, labels or values), or 0 if
/// outputs have no names.
///
/// # Safety
///
/// `model` is null, or comes from `seqloom_open` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_columns(model: *const SeqloomModel) -> usize {
    catch_errors(0, || {
        // SAFETY: the caller guarantees valid pointers.
        let model = unsafe { borrow("model", model) }?;
        Ok(model.columns.len())
    })
}

/// Returns the name of the column at a zero-based index, or null if the index is too
/// large. The string is valid until the model is freed, and must not be freed itself.
///
/// # Safety
///
/// `model` is null, or comes from `seqloom_open` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_column(
    model: *const SeqloomModel,
    column: usize,
) -> *const c_char {
    catch_errors(ptr::null(), || {
        // SAFETY: the caller guarantees valid pointers.
        let model = unsafe { borrow("model", model) }?;
        let name = model.columns.get(column);
        Ok(name.map_or(ptr::null(), |name| name.as_ptr()))
    })
}
