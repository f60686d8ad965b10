//! Runs the graph of a model on arrays.

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use seqloom_run::graph::{Array, Elements, Input};
use seqloom_run::{Error, Result};

use crate::ffi::{borrow, borrow_slice, catch_errors, free_pointer, into_pointer, to_path};
use crate::model::SeqloomModel;

/// Booleans: one byte each, 0 or 1.
pub const SEQLOOM_BOOL: u32 = 0;
/// Unsigned integers of 8 bits.
pub const SEQLOOM_UINT8: u32 = 1;
/// Signed integers of 32 bits.
pub const SEQLOOM_INT32: u32 = 2;
/// Signed integers of 64 bits.
pub const SEQLOOM_INT64: u32 = 3;
/// Unsigned integers of 32 bits.
pub const SEQLOOM_UINT32: u32 = 4;
/// Floats of 32 bits.
pub const SEQLOOM_FLOAT32: u32 = 5;
/// Floats of 64 bits.
pub const SEQLOOM_FLOAT64: u32 = 6;

/// An array in C order.
#[repr(C)]
pub struct SeqloomArray {
    /// The name, as `seqloom-run inspect` prints it.
    pub name: *const c_char,
    /// The element type, such as `SEQLOOM_FLOAT32`.
    pub dtype: u32,
    /// The number of axes.
    pub axes: usize,
    /// The length of each axis.
    pub shape: *const usize,
    /// The elements.
    pub data: *const c_void,
}

/// The output arrays of a model.
pub struct SeqloomArrays {
    /// The arrays as C structs, which point into the other fields.
    views: Vec<SeqloomArray>,
    _names: Vec<CString>,
    _arrays: Vec<Array>,
}

/// Runs the network on arrays. The inputs must already be encoded, and no softmax or
/// sigmoid is applied to the outputs.
///
/// Returns null on failure; `seqloom_last_error` returns the reason.
///
/// # Safety
///
/// `model` comes from `seqloom_open`. `inputs` points to `count` arrays. Each array has
/// a zero-terminated name, `axes` lengths in `shape`, and all elements of this shape in
/// `data`. If `model` or `inputs` is null, the call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_run(
    model: *const SeqloomModel,
    inputs: *const SeqloomArray,
    count: usize,
) -> *mut SeqloomArrays {
    catch_errors(ptr::null_mut(), || {
        // SAFETY: the caller guarantees valid pointers.
        let model = unsafe { borrow("model", model) }?;
        // SAFETY: the caller guarantees valid pointers.
        let given = unsafe { borrow_slice("inputs", inputs, count) }?;
        // SAFETY: the caller guarantees valid pointers.
        let names = given
            .iter()
            .map(|it| unsafe { to_path("the name of an input", it.name) });
        let names = names.collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = names
            .iter()
            .map(|it| it.to_string_lossy().into_owned())
            .collect();
        let pairs = names.iter().zip(given);
        // SAFETY: the caller guarantees valid pointers.
        let inputs = pairs.map(|(name, it)| unsafe { graph_input(name, it) });
        let arrays = model.predictor.run(&inputs.collect::<Result<Vec<_>>>()?)?;
        Ok(into_pointer(SeqloomArrays::new(arrays)))
    })
}

/// Returns the number of arrays.
///
/// # Safety
///
/// `arrays` is null, or comes from `seqloom_run` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_arrays_count(arrays: *const SeqloomArrays) -> usize {
    // SAFETY: the caller guarantees valid pointers.
    catch_errors(0, || Ok(unsafe { borrow("arrays", arrays) }?.views.len()))
}

/// Returns the array at a zero-based index, or null if the index is too large. The
/// array is valid until `arrays` is freed.
///
/// # Safety
///
/// `arrays` is null, or comes from `seqloom_run` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_arrays_get(
    arrays: *const SeqloomArrays,
    index: usize,
) -> *const SeqloomArray {
    catch_errors(ptr::null(), || {
        // SAFETY: the caller guarantees valid pointers.
        let view = unsafe { borrow("arrays", arrays) }?.views.get(index);
        Ok(view.map_or(ptr::null(), ptr::from_ref))
    })
}

