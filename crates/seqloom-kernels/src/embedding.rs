//! The gradient of an embedding: for each id, the sum of the gradient rows with this
//! id.

use crate::{Float, Instances, parallel};
use seqloom_macros::compiled_once;

/// Fills `out`, which has a row of `width` values per id. The row of an id is the sum
/// of the rows of `grad` with this id, added in order. The caller must check that `out`
/// has a row for every id.
#[compiled_once]
pub fn add_rows<T: Float>(grad: &[T], ids: &[i64], width: usize, out: &mut [T], threads: usize) {
    let width = width.max(1);
    let rows = (out.len() / width).div_ceil(threads.max(1)).max(1);
    parallel::fill_chunks(out, rows * width, threads, |number, out| {
        out.fill(T::ZERO);
        let row_of = |id: i64| usize::try_from(id).ok()?.checked_sub(number * rows);
        for (grad, &id) in grad.chunks(width).zip(ids) {
            let Some(row) = row_of(id) else {
                continue;
            };
            if let Some(out) = out.get_mut(row * width..(row + 1) * width) {
                out.iter_mut()
                    .zip(grad)
                    .for_each(|(out, &grad)| *out += grad);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_the_same_id_are_summed() {
        let mut out = vec![9.0_f32; 6];
        add_rows(
            &[1.0, 2.0, 10.0, 20.0, 100.0, 200.0],
            &[2, 0, 2],
            2,
            &mut out,
            1,
        );
        assert_eq!(out, vec![10.0, 20.0, 0.0, 0.0, 101.0, 202.0]);
    }
}
