//! The backward pass of recurrent layers.

use std::marker::PhantomData;

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use super::RecurrentLayer;
use super::cell::{Cell, CellStepBack, Gru, Lstm};
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::product::{Epilogue, Matrix, Panels, Side};
use crate::{Float, Instances, parallel, tuned};

/// The states of the forward pass, the values stored for the backward pass, and the
/// gradients of the states.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentResults<'a, T> {
    /// The gradient of the state after each position `(batch, length, width)`.
    pub grad: &'a [T],
    /// The state after each position `(batch, length, width)`.
    pub states: &'a [T],
    /// The values that the forward pass stored `(batch, length, parts * width)`.
    pub kept: &'a [T],
}

/// The output arrays of the backward pass.
#[derive(Debug)]
pub struct RecurrentGrads<'a, T> {
    /// The gradient of the input part of the gates `(batch, length, gates * width)`.
    pub from_inputs: &'a mut [T],
    /// The gradient of the recurrent part of the gates
    /// `(batch, length, gates * width)`. For an LSTM, this array is empty, because both
    /// parts of the gates have the same gradient.
    pub recurrent: &'a mut [T],
    /// The gradient of the initial states `(batch, width)`. On entry, this array must
    /// contain the gradient of the final states.
    pub states: &'a mut [T],
    /// The gradient of the initial cells. On entry, this array must contain the
    /// gradient of the final cells. This array is empty for a GRU.
    pub cells: &'a mut [T],
}

/// Fills the gradients of the gates and of the initial states.
#[compiled_once]
pub fn backward<T: Float>(
    layer: &RecurrentLayer<'_, T>,
    results: &RecurrentResults<'_, T>,
    grads: RecurrentGrads<'_, T>,
    threads: usize,
) {
    if layer.cells.is_some() {
        fill_gradients::<Lstm, T>(layer, results, grads, threads);
    } else {
        fill_gradients::<Gru, T>(layer, results, grads, threads);
    }
}

fn fill_gradients<C: Cell, T: Float>(
    layer: &RecurrentLayer<'_, T>,
    results: &RecurrentResults<'_, T>,
    grads: RecurrentGrads<'_, T>,
    threads: usize,
) {
    let RecurrentLayer { length, width, .. } = *layer;
    let rows = (layer.states.len() / width.max(1))
        .div_ceil(threads.max(1))
        .max(tuned::RECURRENT_GRAD_MIN_SEQUENCES);
    let gates = (rows * length * C::GATES * width).max(1);
    let (from_inputs, states) = (grads.from_inputs, grads.states);
    let mut recurrent = grads.recurrent.chunks_mut(gates);
    let mut cells = grads.cells.chunks_mut((rows * width).max(1));
    let states = states.chunks_mut((rows * width).max(1));
    let runs = from_inputs.chunks_mut(gates).zip(states).enumerate();
    let runs = runs.map(|(number, (by_inputs, by_states))| BackwardRun {
        layer,
        results,
        first: number * rows,
        by_inputs,
        by_recurrent: recurrent.next().unwrap_or_default(),
        by_states,
        by_cells: cells.next().unwrap_or_default(),
    });
    parallel::run_tasks(runs.collect(), threads, BackwardRun::run::<C>);
}

/// A range of the sequences of a batch, and their gradients.
struct BackwardRun<'a, T> {
    layer: &'a RecurrentLayer<'a, T>,
    results: &'a RecurrentResults<'a, T>,
    /// The index of the first sequence.
    first: usize,
    by_inputs: &'a mut [T],
    by_recurrent: &'a mut [T],
    by_states: &'a mut [T],
    by_cells: &'a mut [T],
}

impl<'a, T: Float> BackwardRun<'a, T> {
    fn run<C: Cell>(mut self) {
        Panels::pack(Side::Right, &self.layer.gate_weights(), |weight| {
            for step in (0..self.layer.length).rev() {
                let position = self.layer.position(step);
                step_back_sequences(&mut self, position, PhantomData::<C>);
                self.multiply_gates::<C>(weight, position);
            }
        });
    }

    /// Adds the part of the gradient of the previous states that passes through the
    /// weights.
    fn multiply_gates<C: Cell>(&mut self, weight: &Panels<'_, T>, position: usize) {
        let RecurrentLayer { width, length, .. } = *self.layer;
        let (rows, gates) = (self.by_states.len() / width, C::GATES * width);
        let by_gates = if C::HAS_CELLS {
            &self.by_inputs[position * gates..]
        } else {
            &self.by_recurrent[position * gates..]
        };
        let by_gates = Matrix {
            values: by_gates,
            lines: rows,
            k: gates,
            line_step: length * gates,
            k_step: 1,
        };
        let epilogue = Epilogue {
            adds: true,
            ..Epilogue::new()
        };
        let out = MatrixMut::new(self.by_states, rows, width, width);
        weight.multiply(&by_gates, out, epilogue);
    }

    /// Returns the state or the cell of a sequence before a position.
    fn previous_state<C: Cell>(&self, row: usize, position: usize) -> &'a [T] {
        let (layer, row) = (self.layer, self.first + row);
        let Some(before) = layer.previous_position(position) else {
            return layer.initial_state(layer.cells.unwrap_or(layer.states), row);
        };
        let (width, place) = (layer.width, row * layer.length + before);
        if C::HAS_CELLS {
            let end = (place + 1) * C::STORED_VECTORS * width;
            &self.results.kept[end - width..end]
        } else {
            &self.results.states[place * width..][..width]
        }
    }
}

#[vectorized]
fn step_back_sequences<S: Simd, T: Float, C: Cell>(
    simd: S,
    run: &mut BackwardRun<'_, T>,
    position: usize,
    _: PhantomData<C>,
) {
    let RecurrentLayer { width, length, .. } = *run.layer;
    for row in 0..run.by_states.len() / width {
        let number = (run.first + row) * length + position;
        let grad = &run.results.grad[number * width..][..width];
        let by_state = &mut run.by_states[row * width..][..width];
        by_state
            .iter_mut()
            .zip(grad)
            .for_each(|(sum, &grad)| *sum += grad);
        step_back::<S, T, C>(simd, run, (row, position));
    }
}

/// Computes the backward pass of one position of one sequence.
#[inline(always)]
fn step_back<S: Simd, T: Float, C: Cell>(
    simd: S,
    run: &mut BackwardRun<'_, T>,
    (row, position): (usize, usize),
) {
    let RecurrentLayer { width, length, .. } = *run.layer;
    let (gates, parts) = (C::GATES * width, C::STORED_VECTORS * width);
    let place = (row * length + position) * gates;
    let is_apart = !C::HAS_CELLS;
    if !run.layer.is_unmasked(run.first + row, position) {
        run.by_inputs[place..][..gates].fill(T::ZERO);
        if is_apart {
            run.by_recurrent[place..][..gates].fill(T::ZERO);
        }
        return;
    }
    let number = (run.first + row) * length + position;
    let before = run.previous_state::<C>(row, position);
    let cells = if C::HAS_CELLS { width } else { 0 };
    let (start, apart) = if is_apart { (place, gates) } else { (0, 0) };
    let step = CellStepBack {
        kept: &run.results.kept[number * parts..][..parts],
        before,
        by_state: &mut run.by_states[row * width..][..width],
        by_cell: &mut run.by_cells[row * cells..][..cells],
        by_inputs: &mut run.by_inputs[place..][..gates],
        by_recurrent: &mut run.by_recurrent[start..][..apart],
    };
    C::step_back(simd, step);
}
