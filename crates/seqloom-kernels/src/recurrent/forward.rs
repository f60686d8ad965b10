//! From the inputs to every state.

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use super::cell::{Cell, Gru, Lstm, Step};
use super::{Layer, share};
use crate::machine::dispatch;
use crate::matrix::MatrixMut;
use crate::product::{Goal, KeptFactor, Matrix};
use crate::{Float, Instances, parallel};

/// What a layer fills.
#[derive(Debug)]
pub struct Outputs<'a, T> {
    /// The state after each position `(batch, length, width)`.
    pub states: &'a mut [T],
    /// What the gradient reads `(batch, length, parts * width)`: gates, and what the states
    /// add to the last of them, or the cells.
    pub kept: &'a mut [T],
}

/// What a layer reads beside its weights and first states.
#[derive(Clone, Copy, Debug)]
pub struct Sums<'a, T> {
    /// What the inputs add to the gates `(batch, length, gates * width)`.
    pub seen: &'a [T],
    /// What is added to what the states add.
    pub bias: Option<&'a [T]>,
}

/// Fills every state.
pub fn forward<C: Cell, T: Float>(
    _: C,
    layer: &Layer<'_, T>,
    sums: Sums<'_, T>,
    outputs: Outputs<'_, T>,
    threads: usize,
) {
    forward_of(C::HAS_CELLS, layer, sums, outputs, threads);
}

#[compiled_once]
fn forward_of<T: Float>(
    has_cells: bool,
    layer: &Layer<'_, T>,
    sums: Sums<'_, T>,
    outputs: Outputs<'_, T>,
    threads: usize,
) {
    if has_cells {
        fill::<Lstm, T>(layer, sums, outputs, threads);
    } else {
        fill::<Gru, T>(layer, sums, outputs, threads);
    }
}

fn fill<C: Cell, T: Float>(
    layer: &Layer<'_, T>,
    sums: Sums<'_, T>,
    outputs: Outputs<'_, T>,
    threads: usize,
) {
    let Layer { length, width, .. } = *layer;
    let rows = share(layer.states.len() / width.max(1), threads);
    let sizes = (rows * length * width, rows * length * C::KEPT * width);
    let outs = (outputs.states, outputs.kept);
    parallel::chunk_pairs(outs, sizes, threads, |number, states, kept| {
        let run = Run {
            layer,
            sums,
            first: number * rows,
            states,
            kept,
        };
        run.go::<C>();
    });
}

/// Some sequences of a batch.
struct Run<'a, T> {
    layer: &'a Layer<'a, T>,
    sums: Sums<'a, T>,
    /// The number of the first of them.
    first: usize,
    states: &'a mut [T],
    kept: &'a mut [T],
}

impl<T: Float> Run<'_, T> {
    fn go<C: Cell>(mut self) {
        let layer = self.layer;
        let rows = self.states.len() / (layer.length * layer.width).max(1);
        let size = rows * layer.width;
        KeptFactor::pack(&layer.by_states(), |weight| {
            T::with_scratch((2 + C::GATES) * size, |scratch| {
                let (state, rest) = scratch.split_at_mut(size);
                let (cell, recurrent) = rest.split_at_mut(size);
                let firsts = self.first * layer.width..self.first * layer.width + size;
                state.copy_from_slice(&layer.states[firsts.clone()]);
                if C::HAS_CELLS {
                    cell.copy_from_slice(&layer.cells[firsts]);
                }
                for position in layer.order() {
                    self.multiply::<C>(weight, state, recurrent);
                    step_all(
                        Moment {
                            run: &mut self,
                            position,
                            state,
                            cell,
                            recurrent,
                        },
                        std::marker::PhantomData::<C>,
                    );
                }
            });
        });
    }

    /// Fills what the states add to the gates.
    fn multiply<C: Cell>(&self, weight: &KeptFactor<'_, T>, state: &[T], out: &mut [T]) {
        let width = self.layer.width;
        let (rows, columns) = (state.len() / width, C::GATES * width);
        let states = Matrix {
            values: state,
            lines: rows,
            depth: width,
            line_step: width,
            depth_step: 1,
        };
        let goal = Goal {
            bias: self.sums.bias,
            ..Goal::new()
        };
        weight.multiply(&states, MatrixMut::new(out, rows, columns, columns), goal);
    }
}

/// One position of all sequences of a run.
struct Moment<'a, 'b, T> {
    run: &'a mut Run<'b, T>,
    position: usize,
    state: &'a mut [T],
    cell: &'a mut [T],
    recurrent: &'a [T],
}

#[vectorized]
fn step_all<S: Simd, T: Float, C: Cell>(
    simd: S,
    at: Moment<'_, '_, T>,
    _: std::marker::PhantomData<C>,
) {
    let Moment { run, position, .. } = at;
    let (layer, gates) = (run.layer, C::GATES * run.layer.width);
    let (width, parts) = (layer.width, C::KEPT * layer.width);
    let states = at.state.chunks_exact_mut(width);
    let cells = at.cell.chunks_exact_mut(width);
    for (row, (state, cell)) in states.zip(cells).enumerate() {
        let place = row * layer.length + position;
        let kept = &mut run.kept[place * parts..][..parts];
        if layer.is_real(run.first + row, position) {
            let number = (run.first + row) * layer.length + position;
            let step = Step {
                seen: &run.sums.seen[number * gates..][..gates],
                recurrent: &at.recurrent[row * gates..][..gates],
                state: &mut *state,
                cell,
                kept,
            };
            C::step(simd, step);
        } else {
            hold::<C, T>(cell, kept);
        }
        run.states[place * width..][..width].copy_from_slice(state);
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
