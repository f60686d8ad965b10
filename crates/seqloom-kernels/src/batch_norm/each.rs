//! A walk along two rows and their mask.

use pulp::Simd;

use crate::{Float, lanes::Lanes};

/// What is done with two registers of two rows, and the mask's where there is one.
pub(super) trait Act<S: Simd, T: Float> {
    fn act(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>);
}

/// Calls `act` along two rows; for the last register, which is not full, the mask has the
/// places that there are.
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
    let ones = [T::ONE; MOST_LANES];
    let rest = mask.map_or(&ones[..a_rest.len()], |_| full_rest);
    act.act(
        Lanes::load_part(simd, a_rest),
        Lanes::load_part(simd, b_rest),
        Some(Lanes::load_part(simd, rest)),
    );
}

/// No register holds more floats.
const MOST_LANES: usize = 16;

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
