//! Arrays of four axes, with any axis order in memory and possibly with gaps.

use numpy::{
    Element, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::attention::{Heads, HeadsMut};

/// Returns the elements from the first to the last of an array, and the strides of its
/// axes.
pub(super) fn full_span<'a, T: Element>(
    array: &'a PyReadonlyArrayDyn<'_, T>,
    name: &str,
) -> PyResult<(&'a [T], [usize; 4], [usize; 4])> {
    let shape = four_sizes(array.shape(), name)?;
    let steps = element_steps::<T>(array.strides(), shape, name)?;
    let last = shape
        .iter()
        .zip(steps)
        .map(|(size, step)| size.saturating_sub(1) * step);
    let length = if shape.contains(&0) {
        0
    } else {
        last.sum::<usize>() + 1
    };
    if length == 0 {
        return Ok((&[], shape, steps));
    }
    // SAFETY: all strides are positive, so the elements from the first to the last are
    // in the memory of the array. The array is borrowed for reading.
    #[expect(unsafe_code, reason = "NumPy provides no slice of an array with gaps")]
    let data = unsafe { std::slice::from_raw_parts(array.data(), length) };
    Ok((data, shape, steps))
}

/// Borrows an array as attention heads for reading.
pub(super) fn heads<'a, T: Element + seqloom_kernels::Float>(
    array: &'a PyReadonlyArrayDyn<'_, T>,
    name: &str,
) -> PyResult<Heads<'a, T>> {
    let (data, shape, [batch, head, row, column]) = full_span(array, name)?;
    if column != 1 {
        return Err(in_use(name));
    }
    Heads::new(data, shape, [batch, head, row]).ok_or_else(|| in_use(name))
}

/// Borrows an array without gaps as attention heads for writing.
pub(super) fn heads_mut<'a, T: Element + seqloom_kernels::Float>(
    array: &'a mut PyReadwriteArrayDyn<'_, T>,
    name: &str,
) -> PyResult<HeadsMut<'a, T>> {
    let shape = four_sizes(array.shape(), name)?;
    let [batch, head, row, column] = element_steps::<T>(array.strides(), shape, name)?;
    if column != 1 {
        return Err(in_use(name));
    }
    if shape.contains(&0) {
        return HeadsMut::new(&mut [], shape, [batch, head, row]).ok_or_else(|| in_use(name));
    }
    let data = array.as_array_mut();
    let data = data.into_slice_memory_order().ok_or_else(|| in_use(name))?;
    HeadsMut::new(data, shape, [batch, head, row]).ok_or_else(|| in_use(name))
}

fn four_sizes(shape: &[usize], name: &str) -> PyResult<[usize; 4]> {
    shape.try_into().map_err(|_| {
        PyValueError::new_err(format!("{name}: expected four axes, got shape {shape:?}"))
    })
}

/// Returns the strides of the axes, in elements. If NumPy's stride is arbitrary,
/// because an axis has at most one element or the array is empty, the stride is that of
/// C order.
fn element_steps<T>(strides: &[isize], shape: [usize; 4], name: &str) -> PyResult<[usize; 4]> {
    let is_empty = shape.contains(&0);
    let mut steps = [1; 4];
    for axis in (0..4).rev() {
        let whole = steps.get(axis + 1).map_or(1, |step| step * shape[axis + 1]);
        let is_free = is_empty || shape[axis] == 1;
        steps[axis] = if is_free {
            whole
        } else {
            element_step::<T>(strides[axis], name)?
        };
    }
    Ok(steps)
}

/// Returns the stride of an axis, in elements.
fn element_step<T>(stride: isize, name: &str) -> PyResult<usize> {
    let bytes = usize::try_from(stride).map_err(|_| in_use(name))?;
    if bytes % size_of::<T>() != 0 {
        return Err(in_use(name));
    }
    Ok(bytes / size_of::<T>())
}

fn in_use(name: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{name}: expected numbers side by side along the last axis, and no axis backwards; \
         numpy.ascontiguousarray makes such an array"
    ))
}
