//! From the inputs to the states that somebody reads, and nothing for a gradient.
//!
//! What inputs add to the gates is computed step by step, so that it stays in the cache.
//! Where one state of each sequence is read, no step after it is taken: those that end in
//! the same step are neighbours, and a step multiplies those that go on.

use std::marker::PhantomData;

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use super::Layer;
use super::cell::{Cell, Gru, Lstm, Step};
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::product::{Goal, KeptFactor, Matrix};
use crate::{Float, Instances, parallel};

/// What a layer reads at each position, with its weights.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, T> {
    /// The inputs `(batch, length, inside)`.
    pub values: &'a [T],
    /// Their weights `(gates * width, inside)`.
    pub weight: &'a [T],
    /// What is added to what they add.
    pub bias: Option<&'a [T]>,
    /// What is added to what the states add.
    pub bias_of_states: Option<&'a [T]>,
    /// Numbers of an input.
    pub inside: usize,
}

/// The states that are wanted.
#[derive(Debug)]
pub enum Wanted<'a, T> {
    /// Those after each position `(batch, length, width)`.
    All(&'a mut [T]),
    /// That after one position of each sequence `(batch, width)`.
    At(&'a [usize], &'a mut [T]),
}

/// Fills the wanted states: the bits of [`forward`](super::forward).
pub fn infer<C: Cell, T: Float>(
    _: C,
    layer: &Layer<'_, T>,
    inputs: &Inputs<'_, T>,
    wanted: Wanted<'_, T>,
    threads: usize,
) {
    infer_of(C::HAS_CELLS, layer, inputs, wanted, threads);
}

#[compiled_once]
fn infer_of<T: Float>(
    has_cells: bool,
    layer: &Layer<'_, T>,
    inputs: &Inputs<'_, T>,
    wanted: Wanted<'_, T>,
    threads: usize,
) {
    if has_cells {
        fill::<Lstm, T>(layer, inputs, wanted, threads);
    } else {
        fill::<Gru, T>(layer, inputs, wanted, threads);
    }
}

fn fill<C: Cell, T: Float>(
    layer: &Layer<'_, T>,
    inputs: &Inputs<'_, T>,
    wanted: Wanted<'_, T>,
    threads: usize,
) {
    let by_inputs = by_inputs(inputs);
    let by_states = layer.by_states();
    let sizes = [&by_inputs, &by_states].map(KeptFactor::room);
    T::with_scratch(sizes[0] + sizes[1], |packed| {
        let (first, second) = packed.split_at_mut(sizes[0]);
        let weights = Weights {
            inputs: KeptFactor::pack_into(&by_inputs, first, threads),
            states: KeptFactor::pack_into(&by_states, second, threads),
        };
        let shared = Shared {
            layer,
            inputs,
            weights: &weights,
            of: PhantomData::<fn() -> C>,
        };
        match wanted {
            Wanted::All(states) => fill_all(shared, states, threads),
            Wanted::At(positions, states) => fill_at(shared, positions, states, threads),
        }
    });
}

/// The weights, packed once for all steps.
struct Weights<'a, T> {
    inputs: KeptFactor<'a, T>,
    states: KeptFactor<'a, T>,
}

/// What all runs read.
struct Shared<'a, T, C> {
    layer: &'a Layer<'a, T>,
    inputs: &'a Inputs<'a, T>,
    weights: &'a Weights<'a, T>,
    of: PhantomData<fn() -> C>,
}

impl<T, C> Clone for Shared<'_, T, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, C> Copy for Shared<'_, T, C> {}

/// Sequences that go through their steps together: what they add to the gates stays in the
/// second-level cache.
const TOGETHER: usize = 48;

fn fill_all<C: Cell, T: Float>(shared: Shared<'_, T, C>, states: &mut [T], threads: usize) {
    let Layer { length, width, .. } = *shared.layer;
    let batch = shared.layer.states.len() / width;
    let together = TOGETHER.min(batch.div_ceil(threads.max(1)).max(1));
    let rows = (0..batch).collect::<Vec<_>>();
    let outs = states.chunks_mut(together * length * width);
    let runs = rows.chunks(together).zip(outs).map(|(rows, out)| Run {
        shared,
        rows,
        steps: vec![length; rows.len()],
        out,
        is_all: true,
    });
    parallel::each(runs.collect(), threads, Run::go);
}

fn fill_at<C: Cell, T: Float>(
    shared: Shared<'_, T, C>,
    positions: &[usize],
    states: &mut [T],
    threads: usize,
) {
    let Layer { length, width, .. } = *shared.layer;
    let steps = |row: &usize| {
        let position = positions[*row];
        if shared.layer.reverse {
            length - position
        } else {
            position + 1
        }
    };
    let mut rows = (0..positions.len()).collect::<Vec<_>>();
    rows.sort_by_key(|row| std::cmp::Reverse(steps(row)));
    let together = TOGETHER.min(rows.len().div_ceil(threads.max(1)).max(1));
    let mut found = vec![T::ZERO; states.len()];
    let outs = found.chunks_mut(together * width);
    let runs = rows.chunks(together).zip(outs).map(|(rows, out)| Run {
        shared,
        rows,
        steps: rows.iter().map(steps).collect(),
        out,
        is_all: false,
    });
    parallel::each(runs.collect(), threads, Run::go);
    for (row, found) in rows.iter().zip(found.chunks_exact(width)) {
        states[row * width..][..width].copy_from_slice(found);
    }
}

