//! One step of a GRU or an LSTM, for one sequence.

use std::ops::Range;

use pulp::Simd;

use crate::{Float, lanes::Lanes, special};

/// The arrays that one step of the forward pass reads and writes for one sequence.
pub(super) struct CellStep<'a, T> {
    /// The part of the gates that is computed from the input.
    pub(super) from_inputs: &'a [T],
    /// The part of the gates that is computed from the previous state.
    pub(super) recurrent: &'a [T],
    /// The state, which the step updates in place.
    pub(super) state: &'a mut [T],
    /// The cell of an LSTM, which the step updates in place; empty for a GRU.
    pub(super) cell: &'a mut [T],
    /// The values to store for the backward pass.
    pub(super) kept: &'a mut [T],
}

/// The arrays that one step of the backward pass reads and writes for one sequence.
pub(super) struct CellStepBack<'a, T> {
    /// The values that the forward pass stored.
    pub(super) kept: &'a [T],
    /// The previous state, or the previous cell for LSTM.
    pub(super) before: &'a [T],
    /// The gradient of the state. The step replaces this gradient by the gradient of
    /// the previous state, without the part that passes through the weights.
    pub(super) by_state: &'a mut [T],
    /// The gradient of the cell. The step replaces this gradient by the gradient of the
    /// previous cell. This array is empty for a GRU.
    pub(super) by_cell: &'a mut [T],
    /// The gradient of the input part of the gates.
    pub(super) by_inputs: &'a mut [T],
    /// The gradient of the recurrent part of the gates, if it differs from the gradient
    /// of the input part.
    pub(super) by_recurrent: &'a mut [T],
}

/// A type of recurrent layer: GRU or LSTM.
pub(super) trait Cell: Copy + Sync {
    /// The number of gates. Each gate of a layer is as wide as the state.
    const GATES: usize;
    /// The number of vectors stored for each step. Each stored vector is as wide as the
    /// state.
    const STORED_VECTORS: usize;
    /// True for LSTM: the layer has cells, and every gate adds its input part and its
    /// recurrent part.
    const HAS_CELLS: bool;

    /// Computes one step of the forward pass.
    fn step<S: Simd, T: Float>(simd: S, step: CellStep<'_, T>);

    /// Computes one step of the backward pass.
    fn step_back<S: Simd, T: Float>(simd: S, step: CellStepBack<'_, T>);
}

/// Gated recurrent units (Cho and others, 2014), with the gates in the order of
/// PyTorch: reset, update, new.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gru;

impl Cell for Gru {
    const GATES: usize = 3;
    const STORED_VECTORS: usize = 4;
    const HAS_CELLS: bool = false;

    #[inline(always)]
    fn step<S: Simd, T: Float>(simd: S, step: CellStep<'_, T>) {
        let width = step.state.len();
        for range in lane_ranges::<S, T>(width) {
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
        for range in lane_ranges::<S, T>(width) {
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

/// Long short-term memory (Hochreiter and Schmidhuber 1997), with the gates in the
/// order of PyTorch: input, forget, cell, output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lstm;

impl Cell for Lstm {
    const GATES: usize = 4;
    const STORED_VECTORS: usize = 5;
    const HAS_CELLS: bool = true;

    #[inline(always)]
    fn step<S: Simd, T: Float>(simd: S, step: CellStep<'_, T>) {
        let width = step.state.len();
        for range in lane_ranges::<S, T>(width) {
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
        for range in lane_ranges::<S, T>(width) {
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

/// Splits a state into ranges of one register each. The last range may be shorter.
#[inline(always)]
fn lane_ranges<S: Simd, T: Float>(width: usize) -> impl Iterator<Item = Range<usize>> {
    let lanes = Lanes::<S, T>::COUNT;
    (0..width)
        .step_by(lanes)
        .map(move |start| start..width.min(start + lanes))
}

/// A range of elements, which selects the same elements of the state and of each gate.
/// The range is a struct with methods, because closures are not always inlined.
struct StateRange {
    width: usize,
    range: Range<usize>,
}

impl StateRange {
    #[inline(always)]
    fn load<S: Simd, T: Float>(&self, simd: S, from: &[T], part: usize) -> Lanes<S, T> {
        Lanes::splat(simd, T::ZERO).load(&from[self.part_range(part)])
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

    /// Returns the sum of the input part and the recurrent part of a gate.
    #[inline(always)]
    fn sum<S: Simd, T: Float>(&self, simd: S, step: &CellStep<'_, T>, part: usize) -> Lanes<S, T> {
        self.load(simd, step.from_inputs, part) + self.load(simd, step.recurrent, part)
    }

    #[inline(always)]
    fn store<S: Simd, T: Float>(&self, values: Lanes<S, T>, to: &mut [T], part: usize) {
        values.store(&mut to[self.part_range(part)]);
    }

    #[inline(always)]
    fn part_range(&self, part: usize) -> Range<usize> {
        part * self.width + self.range.start..part * self.width + self.range.end
    }
}
