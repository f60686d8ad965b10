//! Conversions between C and Rust for pointers, strings and errors. Panics become
//! errors.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;

use seqloom_run::{Error, Result};

thread_local! {
    /// The error of the last call in this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
    /// The warnings of the last call in this thread that scored files.
    static LAST_WARNINGS: RefCell<CString> = RefCell::default();
}

/// Returns the error of the last call in this thread, or an empty string if that call
/// succeeded. Calls that free memory do not change this error. The string is valid
/// until the next call and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn seqloom_last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}

/// Returns the warnings of the last `seqloom_predict` or `seqloom_score` in this
/// thread, one sentence per line, or an empty string. The string is valid until the
/// next of these calls and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn seqloom_last_warnings() -> *const c_char {
    LAST_WARNINGS.with_borrow(|text| text.as_ptr())
}

/// Returns the version of this library, such as "0.1.0". The string must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn seqloom_version() -> *const c_char {
    VERSION.as_ptr()
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(VERSION_BYTES) {
    Ok(text) => text,
    Err(_) => c"",
};
const VERSION_BYTES: &[u8] = concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes();

/// Runs the body of a C function. On an error or a panic, stores the message and
/// returns `failed`.
pub(crate) fn catch_errors<T>(failed: T, work: impl FnOnce() -> Result<T>) -> T {
    let done = catch_unwind(AssertUnwindSafe(work));
    let (answer, text) = match done {
        Ok(Ok(answer)) => (answer, String::new()),
        Ok(Err(error)) => (failed, error.to_string()),
        Err(panic) => (
            failed,
            format!("seqloom failed ({}): please report it", panic_text(&*panic)),
        ),
    };
    set_last_error(&text);
    answer
}

pub(crate) fn store_warnings(sentences: &[String]) {
    LAST_WARNINGS.set(to_c_string(&sentences.join("\n")));
}

fn set_last_error(text: &str) {
    LAST_ERROR.set(to_c_string(text));
}

fn to_c_string(text: &str) -> CString {
    // A C string ends at its first zero.
    let text = text.replace('\0', "\\0");
    CString::new(text).unwrap_or_default()
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}

/// Returns the error for a null argument.
pub(crate) fn null_error(name: &str) -> Error {
    Error::argument(format!("{name} is null"))
}

/// Borrows the target of a pointer, or returns an error if it is null.
///
/// # Safety
///
/// The pointer is null, or its target outlives the returned reference.
pub(crate) unsafe fn borrow<'a, T>(name: &str, pointer: *const T) -> Result<&'a T> {
    // SAFETY: the caller guarantees valid pointers.
    unsafe { pointer.as_ref() }.ok_or_else(|| null_error(name))
}

/// Borrows an array of `count` elements.
///
/// # Safety
///
/// The pointer is null, or points to `count` elements that outlive the returned slice.
pub(crate) unsafe fn borrow_slice<'a, T>(
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null_error(name));
    }
    let size = count.checked_mul(size_of::<T>());
    let fits = size.is_some_and(|size| isize::try_from(size).is_ok());
    if !pointer.is_aligned() || !fits {
        return Err(Error::argument(format!(
            "{name} must be an array with aligned elements"
        )));
    }
    // SAFETY: the pointer is not null, is aligned, and the size is checked; the caller
    // guarantees the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Returns a path from a C string.
///
/// # Safety
///
/// The pointer is null, or points to a C string.
pub(crate) unsafe fn to_path(name: &str, text: *const c_char) -> Result<PathBuf> {
    if text.is_null() {
        return Err(null_error(name));
    }
    // SAFETY: the caller guarantees valid pointers.
    let text = unsafe { CStr::from_ptr(text) };
    path_from_bytes(text.to_bytes())
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on other systems")]
fn path_from_bytes(bytes: &[u8]) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::OsStr::from_bytes(bytes).into())
}

/// On this system paths are UTF-8.
#[cfg(not(unix))]
fn path_from_bytes(bytes: &[u8]) -> Result<PathBuf> {
    let text = std::str::from_utf8(bytes);
    text.map(PathBuf::from)
        .map_err(|_| Error::argument("a path must be UTF-8"))
}

/// Passes the ownership of a value to C.
pub(crate) fn into_pointer<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Frees a value that C owns; null is allowed.
///
/// # Safety
///
/// The pointer comes from [`into_pointer`], and was not freed.
pub(crate) unsafe fn free_pointer<T>(pointer: *mut T) {
    if !ptr::eq(pointer, ptr::null()) {
        // SAFETY: the caller guarantees valid pointers.
        let value = unsafe { Box::from_raw(pointer) };
        // A panic here must not replace the last error.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
    }
}
