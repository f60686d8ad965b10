//! Reductions: the sum, mean, product, maximum or minimum of values along some axes.

use std::ops::Range;

use seqloom_kernels::machine::dispatch;
use seqloom_macros::vectorized;

use crate::Number;

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The sum of the values.
    Sum,
    /// The mean of the values.
    Mean,
    /// The product of the values.
    Prod,
    /// The maximum; NaN is treated as larger than any number.
    Max,
    /// The minimum; NaN is treated as smaller than any number.
    Min,
}

impl Fold {
    /// Returns the reduction with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "sum" => Some(Self::Sum),
            "mean" => Some(Self::Mean),
            "prod" => Some(Self::Prod),
            "max" => Some(Self::Max),
            "min" => Some(Self::Min),
            _ => None,
        }
    }

    /// Returns the result of the reduction for an empty array.
    pub(crate) fn empty_result(self) -> f64 {
        match self {
            Self::Sum | Self::Mean => 0.0,
            Self::Prod => 1.0,
            Self::Max => f64::NEG_INFINITY,
            Self::Min => f64::INFINITY,
        }
    }

    /// Combines two values into one.
    #[inline(always)]
    pub(crate) fn combine(self, total: f64, more: f64) -> f64 {
        match self {
            Self::Sum | Self::Mean => total + more,
            Self::Prod => total * more,
            Self::Max => max_or_nan(total, more),
            Self::Min => min_or_nan(total, more),
        }
    }

    /// Reduces a row to one number.
    pub(crate) fn reduce_row<T: Number>(self, row: &[T]) -> f64 {
        match self {
            Self::Sum | Self::Mean => fold_row(row, T::ZERO, |a, b| a + b, |a, b| a + b),
            Self::Prod => fold_row(row, T::ONE, |a, b| a * b, |a, b| a * b),
            Self::Max => fold_row(row, T::NEG_INF, max_or_nan, max_or_nan),
            Self::Min => fold_row(row, -T::NEG_INF, min_or_nan, min_or_nan),
        }
    }

    /// Combines a row with a row of totals, element by element.
    pub(crate) fn combine_rows<T: Number>(self, totals: &mut [T], row: &[T]) {
        match self {
            Self::Sum | Self::Mean => combine_elements(totals, row, |a, b| a + b),
            Self::Prod => combine_elements(totals, row, |a, b| a * b),
            Self::Max => combine_elements(totals, row, max_or_nan),
            Self::Min => combine_elements(totals, row, min_or_nan),
        }
    }
}

/// The running totals of a task. A few rows at a time are reduced in the float type of
/// the program, and their total is then added in double precision. Double precision
/// preserves the accuracy of sums over many rows.
pub(crate) struct RunningTotals<T> {
    fold: Fold,
    /// The output index of the first total.
    from: usize,
    wide: Vec<f64>,
    recent: Vec<T>,
    /// The number of values added to `recent` since the last flush.
    count: usize,
}

/// The number of rows that are reduced before their total is added in double precision.
const FLUSH_ROWS: usize = 64;

impl<T: Number> RunningTotals<T> {
    pub(crate) fn new(fold: Fold, positions: Range<usize>) -> Self {
        Self {
            fold,
            from: positions.start,
            wide: vec![fold.empty_result(); positions.len()],
            recent: Vec::new(),
            count: 0,
        }
    }

    /// Combines a row with the totals at output indices `at`, `at + step`, `at + 2 * step`
    /// and so on.
    pub(crate) fn add_row(&mut self, at: usize, step: usize, row: &[T]) {
        let at = at - self.from;
        match step {
            0 => self.wide[at] = self.fold.combine(self.wide[at], self.fold.reduce_row(row)),
            1 => self.add_elements(at, row),
            _ => {
                for (total, x) in self.wide[at..].iter_mut().step_by(step).zip(row) {
                    *total = self.fold.combine(*total, x.to_f64());
                }
            }
        }
    }

    fn add_elements(&mut self, at: usize, row: &[T]) {
        self.recent
            .resize(self.wide.len(), T::from_f64(self.fold.empty_result()));
        self.fold.combine_rows(&mut self.recent[at..], row);
        self.count += row.len();
        if self.count >= FLUSH_ROWS * self.wide.len() {
            self.flush_totals();
        }
    }

    fn flush_totals(&mut self) {
        for (total, recent) in self.wide.iter_mut().zip(&mut self.recent) {
            *total = self.fold.combine(*total, recent.to_f64());
            *recent = T::from_f64(self.fold.empty_result());
        }
        self.count = 0;
    }

    /// Combines the totals of a task with the whole output.
    pub(crate) fn add_to_output(&mut self, all: &mut [f64]) {
        self.flush_totals();
        for (total, &more) in all[self.from..].iter_mut().zip(&self.wide) {
            *total = self.fold.combine(*total, more);
        }
    }
}

#[inline(always)]
fn max_or_nan<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a > b || is_nan(a) { a } else { b }
}

#[inline(always)]
fn min_or_nan<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a < b || is_nan(a) { a } else { b }
}

#[expect(clippy::eq_op, reason = "only NaN is not equal to itself")]
#[inline(always)]
fn is_nan<T: PartialOrd + Copy>(x: T) -> bool {
    x != x
}

/// The number of values that are reduced in parallel. The number does not depend on the
/// processor, so that results are bitwise equal on all processors.
const LANES: usize = 32;

fn fold_row<T: Number>(
    row: &[T],
    empty: T,
    join: impl Fn(T, T) -> T,
    widely: impl Fn(f64, f64) -> f64,
) -> f64 {
    let (head, rest) = row.as_chunks::<LANES>();
    let rest = rest.iter().map(|x| x.to_f64()).reduce(&widely);
    if head.is_empty() {
        return rest.unwrap_or(empty.to_f64());
    }
    let lanes = fold_lanes(head, empty, join);
    let lanes = lanes.iter().map(|x| x.to_f64());
    lanes.chain(rest).reduce(widely).unwrap_or(empty.to_f64())
}

#[vectorized]
fn fold_lanes<T: Number, F: Fn(T, T) -> T>(head: &[[T; LANES]], empty: T, join: F) -> [T; LANES] {
    let mut lanes = [empty; LANES];
    for chunk in head {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, x);
        }
    }
    lanes
}

#[vectorized]
fn combine_elements<T: Number, F: Fn(T, T) -> T>(totals: &mut [T], row: &[T], join: F) {
    for (total, &x) in totals.iter_mut().zip(row) {
        *total = join(*total, x);
    }
}
