//! Shapes that broadcast, and the strides of arrays over them.

use seqloom_core::{Error, Result};

/// Extends `shape` so that `own` broadcasts to it.
///
/// # Errors
///
/// If the shapes do not broadcast.
pub fn broadcast(shape: &mut Vec<usize>, own: &[usize]) -> Result<()> {
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

/// The strides of an array as it is broadcast to `shape`.
pub fn broadcast_strides(shape: &[usize], own: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut steps = vec![0; shape.len()];
    let ahead = shape.len() - own.len();
    for ((step, &size), &stride) in steps[ahead..].iter_mut().zip(own).zip(strides) {
        *step = if size == 1 { 0 } else { stride };
    }
    steps
}

/// The strides of an array of `shape` in order, without the axes that are folded.
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