/// Some sequences, those with the most steps first.
struct Run<'a, T, C> {
    shared: Shared<'a, T, C>,
    rows: &'a [usize],
    /// How many steps each takes.
    steps: Vec<usize>,
    /// Their states: after each step, or after the last.
    out: &'a mut [T],
    is_all: bool,
}

impl<T: Float, C: Cell> Run<'_, T, C> {
    fn go(mut self) {
        let (width, inside) = (self.shared.layer.width, self.shared.inputs.inside);
        let size = self.rows.len() * width;
        let gates = C::GATES * size;
        let room = self.rows.len() * inside + 2 * size + 2 * gates + C::KEPT * width;
        T::with_scratch(room, |scratch| {
            let (inputs, rest) = scratch.split_at_mut(self.rows.len() * inside);
            let (state, rest) = rest.split_at_mut(size);
            let (cell, rest) = rest.split_at_mut(size);
            let (seen, rest) = rest.split_at_mut(gates);
            let (recurrent, kept) = rest.split_at_mut(gates);
            self.begin(state, cell);
            let most = self.steps.first().copied().unwrap_or(0);
            for step in 0..most {
                let going = self.steps.partition_point(|&steps| steps > step);
                let position = self.position(step);
                self.read(position, &mut inputs[..going * inside]);
                self.multiply(going, inputs, state, (seen, recurrent));
                let moment = Moment::<T, C> {
                    run: &mut self,
                    position,
                    going,
                    state,
                    cell,
                    seen,
                    recurrent,
                    kept,
                };
                step_all(moment);
            }
            if !self.is_all {
                self.out.copy_from_slice(state);
            }
        });
    }

    fn position(&self, step: usize) -> usize {
        let layer = self.shared.layer;
        if layer.reverse {
            layer.length - 1 - step
        } else {
            step
        }
    }

    /// Takes the first states and cells of the sequences.
    fn begin(&self, state: &mut [T], cell: &mut [T]) {
        let layer = self.shared.layer;
        let width = layer.width;
        for (number, &row) in self.rows.iter().enumerate() {
            let place = number * width..(number + 1) * width;
            state[place.clone()].copy_from_slice(layer.first(layer.states, row));
            if C::HAS_CELLS {
                cell[place].copy_from_slice(layer.first(layer.cells, row));
            }
        }
    }

    /// Takes the inputs of a position.
    fn read(&self, position: usize, out: &mut [T]) {
        let (length, inside) = (self.shared.layer.length, self.shared.inputs.inside);
        for (&row, out) in self.rows.iter().zip(out.chunks_exact_mut(inside)) {
            let start = (row * length + position) * inside;
            out.copy_from_slice(&self.shared.inputs.values[start..start + inside]);
        }
    }

    /// Fills what the inputs and the states of the first sequences add to the gates.
    fn multiply(
        &self,
        going: usize,
        inputs: &[T],
        state: &[T],
        (seen, recurrent): (&mut [T], &mut [T]),
    ) {
        let given = self.shared.inputs;
        let width = self.shared.layer.width;
        let columns = C::GATES * width;
        let goal = |bias| Goal {
            bias,
            ..Goal::new()
        };
        let seen = MatrixMut::new(seen, going, columns, columns);
        let weights = self.shared.weights;
        let rows = Matrix::plain(inputs, [going, given.inside], false);
        weights.inputs.multiply(&rows, seen, goal(given.bias));
        let recurrent = MatrixMut::new(recurrent, going, columns, columns);
        let rows = Matrix::plain(state, [going, width], false);
        weights
            .states
            .multiply(&rows, recurrent, goal(given.bias_of_states));
    }
}

/// One position of the sequences that go on.
struct Moment<'a, 'b, T, C> {
    run: &'a mut Run<'b, T, C>,
    position: usize,
    going: usize,
    state: &'a mut [T],
    cell: &'a mut [T],
    seen: &'a [T],
    recurrent: &'a [T],
    /// Room for what a gradient would read.
    kept: &'a mut [T],
}

#[vectorized]
fn step_all<S: Simd, T: Float, C: Cell>(simd: S, at: Moment<'_, '_, T, C>) {
    let layer = at.run.shared.layer;
    let (width, gates) = (layer.width, C::GATES * layer.width);
    for number in 0..at.going {
        let state = &mut at.state[number * width..][..width];
        if layer.is_real(at.run.rows[number], at.position) {
            let step = Step {
                seen: &at.seen[number * gates..][..gates],
                recurrent: &at.recurrent[number * gates..][..gates],
                state: &mut *state,
                cell: &mut at.cell[number * width..][..width],
                kept: &mut *at.kept,
            };
            C::step(simd, step);
        }
        if at.run.is_all {
            let place = number * layer.length + at.position;
            at.run.out[place * width..][..width].copy_from_slice(state);
        }
    }
}

/// The weights of the inputs, as a right factor.
fn by_inputs<'a, T>(inputs: &Inputs<'a, T>) -> Matrix<'a, T> {
    let count = inputs.weight.len() / inputs.inside.max(1);
    Matrix::plain(inputs.weight, [count, inputs.inside], false)
}
