//! Iteration over two rows of values and their mask, one vector register at a time.

use pulp::Simd;

use crate::{Float, lanes::Lanes};

/// The shape of an array, and the mask of its positions.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a, T> {
    /// The number of channels of each sample.
    pub channels: usize,
    /// The number of positions of a channel, at least 1.
    pub length: usize,
    /// The mask `(batch, length)`: positive at real positions.
    pub mask: Option<&'a [T]>,
}

impl<'a, T: Float> Positions<'a, T> {
    pub(super) fn sample_mask(&self, sample: usize) -> Option<&'a [T]> {
        self.mask
            .map(|mask| &mask[sample * self.length..][..self.length])
    }

    /// Returns the number of unmasked positions, at least 1.
    #[expect(clippy::cast_precision_loss, reason = "no array has 2^53 positions")]
    pub(super) fn count_unmasked(&self, total: usize) -> f64 {
        let counted = |mask: &[T]| mask.iter().filter(|&&value| value > T::ZERO).count();
        self.mask
            .map_or(total / self.channels.max(1), counted)
            .max(1) as f64
    }
}

/// A function that is called with one vector register from each of two rows. If there
/// is a mask, the function also receives a register of the mask.
pub(super) trait RowFunction<S: Simd, T: Float> {
    fn apply(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>);
}

/// Calls `apply` for each register of two rows. In the last register, the mask is 0
/// after the end of the rows.
#[inline(always)]
pub(super) fn for_each_register<S: Simd, T: Float>(
    simd: S,
    (a, b): (&[T], &[T]),
    mask: Option<&[T]>,
    mut apply: impl RowFunction<S, T>,
) {
    let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
    let (full, full_rest) = T::split::<S>(mask.unwrap_or_default());
    if mask.is_some() {
        for ((&a, &b), &mask) in a.iter().zip(b).zip(full) {
            apply.apply(
                Lanes::new(simd, a),
                Lanes::new(simd, b),
                Some(Lanes::new(simd, mask)),
            );
        }
    } else {
        for (&a, &b) in a.iter().zip(b) {
            apply.apply(Lanes::new(simd, a), Lanes::new(simd, b), None);
        }
    }
    if a_rest.is_empty() {
        return;
    }
    let ones = [T::ONE; MAX_LANES];
    let rest = mask.map_or(&ones[..a_rest.len()], |_| full_rest);
    apply.apply(
        Lanes::load_part(simd, a_rest),
        Lanes::load_part(simd, b_rest),
        Some(Lanes::load_part(simd, rest)),
    );
}

/// The largest number of floats in a register.
const MAX_LANES: usize = 16;

/// Returns the value where the mask is positive, and 0 elsewhere.
#[inline(always)]
pub(super) fn masked<S: Simd, T: Float>(
    mask: Option<Lanes<S, T>>,
    value: Lanes<S, T>,
) -> Lanes<S, T> {
    let Some(mask) = mask else { return value };
    let zero = value.like(T::ZERO);
    zero.if_less(mask, value, zero)
}
