//! The graph on arrays.

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use seqloom_run::graph::{Array, Input, Numbers};
use seqloom_run::{Error, Result};

use crate::ffi::{borrow, borrow_slice, free, guard, into_pointer, path};
use crate::model::SeqloomModel;

/// Truths: a byte each, 0 or 1.
pub const SEQLOOM_BOOL: u32 = 0;
/// Whole numbers of 8 bits, from 0 on.
pub const SEQLOOM_UINT8: u32 = 1;
/// Whole numbers of 32 bits.
pub const SEQLOOM_INT32: u32 = 2;
/// Whole numbers of 64 bits.
pub const SEQLOOM_INT64: u32 = 3;
/// Whole numbers of 32 bits, from 0 on.
pub const SEQLOOM_UINT32: u32 = 4;
/// Floats of 32 bits.
pub const SEQLOOM_FLOAT32: u32 = 5;
/// Floats of 64 bits.
pub const SEQLOOM_FLOAT64: u32 = 6;

/// An array, in C order.
#[repr(C)]
pub struct SeqloomArray {
    /// Its name, as `seqloom-run inspect` lists it.
    pub name: *const c_char,
    /// The type of its elements, such as `SEQLOOM_FLOAT32`.
    pub dtype: u32,
    /// How many axes it has.
    pub axes: usize,
    /// The length of each.
    pub shape: *const usize,
    /// The elements.
    pub data: *const c_void,
}

/// Arrays that came out of a model.
pub struct SeqloomArrays {
    /// Views of what stands in the others.
    views: Vec<SeqloomArray>,
    _names: Vec<CString>,
    _arrays: Vec<Array>,
}

/// Runs the network on arrays; nothing is encoded, and outputs stay as they are.
///
/// Returns null where something is wrong, which `seqloom_last_error` says.
///
/// # Safety
///
/// `model` comes from `seqloom_open`; `inputs` are `count` arrays, each with a name that ends
/// in a zero, a shape of so many axes, and as many elements as the shape says. Each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_run(
    model: *const SeqloomModel,
    inputs: *const SeqloomArray,
    count: usize,
) -> *mut SeqloomArrays {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller's promise.
        let model = unsafe { borrow("model", model) }?;
        // SAFETY: the caller's promise.
        let given = unsafe { borrow_slice("inputs", inputs, count) }?;
        // SAFETY: the caller's promise.
        let names = given
            .iter()
            .map(|it| unsafe { path("the name of an input", it.name) });
        let names = names.collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = names
            .iter()
            .map(|it| it.to_string_lossy().into_owned())
            .collect();
        let pairs = names.iter().zip(given);
        // SAFETY: the caller's promise.
        let inputs = pairs.map(|(name, it)| unsafe { input(name, it) });
        let arrays = model.predictor.run(&inputs.collect::<Result<Vec<_>>>()?)?;
        Ok(into_pointer(SeqloomArrays::new(arrays)))
    })
}

/// Counts the arrays.
///
/// # Safety
///
/// `arrays` is null, or comes from `seqloom_run` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_arrays_count(arrays: *const SeqloomArrays) -> usize {
    // SAFETY: the caller's promise.
    guard(0, || Ok(unsafe { borrow("arrays", arrays) }?.views.len()))
}

/// Gives an array, from 0 on; null behind the last. It lives as long as `arrays`.
///
/// # Safety
///
/// `arrays` is null, or comes from `seqloom_run` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_arrays_get(
    arrays: *const SeqloomArrays,
    index: usize,
) -> *const SeqloomArray {
    guard(ptr::null(), || {
        // SAFETY: the caller's promise.
        let view = unsafe { borrow("arrays", arrays) }?.views.get(index);
        Ok(view.map_or(ptr::null(), ptr::from_ref))
    })
}

/// Frees arrays; null is nothing.
///
/// # Safety
///
/// `arrays` is null, or comes from `seqloom_run` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_arrays_free(arrays: *mut SeqloomArrays) {
    // SAFETY: the caller's promise.
    unsafe { free(arrays) }
}

impl SeqloomArrays {
    fn new(arrays: Vec<Array>) -> Self {
        let names = arrays.iter().map(|array| array.name.replace('\0', "\\0"));
        let names = names.map(|name| CString::new(name).unwrap_or_default());
        let names: Vec<CString> = names.collect();
        let pairs = names.iter().zip(&arrays);
        Self {
            views: pairs.map(|(name, array)| view(name, array)).collect(),
            _names: names,
            _arrays: arrays,
        }
    }
}

fn view(name: &CString, array: &Array) -> SeqloomArray {
    let (dtype, data) = match array.values.data() {
        Numbers::Bool(numbers) => (SEQLOOM_BOOL, numbers.as_ptr().cast()),
        Numbers::U8(numbers) => (SEQLOOM_UINT8, numbers.as_ptr().cast()),
        Numbers::I32(numbers) => (SEQLOOM_INT32, numbers.as_ptr().cast()),
        Numbers::I64(numbers) => (SEQLOOM_INT64, numbers.as_ptr().cast()),
        Numbers::U32(numbers) => (SEQLOOM_UINT32, numbers.as_ptr().cast()),
        Numbers::F32(numbers) => (SEQLOOM_FLOAT32, numbers.as_ptr().cast()),
        Numbers::F64(numbers) => (SEQLOOM_FLOAT64, numbers.as_ptr().cast()),
    };
    SeqloomArray {
        name: name.as_ptr(),
        dtype,
        axes: array.shape.len(),
        shape: array.shape.as_ptr(),
        data,
    }
}

/// An array of C as one of the graph.
///
/// # Safety
///
/// Its shape has so many axes, and it as many elements as the shape says.
unsafe fn input<'a>(name: &'a str, array: &'a SeqloomArray) -> Result<Input<'a>> {
    // SAFETY: the caller's promise.
    let shape = unsafe { borrow_slice("the shape of an input", array.shape, array.axes) }?;
    let size = shape
        .iter()
        .try_fold(1_usize, |all, it| all.checked_mul(*it));
    let size = size.ok_or_else(|| Error::argument(format!("{name}: the shape is too large")))?;
    // SAFETY: the caller's promise.
    let data = unsafe { data(name, array, size) }?;
    Ok(Input { name, shape, data })
}

/// # Safety
///
/// The array has so many elements.
unsafe fn data<'a>(name: &str, array: &SeqloomArray, size: usize) -> Result<Numbers<'a>> {
    let from = array.data;
    // SAFETY: the caller's promise.
    unsafe {
        Ok(match array.dtype {
            SEQLOOM_BOOL => Numbers::Bool(booleans(name, borrow_slice(name, from.cast(), size)?)?),
            SEQLOOM_UINT8 => Numbers::U8(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_INT32 => Numbers::I32(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_INT64 => Numbers::I64(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_UINT32 => Numbers::U32(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_FLOAT32 => Numbers::F32(borrow_slice(name, from.cast(), size)?),
            SEQLOOM_FLOAT64 => Numbers::F64(borrow_slice(name, from.cast(), size)?),
            other => {
                return Err(Error::argument(format!(
                    "{name}: dtype must be SEQLOOM_BOOL (0) to SEQLOOM_FLOAT64 (6), got {other}"
                )));
            }
        })
    }
}

/// Converts bytes to booleans; each must be 0 or 1.
fn booleans<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a [bool]> {
    if let Some(byte) = bytes.iter().find(|byte| **byte > 1) {
        return Err(Error::argument(format!(
            "{name}: booleans must be 0 or 1, got {byte}"
        )));
    }
    // SAFETY: a boolean is a byte that is 0 or 1, and all bytes are.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) })
}
