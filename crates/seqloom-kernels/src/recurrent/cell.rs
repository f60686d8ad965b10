//! The two kinds of cells: what happens at one position of one sequence.

use std::ops::Range;

use pulp::Simd;

use crate::lanes::Lanes;
use crate::{Float, special};

/// Numbers of one position: what the cell reads and writes there.
pub struct Step<'a, T> {
    /// What the inputs add to the gates.
    pub(super) seen: &'a [T],
    /// What the states add to the gates.
    pub(super) recurrent: &'a [T],
    /// The state, which becomes the next one.
    pub(super) state: &'a mut [T],
    /// The cell, which becomes the next one, or nothing.
    pub(super) cell: &'a mut [T],
    /// What is kept for the gradient.
    pub(super) kept: &'a mut [T],
}

/// Numbers of one position on the way back.
pub struct StepBack<'a, T> {
    /// What was kept.
    pub(super) kept: &'a [T],
    /// The state before, or the cell before where there are cells.
    pub(super) before: &'a [T],
    /// The gradient by the state; it becomes the part of the gradient by the state before
    /// that does not go through the weights.
    pub(super) by_state: &'a mut [T],
    /// The gradient by the cell, which becomes that by the cell before, or nothing.
    pub(super) by_cell: &'a mut [T],
    /// The gradient by what the inputs add to the gates.
    pub(super) by_seen: &'a mut [T],
    /// The gradient by what the states add, where it is another one.
    pub(super) by_recurrent: &'a mut [T],
}

/// A kind of layer.
pub trait Cell: Copy + Sync {
    /// Gates, each as wide as the state.
    const GATES: usize;
    /// Parts that are kept of a step, each as wide as the state.
    const KEPT: usize;
    /// Whether the inputs and the states add to all gates alike, and there are cells.
    const HAS_CELLS: bool;

