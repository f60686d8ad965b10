//! A walk along two rows and their mask.

use pulp::Simd;

use crate::{Float, lanes::Lanes};

/// The sizes of an array and which of its positions count.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a, T> {
    /// Rows of a sample.
    pub channels: usize,
    /// Positions of a row, not zero.
    pub length: usize,
    /// `(batch, length)`: a position counts where it is above zero.
    pub mask: Option<&'a [T]>,
}

impl<'a, T: Float> Positions<'a, T> {
    pub(super) fn mask_of(&self, sample: usize) -> Option<&'a [T]> {
        self.mask
            .map(|mask| &mask[sample * self.length..][..self.length])
    }

    /// The positions that count, and one where none does.
    #[expect(clippy::cast_precision_loss, reason = "no array has 2^53 positions")]
    pub(super) fn count(&self, total: usize) -> f64 {
        let counted = |mask: &[T]| mask.iter().filter(|&&value| value > T::ZERO).count();
        self.mask
            .map_or(total / self.channels.max(1), counted)
            .max(1) as f64
    }
}

/// What is done with two registers of two rows, and the mask's where there is one.
pub(super) trait Act<S: Simd, T: Float> {
    fn act(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>);
}

/// Calls `act` along two rows; for the last register, which is not full, the mask has the
/// positions that there are.
#[inline(always)]
pub(super) fn each<S: Simd, T: Float>(
    simd: S,
    (a, b): (&[T], &[T]),
    mask: Option<&[T]>,
    mut act: impl Act<S, T>,
) {
    let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
    let (full, full_rest) = T::split::<S>(mask.unwrap_or_default());
    if mask.is_some() {
        for ((&a, &b), &mask) in a.iter().zip(b).zip(full) {
            act.act(
                Lanes::new(simd, a),
                Lanes::new(simd, b),
                Some(Lanes::new(simd, mask)),
            );
        }
    } else {
        for (&a, &b) in a.iter().zip(b) {
            act.act(Lanes::new(simd, a), Lanes::new(simd, b), None);
        }
    }
    if a_rest.is_empty() {
        return;
    }
    let ones = [T::ONE; MAX_LANES];
    let rest = mask.map_or(&ones[..a_rest.len()], |_| full_rest);
    act.act(
        Lanes::load_part(simd, a_rest),
        Lanes::load_part(simd, b_rest),
        Some(Lanes::load_part(simd, rest)),
    );
}

/// The largest number of floats of a register.
const MAX_LANES: usize = 16;

/// The value where the mask is above zero, else zero.
#[inline(always)]
pub(super) fn keep<S: Simd, T: Float>(
    mask: Option<Lanes<S, T>>,
    value: Lanes<S, T>,
) -> Lanes<S, T> {
    let Some(mask) = mask else { return value };
    let zero = value.like(T::ZERO);
    zero.if_less(mask, value, zero)
}
