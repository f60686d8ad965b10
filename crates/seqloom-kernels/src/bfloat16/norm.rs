//! Layer norm, which is computed in float32.

use super::Machine;
use super::panels::wide;
use super::x86::normalise;
use crate::parallel;

/// What layer norm does to each row.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// The one that computes.
    pub machine: Machine,
    /// The factor of each column; there is at least one.
    pub weight: &'a [u16],
    /// Added to each column.
    pub bias: &'a [u16],
    /// Added to the variance.
    pub epsilon: f64,
}

impl Norm<'_> {
    /// Fills `out` for the rows of `x`, and with each row's mean and one by its deviation.
    pub fn apply(
        &self,
        x: &[u16],
        out: &mut [u16],
        [means, inverses]: [&mut [f32]; 2],
        threads: usize,
    ) {
        let wide = self.widened();
        let rows = parallel::rows_per_chunk(self.weight.len());
        let size = rows * self.weight.len();
        let rest = means.chunks_mut(rows).zip(inverses.chunks_mut(rows));
        let pieces = x.chunks(size).zip(out.chunks_mut(size)).zip(rest);
        parallel::each(
            pieces.collect(),
            threads,
            |((x, out), (means, inverses))| {
                normalise(&wide, x, out, [means, inverses]);
            },
        );
    }

    /// The same with its numbers in float32.
    pub(super) fn widened(&self) -> Wide {
        Wide {
            weight: self.weight.iter().copied().map(wide).collect(),
            bias: self.bias.iter().copied().map(wide).collect(),
            epsilon: self.epsilon,
        }
    }
}

/// A norm whose numbers are in float32.
pub(super) struct Wide {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f64,
}
