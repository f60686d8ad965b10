//! Broadcasting of shapes, and the strides of broadcast arrays.

use seqloom_core::{Error, Result};

/// Extends `shape` so that an array of shape `own` broadcasts to it.
///
/// # Errors
///
/// Returns an error if the shapes do not broadcast.
pub fn broadcast_shape(shape: &mut Vec<usize>, own: &[usize]) -> Result<()> {
    while shape.len() < own.len() {
        shape.insert(0, 1);
    }
    let ahead = shape.len() - own.len();
    for (size, &mine) in shape[ahead..].iter_mut().zip(own) {
        match (*size, mine) {
            (1, _) => *size = mine,
            (_, 1) => {}
            (size, mine) if size == mine => {}
            (size, mine) => {
                let message = format!("shapes do not broadcast: {size} and {mine}");
                return Err(Error::argument(message));
            }
        }
    }
    Ok(())
}

/// Returns the strides of an array that is broadcast to `shape`.
pub fn broadcast_strides(shape: &[usize], own: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut steps = vec![0; shape.len()];
    let ahead = shape.len() - own.len();
    for ((step, &size), &stride) in steps[ahead..].iter_mut().zip(own).zip(strides) {
        *step = if size == 1 { 0 } else { stride };
    }
    steps
}

/// Returns the strides of a contiguous array of `shape` without the reduced axes; the
/// stride of a reduced axis is 0.
pub fn contiguous_strides(shape: &[usize], folded: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1;
    for axis in (0..shape.len()).rev() {
        if !folded.contains(&axis) {
            strides[axis] = step;
            step *= shape[axis];
        }
    }
    strides
}
