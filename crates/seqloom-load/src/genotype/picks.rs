//! The selection of lines and positions.

use seqloom_encode::genotype::CodeTable;
use std::ops::Range;

/// Some of the positions of an axis, in the order asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picks {
    /// Consecutive ones.
    Range(Range<usize>),
    /// Any; one may come again.
    Some(Vec<usize>),
}

impl Picks {
    /// All of so many.
    pub fn all(count: usize) -> Self {
        Self::Range(0..count)
    }

    /// Selects positions. Consecutive ones become a range.
    pub fn at(positions: Vec<usize>) -> Self {
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

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Some(positions) => positions.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first, and one more than the last, of all that are asked for.
    pub fn hull(&self) -> Range<usize> {
        match self {
            Self::Range(range) => range.clone(),
            Self::Some(positions) => {
                let first = positions.iter().min().copied().unwrap_or(0);
                first..positions.iter().max().map_or(first, |last| last + 1)
            }
        }
    }

    /// Whether it is all of so many, in order.
    pub fn is_all(&self, count: usize) -> bool {
        *self == Self::Range(0..count)
    }
}

/// Runs among lines, in which each lies at most `gap` lines behind the one before.
pub(super) fn runs(lines: &[usize], gap: usize) -> impl Iterator<Item = &[usize]> {
    let follows = move |one: &usize, next: &usize| {
        let step = next.checked_sub(*one);
        step.is_some_and(|step| step <= gap + 1)
    };
    lines.chunk_by(follows)
}

/// The selected lines and positions, and the value of each code.
#[derive(Clone, Debug)]
pub struct LineRequest<T> {
    /// Which lines.
    pub lines: Picks,
    /// Which positions of each.
    pub positions: Picks,
    /// What each code becomes.
    pub table: CodeTable<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_positions_are_a_range() {
        assert_eq!(Picks::at(vec![3, 4, 5]), Picks::Range(3..6));
        assert_eq!(Picks::at(vec![]), Picks::Range(0..0));
        assert_eq!(Picks::at(vec![3, 5]), Picks::Some(vec![3, 5]));
        assert_eq!(Picks::at(vec![9, 2, 2]).hull(), 2..10);
        assert!(Picks::at(vec![0, 1, 2]).is_all(3));
        assert!(!Picks::at(vec![0, 1, 2]).is_all(4));
        assert!(!Picks::at(vec![1, 2]).is_all(2));
    }

    #[test]
    fn runs_are_as_long_as_they_can_be() {
        let lines = [7, 8, 9, 2, 3, 3, 5];
        let found = |gap| runs(&lines, gap).collect::<Vec<_>>();
        assert_eq!(found(0), [&[7, 8, 9][..], &[2, 3, 3], &[5]]);
        assert_eq!(found(1), [&[7, 8, 9][..], &[2, 3, 3, 5]]);
    }
}
