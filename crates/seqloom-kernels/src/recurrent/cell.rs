//! The two kinds of cells: what happens at one position of one sequence.

use std::ops::Range;

use pulp::Simd;

use crate::lanes::Lanes;
use crate::{Float, special};

/// Numbers of one position: what the cell reads and writes there.
pub(super) struct CellStep<'a, T> {
    /// What the inputs add to the gates.
    pub(super) from_inputs: &'a [T],
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
pub(super) struct CellStepBack<'a, T> {
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
    pub(super) by_inputs: &'a mut [T],
    /// The gradient by what the states add, where it is another one.
    pub(super) by_recurrent: &'a mut [T],
}

/// A kind of layer.
pub(super) trait Cell: Copy + Sync {
    /// Gates, each as wide as the state.
    const GATES: usize;
    /// Parts that are kept of a step, each as wide as the state.
    const KEPT: usize;
    /// Whether the inputs and the states add to all gates alike, and there are cells.
    const HAS_CELLS: bool;

    /// Goes on by one position.
    fn step<S: Simd, T: Float>(simd: S, step: CellStep<'_, T>);

    /// Goes back by one position.
    fn step_back<S: Simd, T: Float>(simd: S, step: CellStepBack<'_, T>);
}

/// Gated units, in torch's order of gates: reset, update, new (Cho et al. 2014).
#[derive(Clone, Copy, Debug)]
pub(super) struct Gru;

impl Cell for Gru {
    const GATES: usize = 3;
    const KEPT: usize = 4;
    const HAS_CELLS: bool = false;

    #[inline(always)]
    fn step<S: Simd, T: Float>(simd: S, step: CellStep<'_, T>) {
        let width = step.state.len();
        for range in ranges::<S, T>(width) {
            let at = StateRange { width, range };
            let reset = special::sigmoid(at.sum(simd, &step, 0));
            let update = special::sigmoid(at.sum(simd, &step, 1));
            let of_state = at.load(simd, step.recurrent, 2);
            let new = special::tanh(reset.mul_add(of_state, at.load(simd, step.from_inputs, 2)));
            let state = at.load(simd, step.state, 0);
            let next = update.mul_add(state - new, new);
            at.store(next, step.state, 0);
            for (part, kept) in [reset, update, new, of_state].into_iter().enumerate() {
                at.store(kept, step.kept, part);
            }
        }
    }

    #[inline(always)]
    fn step_back<S: Simd, T: Float>(simd: S, step: CellStepBack<'_, T>) {
        let width = step.by_state.len();
        for range in ranges::<S, T>(width) {
            let at = StateRange { width, range };
            let [reset, update, new, of_state] = at.load_four(simd, step.kept);
            let one = new.like(T::ONE);
            let by_next = at.load(simd, step.by_state, 0);
            let by_new = by_next * (one - update) * (one - new * new);
            let before = at.load(simd, step.before, 0);
            let by_update = by_next * (before - new) * update * (one - update);
            let by_of_state = by_new * reset;
            let by_reset = by_new * of_state * reset * (one - reset);
            at.store(by_next * update, step.by_state, 0);
            for (part, by_gate) in [by_reset, by_update, by_new].into_iter().enumerate() {
                at.store(by_gate, step.by_inputs, part);
            }
            for (part, by_gate) in [by_reset, by_update, by_of_state].into_iter().enumerate() {
                at.store(by_gate, step.by_recurrent, part);
            }
        }
    }
}

/// Long short-term memory, in torch's order of gates: input, forget, cell, output
/// (Hochreiter and Schmidhuber 1997).
#[derive(Clone, Copy, Debug)]
pub(super) struct Lstm;

impl Cell for Lstm {
    const GATES: usize = 4;
    const KEPT: usize = 5;
    const HAS_CELLS: bool = true;

    #[inline(always)]
    fn step<S: Simd, T: Float>(simd: S, step: CellStep<'_, T>) {
        let width = step.state.len();
        for range in ranges::<S, T>(width) {
            let at = StateRange { width, range };
            let input = special::sigmoid(at.sum(simd, &step, 0));
            let forget = special::sigmoid(at.sum(simd, &step, 1));
            let new = special::tanh(at.sum(simd, &step, 2));
            let output = special::sigmoid(at.sum(simd, &step, 3));
            let cell = forget.mul_add(at.load(simd, step.cell, 0), input * new);
            at.store(cell, step.cell, 0);
            at.store(output * special::tanh(cell), step.state, 0);
            for (part, kept) in [input, forget, new, output, cell].into_iter().enumerate() {
                at.store(kept, step.kept, part);
            }
        }
    }

    #[inline(always)]
    fn step_back<S: Simd, T: Float>(simd: S, step: CellStepBack<'_, T>) {
        let width = step.by_state.len();
        for range in ranges::<S, T>(width) {
            let at = StateRange { width, range };
            let [input, forget, new, output] = at.load_four(simd, step.kept);
            let one = new.like(T::ONE);
            let shown = special::tanh(at.load(simd, step.kept, 4));
            let by_state = at.load(simd, step.by_state, 0);
            let by_shown = by_state * output * (one - shown * shown);
            let by_cell = at.load(simd, step.by_cell, 0) + by_shown;
            let by_gates = [
                by_cell * new * input * (one - input),
                by_cell * at.load(simd, step.before, 0) * forget * (one - forget),
                by_cell * input * (one - new * new),
                by_state * shown * output * (one - output),
            ];
            at.store(by_cell * forget, step.by_cell, 0);
            at.store(one.like(T::ZERO), step.by_state, 0);
            for (part, by_gate) in by_gates.into_iter().enumerate() {
                at.store(by_gate, step.by_inputs, part);
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

/// Some numbers of each of several parts that lie side by side. Its methods are functions,
/// not closures, because only those are inlined whatever they are called with.
struct StateRange {
    width: usize,
    range: Range<usize>,
}

impl StateRange {
    #[inline(always)]
    fn load<S: Simd, T: Float>(&self, simd: S, from: &[T], part: usize) -> Lanes<S, T> {
        Lanes::splat(simd, T::ZERO).load(&from[self.place(part)])
    }

    #[inline(always)]
    fn load_four<S: Simd, T: Float>(&self, simd: S, from: &[T]) -> [Lanes<S, T>; 4] {
        [
            self.load(simd, from, 0),
            self.load(simd, from, 1),
            self.load(simd, from, 2),
            self.load(simd, from, 3),
        ]
    }

    /// What the inputs and the states add to a gate.
    #[inline(always)]
    fn sum<S: Simd, T: Float>(&self, simd: S, step: &CellStep<'_, T>, part: usize) -> Lanes<S, T> {
        self.load(simd, step.from_inputs, part) + self.load(simd, step.recurrent, part)
    }

    #[inline(always)]
    fn store<S: Simd, T: Float>(&self, values: Lanes<S, T>, to: &mut [T], part: usize) {
        values.store(&mut to[self.place(part)]);
    }

    #[inline(always)]
    fn place(&self, part: usize) -> Range<usize> {
        part * self.width + self.range.start..part * self.width + self.range.end
    }
}
