//! A model, opened and freed.

use std::ffi::{CString, c_char};
use std::ptr;

use seqloom_run::Predictor;

use crate::ffi::{borrow, free, guard, into_pointer, path};

/// An exported model. Several threads may use it at once.
pub struct SeqloomModel {
    pub(crate) predictor: Predictor,
    columns: Vec<CString>,
}

/// Opens a folder or a .zip that `seqloom export` wrote, and checks all of it.
///
/// `threads` is how many threads a call may use; 0 is one. Returns null where something is
/// wrong, which `seqloom_last_error` says.
///
/// # Safety
///
/// `path` is null or a text that ends in a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_open(path: *const c_char, threads: usize) -> *mut SeqloomModel {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller's promise.
        let path = unsafe { self::path("path", path) }?;
        let predictor = Predictor::open(&path, threads.max(1))?;
        let columns = predictor.manifest().task.columns.iter();
        let columns = columns.map(|name| CString::new(name.replace('\0', "\\0")));
        Ok(into_pointer(SeqloomModel {
            columns: columns.map(Result::unwrap_or_default).collect(),
            predictor,
        }))
    })
}

/// Frees a model; null is nothing. No other call may use it any more.
///
/// # Safety
///
/// `model` is null, or comes from `seqloom_open` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_free(model: *mut SeqloomModel) {
    // SAFETY: the caller's promise.
    unsafe { free(model) }
}

/// Counts the columns that have names: the classes, the labels or the values. 0 of a model
/// whose outputs have none.
///
/// # Safety
///
/// `model` is null, or comes from `seqloom_open` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_columns(model: *const SeqloomModel) -> usize {
    guard(0, || {
        // SAFETY: the caller's promise.
        let model = unsafe { borrow("model", model) }?;
        Ok(model.columns.len())
    })
}

/// Gives the name of a column, from 0 on; null behind the last. It lives as long as the model
/// and must not be freed.
///
/// # Safety
///
/// `model` is null, or comes from `seqloom_open` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_column(
    model: *const SeqloomModel,
    column: usize,
) -> *const c_char {
    guard(ptr::null(), || {
        // SAFETY: the caller's promise.
        let model = unsafe { borrow("model", model) }?;
        let name = model.columns.get(column);
        Ok(name.map_or(ptr::null(), |name| name.as_ptr()))
    })
}
