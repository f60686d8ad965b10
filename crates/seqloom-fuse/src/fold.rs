//! Folding: the sum, the product or the extremes of a program's values along some axes.

use std::ops::Range;

use seqloom_kernels::machine::dispatch;
use seqloom_macros::vectorized;

use crate::Number;

/// What becomes of the values that share a position of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// Their sum by their number.
    Mean,
    /// Their product.
    Prod,
    /// The greatest; a NaN is greater than any number.
    Max,
    /// The least; a NaN is less than any number.
    Min,
}

impl Fold {
    /// The fold of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sum" => Some(Self::Sum),
            "mean" => Some(Self::Mean),
            "prod" => Some(Self::Prod),
            "max" => Some(Self::Max),
            "min" => Some(Self::Min),
            _ => None,
        }
    }

    /// What a fold of nothing is.
    pub(crate) fn empty(self) -> f64 {
        match self {
            Self::Sum | Self::Mean => 0.0,
            Self::Prod => 1.0,
            Self::Max => f64::NEG_INFINITY,
            Self::Min => f64::INFINITY,
        }
    }

    /// Folds two.
    #[inline(always)]
    pub(crate) fn join(self, total: f64, more: f64) -> f64 {
        match self {
            Self::Sum | Self::Mean => total + more,
            Self::Prod => total * more,
            Self::Max => greater(total, more),
            Self::Min => less(total, more),
        }
    }

    /// Folds a row into one number.
    pub(crate) fn row<T: Number>(self, row: &[T]) -> f64 {
        match self {
            Self::Sum | Self::Mean => across(row, T::ZERO, |a, b| a + b, |a, b| a + b),
            Self::Prod => across(row, T::ONE, |a, b| a * b, |a, b| a * b),
            Self::Max => across(row, T::LOWEST, greater, greater),
            Self::Min => across(row, -T::LOWEST, less, less),
        }
    }

    /// Folds a row into a row of totals, number by number.
    pub(crate) fn along<T: Number>(self, totals: &mut [T], row: &[T]) {
        match self {
            Self::Sum | Self::Mean => along(totals, row, |a, b| a + b),
            Self::Prod => along(totals, row, |a, b| a * b),
            Self::Max => along(totals, row, greater),
            Self::Min => along(totals, row, less),
        }
    }
}

/// Totals that grow while a share of the work is done: some rows are folded in the type of
/// the numbers, and then into double precision, so that many rows lose no digits.
pub(crate) struct Totals<T> {
    fold: Fold,
    /// The position of the output at which they begin.
    from: usize,
    wide: Vec<f64>,
    recent: Vec<T>,
    /// Numbers that were folded into the recent ones.
    count: usize,
}

/// Rows that are folded before they are added in double precision.
const ROWS: usize = 64;

impl<T: Number> Totals<T> {
    pub(crate) fn new(fold: Fold, positions: Range<usize>) -> Self {
        Self {
            fold,
            from: positions.start,
            wide: vec![fold.empty(); positions.len()],
            recent: Vec::new(),
            count: 0,
        }
    }

    /// Folds in a row whose numbers step by so many positions of the output, from `at` on.
    pub(crate) fn add(&mut self, at: usize, step: usize, row: &[T]) {
        let at = at - self.from;
        match step {
            0 => self.wide[at] = self.fold.join(self.wide[at], self.fold.row(row)),
            1 => self.add_along(at, row),
            _ => {
                for (total, x) in self.wide[at..].iter_mut().step_by(step).zip(row) {
                    *total = self.fold.join(*total, x.wide());
                }
            }
        }
    }

    fn add_along(&mut self, at: usize, row: &[T]) {
        self.recent
            .resize(self.wide.len(), T::of(self.fold.empty()));
        self.fold.along(&mut self.recent[at..], row);
        self.count += row.len();
        if self.count >= ROWS * self.wide.len() {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (total, recent) in self.wide.iter_mut().zip(&mut self.recent) {
            *total = self.fold.join(*total, recent.wide());
            *recent = T::of(self.fold.empty());
        }
        self.count = 0;
    }

    /// Folds all into the positions of the whole output.
    pub(crate) fn add_to(&mut self, all: &mut [f64]) {
        self.flush();
        for (total, &more) in all[self.from..].iter_mut().zip(&self.wide) {
            *total = self.fold.join(*total, more);
        }
    }
}

#[inline(always)]
fn greater<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a > b || is_nan(a) { a } else { b }
}

#[inline(always)]
fn less<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if a < b || is_nan(a) { a } else { b }
}

#[expect(clippy::eq_op, reason = "a NaN is what differs from itself")]
#[inline(always)]
fn is_nan<T: PartialOrd + Copy>(x: T) -> bool {
    x != x
}

/// Lanes that are folded side by side, whatever the machine: the result is the same on all.
const LANES: usize = 32;

fn across<T: Number>(
    row: &[T],
    empty: T,
    join: impl Fn(T, T) -> T,
    widely: impl Fn(f64, f64) -> f64,
) -> f64 {
    let (head, rest) = row.as_chunks::<LANES>();
    let rest = rest.iter().map(|x| x.wide()).reduce(&widely);
    if head.is_empty() {
        return rest.unwrap_or(empty.wide());
    }
    let lanes = fold_lanes(head, empty, join);
    let lanes = lanes.iter().map(|x| x.wide());
    lanes.chain(rest).reduce(widely).unwrap_or(empty.wide())
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
fn along<T: Number, F: Fn(T, T) -> T>(totals: &mut [T], row: &[T], join: F) {
    for (total, &x) in totals.iter_mut().zip(row) {
        *total = join(*total, x);
    }
}
