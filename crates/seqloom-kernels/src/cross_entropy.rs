//! The loss of a classifier and its gradient, in one pass over the logits.

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use crate::machine::dispatch;
use crate::{Float, Instances, parallel, softmax};

/// What is to be judged: rows of logits, the class of each, and the weight of a class.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a, T> {
    /// `(batch, classes)`.
    pub logits: &'a [T],
    /// A class per row; the caller has checked that each is one.
    pub labels: &'a [i64],
    /// One per class, or none for ones.
    pub weights: Option<&'a [T]>,
    /// The number of classes, which is not zero.
    pub classes: usize,
}

/// Fills each row's loss, `-weight * log(probability of its class)`, and what it is
/// differentiated by the row's logits.
#[compiled_once]
pub fn cross_entropy<T: Float>(
    problem: Problem<'_, T>,
    loss: &mut [T],
    grad: &mut [T],
    threads: usize,
) {
    let classes = problem.classes;
    let rows = parallel::rows_per_chunk(classes);
    let sizes = (rows, rows * classes);
    parallel::chunk_pairs((loss, grad), sizes, threads, |number, loss, grad| {
        let first = number * rows;
        for (number, (loss, grad)) in (first..).zip(loss.iter_mut().zip(grad.chunks_mut(classes))) {
            *loss = row(problem, number, grad);
        }
    });
}

/// Fills a row's gradient; gives its loss.
#[vectorized]
fn row<S: Simd, T: Float>(simd: S, problem: Problem<'_, T>, number: usize, grad: &mut [T]) -> T {
    let logits = &problem.logits[number * problem.classes..][..grad.len()];
    let label = usize::try_from(problem.labels[number]).unwrap_or(usize::MAX);
    let weight = problem.weights.map_or(T::ONE, |weights| weights[label]);
    let (highest, total) = softmax::exponentials(simd, logits, grad);
    let share = weight / total;
    for value in &mut *grad {
        *value = *value * share;
    }
    grad[label] = grad[label] - weight;
    weight * (total.ln() - (logits[label] - highest))
}
