//! The selection of rows and positions of a `.bed`.

use seqloom_encode::genotype::CodeTable;
use std::ops::Range;

/// Selected indices of an axis, in the given order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    /// Consecutive indices.
    Range(Range<usize>),
    /// Any indices; repetitions are allowed.
    Some(Vec<usize>),
}

impl Indices {
    /// Selects all indices of an axis of length `count`.
    pub fn all_of(count: usize) -> Self {
        Self::Range(0..count)
    }

    /// Selects indices. Consecutive indices are stored as a range.
    pub fn from_list(positions: Vec<usize>) -> Self {
        let Some(&first) = positions.first() else {
            return Self::Range(0..0);
        };
        let consecutive = positions.iter().enumerate().all(|(i, at)| *at == first + i);
        if consecutive {
            Self::Range(first..first + positions.len())
        } else {
            Self::Some(positions)
        }
    }

    /// Returns the number of selected indices.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Some(positions) => positions.len(),
        }
    }

    /// Returns true if no index is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the smallest range that contains all selected indices.
    pub fn bounds(&self) -> Range<usize> {
        match self {
            Self::Range(range) => range.clone(),
            Self::Some(positions) => {
                let first = positions.iter().min().copied().unwrap_or(0);
                first..positions.iter().max().map_or(first, |last| last + 1)
            }
        }
    }

    /// Returns true if all indices of an axis of length `count` are selected, in order.
    pub fn selects_all(&self, count: usize) -> bool {
        *self == Self::Range(0..count)
    }
}

/// Splits row numbers into runs in which neighbours differ by at most `gap + 1`.
pub(super) fn split_runs(lines: &[usize], gap: usize) -> impl Iterator<Item = &[usize]> {
    let follows = move |one: &usize, next: &usize| {
        let step = next.checked_sub(*one);
        step.is_some_and(|step| step <= gap + 1)
    };
    lines.chunk_by(follows)
}

/// The selected rows and positions, and the decoded value of each code.
#[derive(Clone, Debug)]
pub struct LineRequest<T> {
    /// The selected rows.
    pub lines: Indices,
    /// The selected positions of each row.
    pub positions: Indices,
    /// The decoded value of each code.
    pub table: CodeTable<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_positions_are_a_range() {
        assert_eq!(Indices::from_list(vec![3, 4, 5]), Indices::Range(3..6));
        assert_eq!(Indices::from_list(vec![]), Indices::Range(0..0));
        assert_eq!(Indices::from_list(vec![3, 5]), Indices::Some(vec![3, 5]));
        assert_eq!(Indices::from_list(vec![9, 2, 2]).bounds(), 2..10);
        assert!(Indices::from_list(vec![0, 1, 2]).selects_all(3));
        assert!(!Indices::from_list(vec![0, 1, 2]).selects_all(4));
        assert!(!Indices::from_list(vec![1, 2]).selects_all(2));
    }

    #[test]
    fn runs_are_as_long_as_possible() {
        let lines = [7, 8, 9, 2, 3, 3, 5];
        let found = |gap| split_runs(&lines, gap).collect::<Vec<_>>();
        assert_eq!(found(0), [&[7, 8, 9][..], &[2, 3, 3], &[5]]);
        assert_eq!(found(1), [&[7, 8, 9][..], &[2, 3, 3, 5]]);
    }
}
