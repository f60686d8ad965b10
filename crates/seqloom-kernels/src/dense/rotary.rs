//! A linear layer with rotary position embeddings of its outputs (Su and others, 2021).

use seqloom_macros::{compiled_once, vectorized};

use super::{LinearLayer, linear::run_bands};
use crate::{Float, Instances, machine::dispatch};

/// A rotation of pairs of values: each value in the first half of a head is paired with
/// a value in the second half.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a, T> {
    /// The cosines of the rotation angles. Each row has one cosine for each pair of
    /// values of a head.
    pub cosines: &'a [T],
    /// The sines of the rotation angles, in the order of the cosines.
    pub sines: &'a [T],
    /// Half of the head size.
    pub half: usize,
    /// The number of heads to rotate: the first heads of each row.
    pub heads: usize,
}

/// Fills `out` with the outputs of the linear layer for the rows of `x`, and rotates
/// the first heads of each row.
#[compiled_once]
pub fn linear_then_rotate<T: Float>(
    layer: LinearLayer<'_, T>,
    rotation: Rotation<'_, T>,
    x: &[T],
    out: &mut [T],
    threads: usize,
) {
    let width = layer.outputs();
    run_bands(layer, x, out, threads, |mut band| {
        band.fill();
        rotate_heads(rotation.starting_at_row(band.first), width, band.out);
    });
}

/// Rotates the first heads of rows.
#[vectorized]
pub(crate) fn rotate_heads<T: Float>(rotation: Rotation<'_, T>, width: usize, rows: &mut [T]) {
    // The head sizes of published models are compile-time constants, so that the
    // compiler unrolls their loops.
    match rotation.half {
        8 => rotation.rotate_halves::<8>(width, rows),
        12 => rotation.rotate_halves::<12>(width, rows),
        16 => rotation.rotate_halves::<16>(width, rows),
        32 => rotation.rotate_halves::<32>(width, rows),
        64 => rotation.rotate_halves::<64>(width, rows),
        _ => rotation.rotate_any_width(width, rows),
    }
}

impl<T: Float> Rotation<'_, T> {
    /// Returns the rotation of the rows from index `row`.
    pub(crate) fn starting_at_row(self, row: usize) -> Self {
        Self {
            cosines: &self.cosines[row * self.half..],
            sines: &self.sines[row * self.half..],
            ..self
        }
    }

    #[inline(always)]
    fn rotate_halves<const HALF: usize>(self, width: usize, rows: &mut [T]) {
        let (cosines, _) = self.cosines.as_chunks::<HALF>();
        let (sines, _) = self.sines.as_chunks::<HALF>();
        let turns = cosines.iter().zip(sines);
        for (row, (cosines, sines)) in rows.chunks_exact_mut(width).zip(turns) {
            let (halves, _) = row.as_chunks_mut::<HALF>();
            let (heads, _) = halves.as_chunks_mut::<2>();
            for [first, second] in &mut heads[..self.heads] {
                (0..HALF).for_each(|at| {
                    let (x, y) = (first[at], second[at]);
                    first[at] = x * cosines[at] - y * sines[at];
                    second[at] = y * cosines[at] + x * sines[at];
                });
            }
        }
    }

    #[inline(always)]
    fn rotate_any_width(self, width: usize, rows: &mut [T]) {
        let half = self.half.max(1);
        let turns = self
            .cosines
            .chunks_exact(half)
            .zip(self.sines.chunks_exact(half));
        for (row, (cosines, sines)) in rows.chunks_exact_mut(width).zip(turns) {
            for head in row[..2 * half * self.heads].chunks_exact_mut(2 * half) {
                let (first, second) = head.split_at_mut(half);
                for at in 0..half {
                    let (x, y) = (first[at], second[at]);
                    first[at] = x * cosines[at] - y * sines[at];
                    second[at] = y * cosines[at] + x * sines[at];
                }
            }
        }
    }
}
