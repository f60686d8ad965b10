//! The task of a model, which determines how outputs are converted to scores.

use seqloom_core::{Error, Result};
use seqloom_graph::{Task, TaskName};

/// Converts rows of outputs to scores. As in Python, scores are computed in double
/// precision and rounded once.
pub(crate) fn activate(task: &Task, outputs: &mut [f32], columns: usize) -> Result<()> {
    if !task.columns.is_empty() && task.columns.len() != columns {
        return Err(Error::argument(format!(
            "the graph has {columns} outputs for each record, but the task has {} columns",
            task.columns.len()
        )));
    }
    let mut wide = Vec::with_capacity(columns);
    for row in outputs.chunks_exact_mut(columns.max(1)) {
        match task.name {
            TaskName::Classify => softmax(row, &mut wide),
            TaskName::Multilabel => row.iter_mut().for_each(|it| *it = sigmoid(*it)),
            TaskName::Regress => scale(row, task),
            TaskName::Custom => {}
        }
    }
    Ok(())
}

fn softmax(row: &mut [f32], powers: &mut Vec<f64>) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, max_or_nan);
    powers.clear();
    powers.extend(
        row.iter()
            .map(|it| (f64::from(*it) - f64::from(largest)).exp()),
    );
    let sum = sum_pairwise(powers);
    for (score, power) in row.iter_mut().zip(powers) {
        *score = to_f32(*power / sum);
    }
}

/// Returns the larger of two numbers, or NaN if one of them is NaN.
fn max_or_nan(one: f32, other: f32) -> f32 {
    if one.is_nan() || one > other {
        one
    } else {
        other
    }
}

fn sigmoid(output: f32) -> f32 {
    let wide = f64::from(output);
    let power = (-wide.abs()).exp(); // a power of at most 1 cannot overflow
    let above = if wide < 0.0 { power } else { 1.0 };
    to_f32(above / (1.0 + power))
}

fn scale(row: &mut [f32], task: &Task) {
    let factors = task.deviation.iter().zip(&task.mean);
    for (value, (deviation, mean)) in row.iter_mut().zip(factors) {
        *value = to_f32(f64::from(*value) * deviation + mean);
    }
}

/// The minimum array length for which NumPy computes a sum as eight partial sums.
const PAIRWISE_LANES: usize = 8;
/// The array length above which NumPy splits a sum into two halves.
const PAIRWISE_BLOCK: usize = 128;

/// Sums numbers in the same order as NumPy, so that the last bits are equal.
fn sum_pairwise(numbers: &[f64]) -> f64 {
    if numbers.len() > PAIRWISE_BLOCK {
        let half = numbers.len() / 2;
        let (one, other) = numbers.split_at(half - half % PAIRWISE_LANES);
        return sum_pairwise(one) + sum_pairwise(other);
    }
    let (eights, rest) = numbers.as_chunks::<PAIRWISE_LANES>();
    let Some((first, others)) = eights.split_first() else {
        return rest.iter().fold(0.0, |sum, number| sum + number);
    };
    let add = |sums: [f64; PAIRWISE_LANES], more: &[f64; PAIRWISE_LANES]| {
        std::array::from_fn(|lane| sums[lane] + more[lane])
    };
    let sums = others.iter().fold(*first, add);
    let pairs = |at: usize| (sums[at] + sums[at + 1]) + (sums[at + 2] + sums[at + 3]);
    let sum = pairs(0) + pairs(4);
    rest.iter().fold(sum, |sum, number| sum + number)
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to nearest")]
fn to_f32(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the test compares bits")]
mod tests {
    use super::*;

    fn task(name: TaskName, columns: usize) -> Task {
        Task {
            name,
            columns: (0..columns).map(|column| column.to_string()).collect(),
            mean: vec![0.5; columns],
            deviation: vec![0.1; columns],
        }
    }

    #[test]
    fn equal_outputs_have_equal_probabilities() {
        let mut outputs = [3.0, 3.0, -1e30, -1e30];
        activate(&task(TaskName::Classify, 2), &mut outputs, 2).unwrap();
        assert_eq!(outputs, [0.5; 4]);
    }

    #[test]
    fn a_nan_output_makes_all_probabilities_of_its_row_nan() {
        let mut outputs = [f32::NAN, 1.0, 0.0, 0.0];
        activate(&task(TaskName::Classify, 2), &mut outputs, 2).unwrap();
        assert!(outputs[0].is_nan() && outputs[1].is_nan());
        assert_eq!(outputs[2..], [0.5, 0.5]);
    }

    #[test]
    fn sigmoid_does_not_overflow_for_any_output() {
        let mut outputs = [0.0, 1e30, -1e30];
        activate(&task(TaskName::Multilabel, 3), &mut outputs, 3).unwrap();
        assert_eq!(outputs, [0.5, 1.0, 0.0]);
    }

    #[test]
    fn a_regression_is_scaled_to_the_units_of_the_labels() {
        let mut outputs = [1.0];
        activate(&task(TaskName::Regress, 1), &mut outputs, 1).unwrap();
        assert_eq!(outputs, [0.6]);
    }

    #[test]
    fn a_wrong_number_of_outputs_is_an_error() {
        let error = activate(&task(TaskName::Custom, 2), &mut [0.0; 3], 3).unwrap_err();
        assert!(error.to_string().contains("3 outputs"));
    }

    #[test]
    fn a_long_sum_equals_the_sum_of_its_halves() {
        let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(sum_pairwise(&numbers), 499_500.0);
        assert_eq!(sum_pairwise(&numbers[..20]), 190.0);
    }
}
