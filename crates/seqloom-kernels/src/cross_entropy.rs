//! Cross entropy and its gradient, in one pass over the logits.

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use crate::{Float, Instances, machine::dispatch, parallel, softmax};

/// Rows of logits, the class of each row, and the class weights.
#[derive(Clone, Copy, Debug)]
pub struct Logits<'a, T> {
    /// The logits `(batch, classes)`.
    pub logits: &'a [T],
    /// The class of each row; the caller must check that every class exists.
    pub labels: &'a [i64],
    /// The weight of each class, or `None` for equal weights.
    pub weights: Option<&'a [T]>,
    /// The number of classes, at least 1.
    pub classes: usize,
}

/// Fills the loss of each row, `-weight * log(probability of its class)`, and the
/// gradient of its logits.
#[compiled_once]
pub fn cross_entropy<T: Float>(
    problem: Logits<'_, T>,
    loss: &mut [T],
    grad: &mut [T],
    threads: usize,
) {
    let classes = problem.classes;
    let rows = parallel::rows_per_chunk(classes);
    let sizes = (rows, rows * classes);
    parallel::fill_pairs((loss, grad), sizes, threads, |number, loss, grad| {
        let first = number * rows;
        for (number, (loss, grad)) in (first..).zip(loss.iter_mut().zip(grad.chunks_mut(classes))) {
            *loss = fill_row(problem, number, grad);
        }
    });
}

/// Fills the gradient of the logits of a row, and returns the loss.
#[vectorized]
fn fill_row<S: Simd, T: Float>(simd: S, rows: Logits<'_, T>, row: usize, grad: &mut [T]) -> T {
    let logits = &rows.logits[row * rows.classes..][..grad.len()];
    let label = usize::try_from(rows.labels[row]).unwrap_or(usize::MAX);
    let weight = rows.weights.map_or(T::ONE, |weights| weights[label]);
    let (highest, total) = softmax::row_exponentials(simd, logits, grad);
    let share = weight / total;
    for value in &mut *grad {
        *value = *value * share;
    }
    grad[label] = grad[label] - weight;
    weight * (total.ln() - (logits[label] - highest))
}
