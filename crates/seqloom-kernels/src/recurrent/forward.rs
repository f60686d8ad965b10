//! From the inputs to the states.
//!
//! Where one state of each sequence is wanted, no step after it is taken: the sequences with the
//! most steps come first, and a step multiplies the states of those that go on.

use std::marker::PhantomData;

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use super::RecurrentLayer;
use super::cell::{Cell, CellStep, Gru, Lstm};
use crate::machine::dispatch;
use crate::matrix::StridedMatrixMut;
use crate::product::{Epilogue, Matrix, Packed, Side};
use crate::{Float, Instances, parallel, tuned};

/// What a layer reads at each position.
#[derive(Clone, Copy, Debug)]
pub enum RecurrentInputs<'a, T> {
    /// What the inputs add to the gates `(batch, length, gates * width)`.
    Products(&'a [T]),
    /// The inputs. Their products are computed step by step, so that they stay in the cache.
    Values {
        /// The inputs `(batch, length, inside)`.
        values: &'a [T],
        /// Their weights `(gates * width, inside)`.
        weight: &'a [T],
        /// What is added to their products.
        bias: Option<&'a [T]>,
        /// Numbers of an input.
        inside: usize,
    },
}

/// What a layer fills.
#[derive(Debug)]
pub enum RecurrentOutputs<'a, T> {
    /// The state after each position `(batch, length, width)`; and, for a gradient, the gates and
    /// what the states add to the last of them, or the cells `(batch, length, parts * width)`.
    All(&'a mut [T], Option<&'a mut [T]>),
    /// The state after one position of each sequence `(batch, width)`.
    At(&'a [usize], &'a mut [T]),
}

/// Fills the states: gated units, or with cells long short-term memory.
#[compiled_once]
pub fn forward<T: Float>(
    layer: &RecurrentLayer<'_, T>,
    inputs: RecurrentInputs<'_, T>,
    outputs: RecurrentOutputs<'_, T>,
    threads: usize,
) {
    if layer.cells.is_some() {
        fill::<Lstm, T>(layer, inputs, outputs, threads);
    } else {
        fill::<Gru, T>(layer, inputs, outputs, threads);
    }
}

fn fill<C: Cell, T: Float>(
    layer: &RecurrentLayer<'_, T>,
    inputs: RecurrentInputs<'_, T>,
    outputs: RecurrentOutputs<'_, T>,
    threads: usize,
) {
    let by_states = layer.by_states();
    let by_inputs = match inputs {
        RecurrentInputs::Products(_) => None,
        RecurrentInputs::Values { weight, inside, .. } => {
            let columns = C::GATES * layer.width;
            Some(Matrix::contiguous(weight, [columns, inside], false))
        }
    };
    let size = by_inputs
        .as_ref()
        .map_or(0, |weight| Side::Right.size(weight));
    T::with_scratch(size + Side::Right.size(&by_states), |packed| {
        let (first, second) = packed.split_at_mut(size);
        let shared = Shared {
            layer,
            inputs,
            by_inputs: by_inputs
                .map(|weight| Packed::pack_into(Side::Right, &weight, first, threads)),
            by_states: Packed::pack_into(Side::Right, &by_states, second, threads),
        };
        match outputs {
            RecurrentOutputs::All(states, kept) => shared.fill_all::<C>(states, kept, threads),
            RecurrentOutputs::At(positions, states) => {
                shared.fill_at::<C>(positions, states, threads);
            }
        }
    });
}

/// What all runs read, with the weights packed once for all steps.
struct Shared<'a, T> {
    layer: &'a RecurrentLayer<'a, T>,
    inputs: RecurrentInputs<'a, T>,
    by_inputs: Option<Packed<'a, T>>,
    by_states: Packed<'a, T>,
}

impl<T: Float> Shared<'_, T> {
    fn fill_all<C: Cell>(&self, states: &mut [T], kept: Option<&mut [T]>, threads: usize) {
        let RecurrentLayer { length, width, .. } = *self.layer;
        let rows: Vec<usize> = (0..self.layer.states.len() / width).collect();
        let together = together(rows.len(), threads);
        let outs = states.chunks_mut(together * length * width);
        let mut kept = kept.map(|kept| kept.chunks_mut(together * length * C::KEPT * width));
        let runs = rows
            .chunks(together)
            .zip(outs)
            .map(|(rows, states)| ForwardRun {
                shared: self,
                rows,
                steps: vec![length; rows.len()],
                states,
                kept: kept.as_mut().and_then(Iterator::next),
                is_all: true,
            });
        parallel::each(runs.collect(), threads, ForwardRun::go::<C>);
    }

    fn fill_at<C: Cell>(&self, positions: &[usize], states: &mut [T], threads: usize) {
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
        let together = together(rows.len(), threads);
        let mut found = vec![T::ZERO; states.len()];
        let outs = found.chunks_mut(together * width);
        let runs = rows
            .chunks(together)
            .zip(outs)
            .map(|(rows, states)| ForwardRun {
                shared: self,
                rows,
                steps: rows.iter().map(steps).collect(),
                states,
                kept: None,
                is_all: false,
            });
        parallel::each(runs.collect(), threads, ForwardRun::go::<C>);
        for (row, found) in rows.iter().zip(found.chunks_exact(width)) {
            states[row * width..][..width].copy_from_slice(found);
        }
    }
}

fn together(rows: usize, threads: usize) -> usize {
    tuned::RECURRENT_SEQUENCES.min(rows.div_ceil(threads.max(1)).max(1))
}

/// Some sequences, those with the most steps first.
struct ForwardRun<'a, T> {
    shared: &'a Shared<'a, T>,
    rows: &'a [usize],
    /// How many steps each takes.
    steps: Vec<usize>,
    /// Their states: after each step, or after the last.
    states: &'a mut [T],
    kept: Option<&'a mut [T]>,
    is_all: bool,
}