/// Frees arrays; null has no effect.
///
/// # Safety
///
/// `arrays` is null, or comes from `seqloom_run` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_arrays_free(arrays: *mut SeqloomArrays) {
    // SAFETY: the caller guarantees valid pointers.
    unsafe { free_pointer(arrays) }
}

impl SeqloomArrays {
    fn new(arrays: Vec<Array>) -> Self {
        let names = arrays.iter().map(|array| array.name.replace('\0', "\\0"));
        let names = names.map(|name| CString::new(name).unwrap_or_default());
        let names: Vec<CString> = names.collect();
        let pairs = names.iter().zip(&arrays);
        Self {
            views: pairs.map(|(name, array)| array_view(name, array)).collect(),
            _names: names,
            _arrays: arrays,
        }
    }
}

fn array_view(name: &CString, array: &Array) -> SeqloomArray {
    let (dtype, data) = match array.values.elements() {
        Elements::Bool(numbers) => (SEQLOOM_BOOL, numbers.as_ptr().cast()),
        Elements::U8(numbers) => (SEQLOOM_UINT8, numbers.as_ptr().cast()),
        Elements::I32(numbers) => (SEQLOOM_INT32, numbers.as_ptr().cast()),
        Elements::I64(numbers) => (SEQLOOM_INT64, numbers.as_ptr().cast()),
        Elements::U32(numbers) => (SEQLOOM_UINT32, numbers.as_ptr().cast()),
        Elements::F32(numbers) => (SEQLOOM_FLOAT32, numbers.as_ptr().cast()),
        Elements::F64(numbers) => (SEQLOOM_FLOAT64, numbers.as_ptr().cast()),
    };
    SeqloomArray {
        name: name.as_ptr(),
        dtype,
        axes: array.shape.len(),
        shape: array.shape.as_ptr(),
        data,
    }
}

/// Converts a C array to an input of the graph.
///
/// # Safety
///
/// `shape` points to `axes` lengths, and `data` points to all elements of this shape.
unsafe fn graph_input<'a>(name: &'a str, array: &'a SeqloomArray) -> Result<Input<'a>> {
    // SAFETY: the caller guarantees valid pointers.
    let shape = unsafe { borrow_slice("the shape of an input", array.shape, array.axes) }?;
    let size = shape
        .iter()
        .try_fold(1_usize, |all, it| all.checked_mul(*it));
    let size = size.ok_or_else(|| Error::argument(format!("{name}: the shape is too large")))?;
    // SAFETY: the caller guarantees valid pointers.
    let data = unsafe { cast_elements(name, array, size) }?;
    Ok(Input { name, shape, data })
}

/// # Safety
///
/// The array has `size` elements.
unsafe fn cast_elements<'a>(name: &str, array: &SeqloomArray, size: usize) -> Result<Elements<'a>> {
    let from = array.data;
    // SAFETY: the caller guarantees valid pointers.
    unsafe {
        Ok(match array.dtype {
            SEQLOOM_BOOL => Elements::Bool(to_bools(name, borrow_slice(name, from.cast(), size)?)?),
            SEQLOOM_UINT8 => Elements::U8(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_INT32 => Elements::I32(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_INT64 => Elements::I64(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_UINT32 => Elements::U32(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_FLOAT32 => Elements::F32(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_FLOAT64 => Elements::F64(borrow_slice(name, from.cast(), size)?),
            other => {
                return Err(Error::argument(format!(
                    "{name}: dtype must be SEQLOOM_BOOL (0) to SEQLOOM_FLOAT64 (6), got {other}"
                )));
            }
        })
    }
}

/// Converts bytes to booleans, or returns an error if a byte is not 0 or 1.
fn to_bools<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a [bool]> {
    if let Some(byte) = bytes.iter().find(|byte| **byte > 1) {
        return Err(Error::argument(format!(
            "{name}: booleans must be 0 or 1, got {byte}"
        )));
    }
    // SAFETY: a boolean is a byte that is 0 or 1, as checked above.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) })
}
