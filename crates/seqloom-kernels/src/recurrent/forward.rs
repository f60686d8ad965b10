//! The forward pass of recurrent layers.
//!
//! If the caller needs only one state of each sequence, the steps after that state are
//! skipped. Sequences are sorted by their number of steps, longest first, so that each
//! step multiplies only the states of unfinished sequences.

use std::{marker::PhantomData, ops::Range};

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use super::RecurrentLayer;
use super::cell::{Cell, CellStep, Gru, Lstm};
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::product::{Epilogue, Matrix, Panels, Side};
use crate::{Float, Instances, parallel, tuned};

/// The inputs and input weights of a recurrent layer. The input part of the gates is
/// computed step by step, so that it remains in the cache.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentInputs<'a, T> {
    /// The inputs `(batch, length, features)`.
    pub x: &'a [T],
    /// The weights of the inputs `(gates * width, features)`.
    pub weight: &'a [T],
    /// The bias of the inputs.
    pub bias: Option<&'a [T]>,
    /// The number of features of the input at a position.
    pub features: usize,
}

/// The output arrays of a recurrent layer.
#[derive(Debug)]
pub enum RecurrentOutputs<'a, T> {
    /// The state after each position `(batch, length, width)`. The optional second
    /// array stores the values for the backward pass `(batch, length, parts * width)`.
    /// For a GRU, the stored values are the three gates and the recurrent part of the
    /// new gate. For an LSTM, the stored values are the four gates and the cell.
    All(&'a mut [T], Option<&'a mut [T]>),
    /// One position of each sequence, and the state after this position
    /// `(batch, width)`.
    At(&'a [usize], &'a mut [T]),
}

/// Computes the forward pass: an LSTM if the layer has cells, otherwise a GRU.
///
/// # Panics
///
/// Panics if the length, the width or the number of features is 0, or if a position is
/// outside its sequence.
#[compiled_once]
pub fn forward<T: Float>(
    layer: &RecurrentLayer<'_, T>,
    inputs: RecurrentInputs<'_, T>,
    outputs: RecurrentOutputs<'_, T>,
    threads: usize,
) {
    if layer.cells.is_some() {
        fill_states::<Lstm, T>(layer, inputs, outputs, threads);
    } else {
        fill_states::<Gru, T>(layer, inputs, outputs, threads);
    }
}

fn fill_states<C: Cell, T: Float>(
    layer: &RecurrentLayer<'_, T>,
    inputs: RecurrentInputs<'_, T>,
    outputs: RecurrentOutputs<'_, T>,
    threads: usize,
) {
    let columns = C::GATES * layer.width;
    let by_inputs = Matrix::from_slice(inputs.weight, [columns, inputs.features], false);
    let by_states = layer.state_weights();
    let sizes = [&by_inputs, &by_states].map(|weight| Side::Right.packed_size(weight));
    T::with_scratch(sizes[0] + sizes[1], |packed| {
        let (first, second) = packed.split_at_mut(sizes[0]);
        let shared = PackedLayer {
            layer,
            inputs,
            by_inputs: Panels::pack_into(Side::Right, &by_inputs, first, threads),
            by_states: Panels::pack_into(Side::Right, &by_states, second, threads),
        };
        match outputs {
            RecurrentOutputs::All(states, kept) => shared.fill_states::<C>(states, kept, threads),
            RecurrentOutputs::At(positions, states) => {
                shared.fill_positions::<C>(positions, states, threads);
            }
        }
    });
}

/// The inputs and packed weights of a layer, which all threads read.
struct PackedLayer<'a, T> {
    layer: &'a RecurrentLayer<'a, T>,
    inputs: RecurrentInputs<'a, T>,
    by_inputs: Panels<'a, T>,
    by_states: Panels<'a, T>,
}

