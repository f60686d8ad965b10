//! The loss of a classifier and its gradient, in one pass over the logits.

use pulp::{Simd, WithSimd};

use crate::{Float, machine, parallel, softmax};

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
            *loss = machine::dispatch(Row {
                problem,
                number,
                grad,
            });
        }
    });
}

struct Row<'a, T> {
    problem: Problem<'a, T>,
    number: usize,
    grad: &'a mut [T],
}

impl<T: Float> WithSimd for Row<'_, T> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> T {
        let logits = &self.problem.logits[self.number * self.problem.classes..][..self.grad.len()];
        let label = usize::try_from(self.problem.labels[self.number]).unwrap_or(usize::MAX);
        let weight = self
            .problem
            .weights
            .map_or(T::ONE, |weights| weights[label]);
        let (highest, total) = softmax::exponentials(simd, logits, self.grad);
        let share = weight / total;
        self.grad
            .iter_mut()
            .for_each(|value| *value = *value * share);
        self.grad[label] = self.grad[label] - weight;
        weight * (total.ln() - (logits[label] - highest))
    }
}
