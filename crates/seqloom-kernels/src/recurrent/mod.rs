//! Recurrent layers (GRU and LSTM) that process a batch of sequences in one direction,
//! and their gradients.
//!
//! A thread computes all positions of its sequences without waiting for other threads.
//! Weights are packed once for all steps.
//!
//! Masked positions do not change the state.

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

/// One direction of a recurrent layer, and its initial states.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentLayer<'a, T> {
    /// The initial states `(batch, width)`.
    pub states: &'a [T],
    /// The initial cells `(batch, width)` of an LSTM; `None` for a GRU.
    pub cells: Option<&'a [T]>,
    /// The recurrent weights `(gates * width, width)`.
    pub weight: &'a [T],
    /// The recurrent bias.
    pub bias: Option<&'a [T]>,
    /// The mask `(batch, length)`, true at unmasked positions, or `None` if no position
    /// is masked.
    pub mask: Option<&'a [bool]>,
    /// The number of positions of a sequence.
    pub length: usize,
    /// The width of a state.
    pub width: usize,
    /// If true, the layer starts at the last position.
    pub reverse: bool,
}

/// Returns the number of gates of a layer, each as wide as the state.
pub fn gate_count(has_cells: bool) -> usize {
    if has_cells { Lstm::GATES } else { Gru::GATES }
}

/// Returns the number of vectors that each step stores for the backward pass. Each
/// stored vector is as wide as the state.
pub fn stored_parts(has_cells: bool) -> usize {
    if has_cells {
        Lstm::STORED_VECTORS
    } else {
        Gru::STORED_VECTORS
    }
}

impl<'a, T: Float> RecurrentLayer<'a, T> {
    /// Returns the position that the layer processes in a step.
    fn position(&self, step: usize) -> usize {
        if self.reverse {
            self.length - 1 - step
        } else {
            step
        }
    }

    /// Returns the position of the previous step, or `None` for the first step.
    fn previous_position(&self, position: usize) -> Option<usize> {
        if self.reverse {
            (position + 1 < self.length).then_some(position + 1)
        } else {
            position.checked_sub(1)
        }
    }

    fn is_unmasked(&self, row: usize, position: usize) -> bool {
        self.mask
            .is_none_or(|mask| mask[row * self.length + position])
    }

    /// Returns the initial state, or the initial cell, of a sequence.
    fn initial_state(&self, firsts: &'a [T], row: usize) -> &'a [T] {
        &firsts[row * self.width..][..self.width]
    }

    /// Returns the recurrent weights as a right matrix, to be multiplied with states.
    fn state_weights(&self) -> Matrix<'a, T> {
        Matrix {
            values: self.weight,
            lines: self.weight.len() / self.width,
            k: self.width,
            line_step: self.width,
            k_step: 1,
        }
    }

    /// Returns the recurrent weights as a right matrix, to be multiplied with gradients
    /// of the gates.
    fn gate_weights(&self) -> Matrix<'a, T> {
        Matrix {
            values: self.weight,
            lines: self.width,
            k: self.weight.len() / self.width,
            line_step: 1,
            k_step: self.width,
        }
    }
}