impl<T: Float> PackedLayer<'_, T> {
    fn fill_states<C: Cell>(&self, states: &mut [T], kept: Option<&mut [T]>, threads: usize) {
        let RecurrentLayer { length, width, .. } = *self.layer;
        let rows: Vec<usize> = (0..self.layer.states.len() / width).collect();
        let group = group_size(rows.len(), threads);
        let outs = states.chunks_mut(group * length * width);
        let mut kept = kept.map(|kept| kept.chunks_mut(group * length * C::STORED_VECTORS * width));
        let runs = rows
            .chunks(group)
            .zip(outs)
            .map(|(rows, states)| ForwardRun {
                shared: self,
                rows,
                steps: vec![length; rows.len()],
                states,
                kept: kept.as_mut().and_then(Iterator::next),
                is_all: true,
            });
        parallel::run_tasks(runs.collect(), threads, ForwardRun::run::<C>);
    }

    fn fill_positions<C: Cell>(&self, positions: &[usize], states: &mut [T], threads: usize) {
        let RecurrentLayer { length, width, .. } = *self.layer;
        let steps = |row: &usize| {
            let position = positions[*row];
            if self.layer.reverse {
                length - position
            } else {
                position + 1
            }
        };
        let mut rows: Vec<usize> = (0..positions.len()).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(steps(row)));
        let group = group_size(rows.len(), threads);
        let mut sorted_states = vec![T::ZERO; states.len()];
        let outs = sorted_states.chunks_mut(group * width);
        let runs = rows
            .chunks(group)
            .zip(outs)
            .map(|(rows, states)| ForwardRun {
                shared: self,
                rows,
                steps: rows.iter().map(steps).collect(),
                states,
                kept: None,
                is_all: false,
            });
        parallel::run_tasks(runs.collect(), threads, ForwardRun::run::<C>);
        for (row, sorted_states) in rows.iter().zip(sorted_states.chunks_exact(width)) {
            states[row * width..][..width].copy_from_slice(sorted_states);
        }
    }
}

/// The number of sequences that are computed together, step by step.
fn group_size(rows: usize, threads: usize) -> usize {
    tuned::RECURRENT_BLOCK_SEQUENCES.min(rows.div_ceil(threads.max(1)).max(1))
}

/// A group of sequences, sorted by their number of steps, longest first.
struct ForwardRun<'a, T> {
    shared: &'a PackedLayer<'a, T>,
    rows: &'a [usize],
    /// The number of steps of each sequence.
    steps: Vec<usize>,
    /// The memory for all states if `is_all` is true, or for the last state of each
    /// sequence if it is false.
    states: &'a mut [T],
    kept: Option<&'a mut [T]>,
    is_all: bool,
}

