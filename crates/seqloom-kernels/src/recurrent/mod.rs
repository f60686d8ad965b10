//! Recurrent layers: one direction over a batch of sequences, and its gradient.
//!
//! What the inputs add to the gates is one product, which the caller makes before. The loop
//! over time is what is done here: a thread takes some sequences through all their positions,
//! and waits for no other thread. The weights of the states are packed once for all steps.
//!
//! A position that a mask hides leaves the state as it is.

mod backward;
mod cell;
mod forward;
mod infer;
#[cfg(test)]
mod tests;

use crate::Float;
use crate::product::Matrix;

pub use backward::{Answers, Grads, backward};
pub use cell::{Cell, Gru, Lstm};
pub use forward::{Outputs, Sums, forward};
pub use infer::{Inputs, Wanted, infer};

/// One direction of a layer, and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a, T> {
    /// The first states `(batch, width)`.
    pub states: &'a [T],
    /// The first cells `(batch, width)`, or nothing where the layer has none.
    pub cells: &'a [T],
    /// The weights of the states `(gates * width, width)`.
    pub weight: &'a [T],
    /// Which positions are real `(batch, length)`; none for all.
    pub mask: Option<&'a [bool]>,
    /// Positions of a sequence.
    pub length: usize,
    /// Numbers of a state.
    pub width: usize,
    /// Whether it begins at the last position.
    pub reverse: bool,
}

impl<'a, T: Float> Layer<'a, T> {
    /// The positions in the order of time.
    fn order(&self) -> impl DoubleEndedIterator<Item = usize> + use<T> {
        let (length, reverse) = (self.length, self.reverse);
        (0..length).map(move |step| if reverse { length - 1 - step } else { step })
    }

    /// The position before, in the order of time.
    fn before(&self, position: usize) -> Option<usize> {
        if self.reverse {
            (position + 1 < self.length).then_some(position + 1)
        } else {
            position.checked_sub(1)
        }
    }

    fn is_real(&self, row: usize, position: usize) -> bool {
        self.mask
            .is_none_or(|mask| mask[row * self.length + position])
    }

    /// The first state, or cell, of a sequence.
    fn first(&self, firsts: &'a [T], row: usize) -> &'a [T] {
        &firsts[row * self.width..][..self.width]
    }

    /// The weights, as the right factor of states.
    fn by_states(&self) -> Matrix<'a, T> {
        Matrix {
            values: self.weight,
            lines: self.weight.len() / self.width,
            depth: self.width,
            line_step: self.width,
            depth_step: 1,
        }
    }

    /// The weights, as the right factor of gradients by the gates.
    fn by_gates(&self) -> Matrix<'a, T> {
        Matrix {
            values: self.weight,
            lines: self.width,
            depth: self.weight.len() / self.width,
            line_step: 1,
            depth_step: self.width,
        }
    }
}

/// How many sequences a thread takes: all of them the same number, at least a tile's.
fn share(batch: usize, threads: usize) -> usize {
    batch.div_ceil(threads.max(1)).max(LEAST)
}

/// Sequences that are not worth another thread, which would pack the weights again.
const LEAST: usize = 4;