    /// Goes on by one position.
    fn step<S: Simd, T: Float>(simd: S, step: Step<'_, T>);

    /// Goes back by one position.
    fn step_back<S: Simd, T: Float>(simd: S, step: StepBack<'_, T>);
}

/// Gated units, in torch's order of gates: reset, update, new (Cho et al. 2014).
#[derive(Clone, Copy, Debug)]
pub struct Gru;

impl Cell for Gru {
    const GATES: usize = 3;
    const KEPT: usize = 4;
    const HAS_CELLS: bool = false;

    #[inline(always)]
    fn step<S: Simd, T: Float>(simd: S, step: Step<'_, T>) {
        let width = step.state.len();
        for range in ranges::<S, T>(width) {
            let read = |from: &[T], part| load(simd, from, part, width, &range);
            let (seen, recurrent) = (step.seen, step.recurrent);
            let reset = special::sigmoid(read(seen, 0) + read(recurrent, 0));
            let update = special::sigmoid(read(seen, 1) + read(recurrent, 1));
            let of_state = read(recurrent, 2);
            let new = special::tanh(reset.mul_add(of_state, read(seen, 2)));
            let state = read(step.state, 0);
            let next = update.mul_add(state - new, new);
            store(next, step.state, 0, width, &range);
            for (part, kept) in [reset, update, new, of_state].into_iter().enumerate() {
                store(kept, step.kept, part, width, &range);
            }
        }
    }

    #[inline(always)]
    fn step_back<S: Simd, T: Float>(simd: S, step: StepBack<'_, T>) {
        let width = step.by_state.len();
        for range in ranges::<S, T>(width) {
            let read = |from: &[T], part| load(simd, from, part, width, &range);
            let [reset, update, new, of_state] = [0, 1, 2, 3].map(|part| read(step.kept, part));
            let one = new.like(T::ONE);
            let by_next = read(step.by_state, 0);
            let by_new = by_next * (one - update) * (one - new * new);
            let by_update = by_next * (read(step.before, 0) - new) * update * (one - update);
            let by_of_state = by_new * reset;
            let by_reset = by_new * of_state * reset * (one - reset);
            store(by_next * update, step.by_state, 0, width, &range);
            for (part, by_gate) in [by_reset, by_update, by_new].into_iter().enumerate() {
                store(by_gate, step.by_seen, part, width, &range);
            }
            for (part, by_gate) in [by_reset, by_update, by_of_state].into_iter().enumerate() {
                store(by_gate, step.by_recurrent, part, width, &range);
            }
        }
    }
}

/// Long short-term memory, in torch's order of gates: input, forget, cell, output
/// (Hochreiter and Schmidhuber 1997).
#[derive(Clone, Copy, Debug)]
pub struct Lstm;

impl Cell for Lstm {
    const GATES: usize = 4;
    const KEPT: usize = 5;
    const HAS_CELLS: bool = true;

    #[inline(always)]
    fn step<S: Simd, T: Float>(simd: S, step: Step<'_, T>) {
        let width = step.state.len();
        for range in ranges::<S, T>(width) {
            let read = |from: &[T], part| load(simd, from, part, width, &range);
            let gate = |part| read(step.seen, part) + read(step.recurrent, part);
            let (input, forget) = (special::sigmoid(gate(0)), special::sigmoid(gate(1)));
            let (new, output) = (special::tanh(gate(2)), special::sigmoid(gate(3)));
            let cell = forget.mul_add(read(step.cell, 0), input * new);
            store(cell, step.cell, 0, width, &range);
            store(output * special::tanh(cell), step.state, 0, width, &range);
            for (part, kept) in [input, forget, new, output, cell].into_iter().enumerate() {
                store(kept, step.kept, part, width, &range);
            }
        }
    }

    #[inline(always)]
    fn step_back<S: Simd, T: Float>(simd: S, step: StepBack<'_, T>) {
        let width = step.by_state.len();
        for range in ranges::<S, T>(width) {
            let read = |from: &[T], part| load(simd, from, part, width, &range);
            let [input, forget, new, output] = [0, 1, 2, 3].map(|part| read(step.kept, part));
            let (one, shown) = (new.like(T::ONE), special::tanh(read(step.kept, 4)));
            let by_state = read(step.by_state, 0);
            let by_shown = by_state * output * (one - shown * shown);
            let by_cell = read(step.by_cell, 0) + by_shown;
            let by_gates = [
                by_cell * new * input * (one - input),
                by_cell * read(step.before, 0) * forget * (one - forget),
                by_cell * input * (one - new * new),
                by_state * shown * output * (one - output),
            ];
            store(by_cell * forget, step.by_cell, 0, width, &range);
            store(one.like(T::ZERO), step.by_state, 0, width, &range);
            for (part, by_gate) in by_gates.into_iter().enumerate() {
                store(by_gate, step.by_seen, part, width, &range);
            }
        }
    }
}

/// Cuts a state into registers; the last may be filled in part.
#[inline(always)]
fn ranges<S: Simd, T: Float>(width: usize) -> impl Iterator<Item = Range<usize>> {
    let lanes = Lanes::<S, T>::COUNT;
    (0..width)
        .step_by(lanes)
        .map(move |start| start..width.min(start + lanes))
}

/// Numbers of one part of several that lie side by side.
#[inline(always)]
fn load<S: Simd, T: Float>(
    simd: S,
    from: &[T],
    part: usize,
    width: usize,
    range: &Range<usize>,
) -> Lanes<S, T> {
    let zero = Lanes::splat(simd, T::ZERO);
    zero.load(&from[part * width + range.start..part * width + range.end])
}

#[inline(always)]
fn store<S: Simd, T: Float>(
    values: Lanes<S, T>,
    to: &mut [T],
    part: usize,
    width: usize,
    range: &Range<usize>,
) {
    values.store(&mut to[part * width + range.start..part * width + range.end]);
}
