//! Recurrent layers: one direction over a batch of sequences, and its gradient.
//!
//! A thread takes some sequences through all their positions, and waits for no other thread. The
//! weights are packed once for all steps.
//!
//! A position that a mask hides leaves the state as it is.

mod backward;
mod cell;
mod forward;
#[cfg(test)]
mod tests;

use crate::Float;
use crate::product::Matrix;
use cell::{Cell, Gru, Lstm};

pub use backward::{RecurrentGrads, RecurrentResults, backward};
pub use forward::{RecurrentInputs, RecurrentOutputs, forward};

/// One direction of a layer, and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentLayer<'a, T> {
    /// The first states `(batch, width)`.
    pub states: &'a [T],
    /// The first cells `(batch, width)` of long short-term memory; gated units have none.
    pub cells: Option<&'a [T]>,
    /// The weights of the states `(gates * width, width)`.
    pub weight: &'a [T],
    /// What is added to the products of the states.
    pub bias: Option<&'a [T]>,
    /// Which positions are real `(batch, length)`; none for all.
    pub mask: Option<&'a [bool]>,
    /// Positions of a sequence.
    pub length: usize,
    /// Numbers of a state.
    pub width: usize,
    /// Whether it begins at the last position.
    pub reverse: bool,
}

/// Gates of a layer, each as wide as the state.
pub fn gates(has_cells: bool) -> usize {
    if has_cells { Lstm::GATES } else { Gru::GATES }
}

/// Parts that are kept of a step for a gradient, each as wide as the state.
pub fn kept(has_cells: bool) -> usize {
    if has_cells { Lstm::KEPT } else { Gru::KEPT }
}

impl<'a, T: Float> RecurrentLayer<'a, T> {
    /// The position of a step.
    fn position(&self, step: usize) -> usize {
        if self.reverse {
            self.length - 1 - step
        } else {
            step
        }
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
            k: self.width,
            line_step: self.width,
            k_step: 1,
        }
    }

    /// The weights, as the right factor of gradients by the gates.
    fn by_gates(&self) -> Matrix<'a, T> {
        Matrix {
            values: self.weight,
            lines: self.width,
            k: self.weight.len() / self.width,
            line_step: 1,
            k_step: self.width,
        }
    }
}
