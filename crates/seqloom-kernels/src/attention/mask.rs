//! Attention masks.

use crate::Float;

/// An array that is broadcast to (batch, head, query, key).
#[derive(Clone, Copy, Debug)]
pub struct BroadcastArray<'a, U> {
    data: &'a [U],
    steps: [usize; 4],
}

impl<'a, U: Copy> BroadcastArray<'a, U> {
    /// Creates the array; broadcast axes have stride 0. Returns `None` if keys are
    /// neither adjacent nor broadcast, or if the strides go beyond the data.
    pub fn new(data: &'a [U], shape: [usize; 4], steps: [usize; 4]) -> Option<Self> {
        let last = shape
            .iter()
            .zip(steps)
            .map(|(size, step)| size.saturating_sub(1) * step);
        let fits = shape.contains(&0) || last.sum::<usize>() < data.len();
        (fits && steps[3] <= 1).then_some(Self { data, steps })
    }

    /// Returns the mask values of `keys` consecutive keys of a query, starting at a
    /// position.
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

/// A mask that changes the scores before the softmax.
#[derive(Clone, Copy, Debug)]
pub enum AttentionMask<'a, T> {
    /// A boolean mask that is true for keys that a query may attend to.
    Allowed(BroadcastArray<'a, bool>),
    /// A numeric mask that is added to the scores.
    Added(BroadcastArray<'a, T>),
}

impl<T: Float> AttentionMask<'_, T> {
    /// Masks the scores of consecutive keys. `position` is the index (batch, head,
    /// query, key) of the first score.
    #[inline(always)]
    pub(super) fn apply(&self, position: [usize; 4], scores: &mut [T]) {
        match self {
            Self::Allowed(allowed) => hide_scores(&allowed.row(position, scores.len()), scores),
            Self::Added(added) => add_to_scores(&added.row(position, scores.len()), scores),
        }
    }
}

#[inline(always)]
fn hide_scores<T: Float>(allowed: &MaskRow<'_, bool>, scores: &mut [T]) {
    match allowed {
        MaskRow::All(true) => {}
        MaskRow::All(false) => scores.fill(T::NEG_INF),
        MaskRow::Each(allowed) => {
            for (score, &allowed) in scores.iter_mut().zip(*allowed) {
                *score = if allowed { *score } else { T::NEG_INF };
            }
        }
    }
}

#[inline(always)]
fn add_to_scores<T: Float>(added: &MaskRow<'_, T>, scores: &mut [T]) {
    match added {
        MaskRow::All(added) => scores.iter_mut().for_each(|score| *score += *added),
        MaskRow::Each(added) => {
            for (score, &added) in scores.iter_mut().zip(*added) {
                *score += added;
            }
        }
    }
}