impl<T: Float> ForwardRun<'_, T> {
    fn go<C: Cell>(mut self) {
        let (rows, width) = (self.rows.len(), self.shared.layer.width);
        let (size, gates) = (rows * width, rows * C::GATES * width);
        let (inside, products) = match self.shared.inputs {
            RecurrentInputs::Products(_) => (0, 0),
            RecurrentInputs::Values { inside, .. } => (rows * inside, gates),
        };
        let size = inside + 2 * size + products + gates + C::KEPT * width;
        T::with_scratch(size, |scratch| {
            let (inputs, rest) = scratch.split_at_mut(inside);
            let (state, rest) = rest.split_at_mut(size);
            let (cell, rest) = rest.split_at_mut(size);
            let (products, rest) = rest.split_at_mut(products);
            let (recurrent, unread) = rest.split_at_mut(gates);
            self.begin(state, cell);
            for step in 0..self.steps.first().copied().unwrap_or(0) {
                let going = self.steps.partition_point(|&steps| steps > step);
                let position = self.shared.layer.position(step);
                self.multiply_inputs::<C>((going, position), inputs, products);
                self.multiply_states::<C>(&state[..going * width], recurrent);
                let moment = Moment {
                    run: &mut self,
                    position,
                    going,
                    state,
                    cell,
                    products,
                    recurrent,
                    unread,
                };
                step_all(moment, PhantomData::<C>);
            }
            if !self.is_all {
                self.states.copy_from_slice(state);
            }
        });
    }

    /// Takes the first states and cells of the sequences.
    fn begin(&self, state: &mut [T], cell: &mut [T]) {
        let layer = self.shared.layer;
        for (number, &row) in self.rows.iter().enumerate() {
            let place = number * layer.width..(number + 1) * layer.width;
            state[place.clone()].copy_from_slice(layer.first(layer.states, row));
            if let Some(cells) = layer.cells {
                cell[place].copy_from_slice(layer.first(cells, row));
            }
        }
    }

    /// Fills what the inputs of a position add to the gates of the first sequences.
    fn multiply_inputs<C: Cell>(
        &self,
        (going, position): (usize, usize),
        inputs: &mut [T],
        out: &mut [T],
    ) {
        let RecurrentInputs::Values {
            values,
            bias,
            inside,
            ..
        } = self.shared.inputs
        else {
            return;
        };
        let (length, columns) = (self.shared.layer.length, C::GATES * self.shared.layer.width);
        for (&row, out) in self.rows[..going]
            .iter()
            .zip(inputs.chunks_exact_mut(inside))
        {
            let start = (row * length + position) * inside;
            out.copy_from_slice(&values[start..start + inside]);
        }
        if let Some(weight) = &self.shared.by_inputs {
            let rows = Matrix::contiguous(&*inputs, [going, inside], false);
            let out = StridedMatrixMut::new(out, going, columns, columns);
            weight.multiply(&rows, out, Epilogue::with_bias(bias));
        }
    }

    /// Fills what the states of the first sequences add to the gates.
    fn multiply_states<C: Cell>(&self, state: &[T], out: &mut [T]) {
        let layer = self.shared.layer;
        let (rows, columns) = (state.len() / layer.width, C::GATES * layer.width);
        let states = Matrix::contiguous(state, [rows, layer.width], false);
        let out = StridedMatrixMut::new(out, rows, columns, columns);
        let weight = &self.shared.by_states;
        weight.multiply(&states, out, Epilogue::with_bias(layer.bias));
    }
}

/// One position of the sequences that go on.
struct Moment<'a, 'b, T> {
    run: &'a mut ForwardRun<'b, T>,
    position: usize,
    going: usize,
    state: &'a mut [T],
    cell: &'a mut [T],
    products: &'a [T],
    recurrent: &'a [T],
    /// Takes what is kept for a gradient where nobody reads it.
    unread: &'a mut [T],
}

#[vectorized]
fn step_all<S: Simd, T: Float, C: Cell>(simd: S, at: Moment<'_, '_, T>, _: PhantomData<C>) {
    let Moment { run, position, .. } = at;
    let layer = run.shared.layer;
    let (width, gates, parts) = (layer.width, C::GATES * layer.width, C::KEPT * layer.width);
    for number in 0..at.going {
        let (row, place) = (run.rows[number], number * layer.length + position);
        let state = &mut at.state[number * width..][..width];
        let cell = &mut at.cell[number * width..][..width];
        let kept = run
            .kept
            .as_deref_mut()
            .map(|kept| &mut kept[place * parts..][..parts]);
        if layer.is_real(row, position) {
            let from_inputs = match run.shared.inputs {
                RecurrentInputs::Products(all) => &all[(row * layer.length + position) * gates..],
                RecurrentInputs::Values { .. } => &at.products[number * gates..],
            };
            let step = CellStep {
                from_inputs: &from_inputs[..gates],
                recurrent: &at.recurrent[number * gates..][..gates],
                state: &mut *state,
                cell,
                kept: kept.unwrap_or(at.unread),
            };
            C::step(simd, step);
        } else if let Some(kept) = kept {
            hold::<C, T>(cell, kept);
        }
        if run.is_all {
            run.states[place * width..][..width].copy_from_slice(state);
        }
    }
}

/// Keeps the cell of a position that does not count, and nothing else.
#[inline(always)]
fn hold<C: Cell, T: Float>(cell: &[T], kept: &mut [T]) {
    kept.fill(T::ZERO);
    if C::HAS_CELLS {
        let start = kept.len() - cell.len();
        kept[start..].copy_from_slice(cell);
    }
}