impl<T: Float> ForwardRun<'_, T> {
    /// Computes all steps of the sequences. If there are few sequences, the inputs of
    /// several steps are multiplied together.
    fn run<C: Cell>(mut self) {
        let (rows, width) = (self.rows.len(), self.shared.layer.width);
        let (size, gates) = (rows * width, C::GATES * width);
        let block = (tuned::RECURRENT_BLOCK_SEQUENCES / rows).max(1);
        let features = block * rows * self.shared.inputs.features;
        let total = features + 2 * size + (block + 1) * rows * gates + C::STORED_VECTORS * width;
        T::with_scratch(total, |scratch| {
            let (inputs, rest) = scratch.split_at_mut(features);
            let (state, rest) = rest.split_at_mut(size);
            let (cell, rest) = rest.split_at_mut(size);
            let (input_gates, rest) = rest.split_at_mut(block * rows * gates);
            let (state_gates, discarded) = rest.split_at_mut(rows * gates);
            self.load_first_states(state, cell);
            let all = self.steps.first().copied().unwrap_or(0);
            let mut block_rows = 0;
            for step in 0..all {
                let active = self.steps.partition_point(|&steps| steps > step);
                if step % block == 0 {
                    block_rows = active;
                    let steps = step..all.min(step + block);
                    self.multiply_inputs::<C>(steps, active, inputs, input_gates);
                }
                self.multiply_states::<C>(&state[..active * width], state_gates);
                let step = RecurrentStep {
                    position: self.shared.layer.position(step),
                    run: &mut self,
                    active,
                    state,
                    cell,
                    input_gates: &input_gates[step % block * block_rows * gates..],
                    state_gates,
                    discarded,
                };
                run_step(step, PhantomData::<C>);
            }
            if !self.is_all {
                self.states.copy_from_slice(state);
            }
        });
    }

    /// Copies the initial states and cells.
    fn load_first_states(&self, state: &mut [T], cell: &mut [T]) {
        let layer = self.shared.layer;
        for (number, &row) in self.rows.iter().enumerate() {
            let place = number * layer.width..(number + 1) * layer.width;
            state[place.clone()].copy_from_slice(layer.initial_state(layer.states, row));
            if let Some(cells) = layer.cells {
                cell[place].copy_from_slice(layer.initial_state(cells, row));
            }
        }
    }

    /// Computes the input part of the gates of the unfinished sequences for some steps.
    fn multiply_inputs<C: Cell>(
        &self,
        steps: Range<usize>,
        active: usize,
        inputs: &mut [T],
        out: &mut [T],
    ) {
        let PackedLayer { layer, .. } = self.shared;
        let RecurrentInputs {
            x, bias, features, ..
        } = self.shared.inputs;
        let (rows, columns) = (steps.len() * active, C::GATES * layer.width);
        let positions = steps.map(|step| layer.position(step));
        let active = &self.rows[..active];
        let each = positions.flat_map(|position| active.iter().map(move |row| (row, position)));
        for ((row, position), out) in each.zip(inputs.chunks_exact_mut(features)) {
            let start = (row * layer.length + position) * features;
            out.copy_from_slice(&x[start..start + features]);
        }
        let inputs = Matrix::from_slice(&*inputs, [rows, features], false);
        let out = MatrixMut::new(out, rows, columns, columns);
        let weight = &self.shared.by_inputs;
        weight.multiply(&inputs, out, Epilogue::with_bias(bias));
    }

    /// Computes the recurrent part of the gates of the unfinished sequences.
    fn multiply_states<C: Cell>(&self, state: &[T], out: &mut [T]) {
        let layer = self.shared.layer;
        let (rows, columns) = (state.len() / layer.width, C::GATES * layer.width);
        let states = Matrix::from_slice(state, [rows, layer.width], false);
        let out = MatrixMut::new(out, rows, columns, columns);
        let weight = &self.shared.by_states;
        weight.multiply(&states, out, Epilogue::with_bias(layer.bias));
    }
}

/// One step of the unfinished sequences.
struct RecurrentStep<'a, 'b, T> {
    run: &'a mut ForwardRun<'b, T>,
    position: usize,
    active: usize,
    state: &'a mut [T],
    cell: &'a mut [T],
    input_gates: &'a [T],
    state_gates: &'a [T],
    /// Scratch memory for the values of the backward pass, used if the caller does not
    /// request these values.
    discarded: &'a mut [T],
}

#[vectorized]
fn run_step<S: Simd, T: Float, C: Cell>(simd: S, at: RecurrentStep<'_, '_, T>, _: PhantomData<C>) {
    let RecurrentStep { run, position, .. } = at;
    let layer = run.shared.layer;
    let (width, gates, parts) = (
        layer.width,
        C::GATES * layer.width,
        C::STORED_VECTORS * layer.width,
    );
    for number in 0..at.active {
        let (row, place) = (run.rows[number], number * layer.length + position);
        let state = &mut at.state[number * width..][..width];
        let cell = &mut at.cell[number * width..][..width];
        let kept = run
            .kept
            .as_deref_mut()
            .map(|kept| &mut kept[place * parts..][..parts]);
        if layer.is_unmasked(row, position) {
            let step = CellStep {
                from_inputs: &at.input_gates[number * gates..][..gates],
                recurrent: &at.state_gates[number * gates..][..gates],
                state: &mut *state,
                cell,
                kept: kept.unwrap_or(at.discarded),
            };
            C::step(simd, step);
        } else if let Some(kept) = kept {
            keep_masked_cell::<C, T>(cell, kept);
        }
        if run.is_all {
            run.states[place * width..][..width].copy_from_slice(state);
        }
    }
}

/// Stores the cell of a masked position for the backward pass, and zeros for the gates.
#[inline(always)]
fn keep_masked_cell<C: Cell, T: Float>(cell: &[T], kept: &mut [T]) {
    kept.fill(T::ZERO);
    if C::HAS_CELLS {
        let start = kept.len() - cell.len();
        kept[start..].copy_from_slice(cell);
    }
}
