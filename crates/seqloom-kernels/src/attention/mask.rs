//! Which keys a query may attend to.

use crate::Float;

/// An array that is broadcast to (batch, head, query, key).
#[derive(Clone, Copy, Debug)]
pub struct BroadcastArray<'a, U> {
    data: &'a [U],
    steps: [usize; 4],
}

impl<'a, U: Copy> BroadcastArray<'a, U> {
    /// A broadcast axis has the step 0; keys are adjacent or broadcast. None where
    /// that is not so, or where the steps leave the data.
    pub fn new(data: &'a [U], shape: [usize; 4], steps: [usize; 4]) -> Option<Self> {
        let last = shape
            .iter()
            .zip(steps)
            .map(|(size, step)| size.saturating_sub(1) * step);
        let fits = shape.contains(&0) || last.sum::<usize>() < data.len();
        (fits && steps[3] <= 1).then_some(Self { data, steps })
    }

    /// What applies to so many keys of a query, from one of them on.
    #[inline(always)]
    fn row(&self, position: [usize; 4], keys: usize) -> MaskRow<'a, U> {
        let start = position
            .iter()
            .zip(self.steps)
            .map(|(position, step)| position * step)
            .sum::<usize>();
        match self.steps[3] {
            0 => self.data[start..]
                .first()
                .map_or(MaskRow::Each(&[]), |&all| MaskRow::All(all)),
            _ => MaskRow::Each(&self.data[start..][..keys]),
        }
    }
}

enum MaskRow<'a, U> {
    All(U),
    Each(&'a [U]),
}

/// What is done to the scores before the softmax.
#[derive(Clone, Copy, Debug)]
pub enum AttentionMask<'a, T> {
    /// The keys that a query may attend to.
    Allowed(BroadcastArray<'a, bool>),
    /// Added to the scores.
    Added(BroadcastArray<'a, T>),
}

impl<T: Float> AttentionMask<'_, T> {
    /// Masks scores, of which the first is that of (batch, head, query, key).
    #[inline(always)]
    pub(super) fn apply(&self, position: [usize; 4], scores: &mut [T]) {
        match self {
            Self::Allowed(allowed) => close(&allowed.row(position, scores.len()), scores),
            Self::Added(added) => add(&added.row(position, scores.len()), scores),
        }
    }
}

#[inline(always)]
fn close<T: Float>(allowed: &MaskRow<'_, bool>, scores: &mut [T]) {
    match allowed {
        MaskRow::All(true) => {}
        MaskRow::All(false) => scores.fill(T::LOWEST),
        MaskRow::Each(allowed) => {
            for (score, &allowed) in scores.iter_mut().zip(*allowed) {
                *score = if allowed { *score } else { T::LOWEST };
            }
        }
    }
}

#[inline(always)]
fn add<T: Float>(added: &MaskRow<'_, T>, scores: &mut [T]) {
    match added {
        MaskRow::All(added) => scores.iter_mut().for_each(|score| *score += *added),
        MaskRow::Each(added) => {
            for (score, &added) in scores.iter_mut().zip(*added) {
                *score += added;
            }
        }
    }
}
