//! What a model's outputs mean: from outputs to what a person reads.

use seqloom_core::{Error, Result};
use seqloom_graph::{Task, TaskName};

/// Turns rows of outputs into scores, in float64 and rounded once, as Python does.
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
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, larger);
    powers.clear();
    powers.extend(
        row.iter()
            .map(|it| (f64::from(*it) - f64::from(largest)).exp()),
    );
    let sum = sum_pairwise(powers);
    for (score, power) in row.iter_mut().zip(powers) {
        *score = single(*power / sum);
    }
}

/// The larger of two numbers; what is no number wins.
fn larger(one: f32, other: f32) -> f32 {
    if one.is_nan() || one > other {
        one
    } else {
        other
    }
}

fn sigmoid(output: f32) -> f32 {
    let wide = f64::from(output);
    let power = (-wide.abs()).exp(); // at most 1: no output is too large
    let above = if wide < 0.0 { power } else { 1.0 };
    single(above / (1.0 + power))
}

fn scale(row: &mut [f32], task: &Task) {
    let factors = task.deviation.iter().zip(&task.mean);
    for (value, (deviation, mean)) in row.iter_mut().zip(factors) {
        *value = single(f64::from(*value) * deviation + mean);
    }
}

/// From so many numbers on, eight sums run side by side.
const LANES: usize = 8;
/// More numbers are cut into halves.
const BLOCK: usize = 128;

/// Adds numbers in the order of NumPy's sum, so that the last bits agree.
fn sum_pairwise(numbers: &[f64]) -> f64 {
    if numbers.len() > BLOCK {
        let half = numbers.len() / 2;
        let (one, other) = numbers.split_at(half - half % LANES);
        return sum_pairwise(one) + sum_pairwise(other);
    }
    let (eights, rest) = numbers.as_chunks::<LANES>();
    let Some((first, others)) = eights.split_first() else {
        return rest.iter().fold(0.0, |sum, number| sum + number);
    };
    let add = |sums: [f64; LANES], more: &[f64; LANES]| {
        std::array::from_fn(|lane| sums[lane] + more[lane])
    };
    let sums = others.iter().fold(*first, add);
    let pairs = |at: usize| (sums[at] + sums[at + 1]) + (sums[at + 2] + sums[at + 3]);
    let sum = pairs(0) + pairs(4);
    rest.iter().fold(sum, |sum, number| sum + number)
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
fn single(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the bits are the claim")]
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
    fn equal_outputs_are_equally_likely() {
        let mut outputs = [3.0, 3.0, -1e30, -1e30];
        activate(&task(TaskName::Classify, 2), &mut outputs, 2).unwrap();
        assert_eq!(outputs, [0.5; 4]);
    }

    #[test]
    fn what_is_no_number_makes_its_row_none() {
        let mut outputs = [f32::NAN, 1.0, 0.0, 0.0];
        activate(&task(TaskName::Classify, 2), &mut outputs, 2).unwrap();
        assert!(outputs[0].is_nan() && outputs[1].is_nan());
        assert_eq!(outputs[2..], [0.5, 0.5]);
    }

    #[test]
    fn no_output_is_too_large_for_a_sigmoid() {
        let mut outputs = [0.0, 1e30, -1e30];
        activate(&task(TaskName::Multilabel, 3), &mut outputs, 3).unwrap();
        assert_eq!(outputs, [0.5, 1.0, 0.0]);
    }

    #[test]
    fn a_regression_comes_back_to_the_labels_units() {
        let mut outputs = [1.0];
        activate(&task(TaskName::Regress, 1), &mut outputs, 1).unwrap();
        assert_eq!(outputs, [0.6]);
    }

    #[test]
    fn another_number_of_outputs_is_an_error() {
        let error = activate(&task(TaskName::Custom, 2), &mut [0.0; 3], 3).unwrap_err();
        assert!(error.to_string().contains("3 outputs"));
    }

    #[test]
    fn a_long_sum_is_that_of_its_halves() {
        let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(sum_pairwise(&numbers), 499_500.0);
        assert_eq!(sum_pairwise(&numbers[..20]), 190.0);
    }
}
