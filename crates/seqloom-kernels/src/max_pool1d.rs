//! The greatest number under a sliding window, and where it stood.

use crate::{Float, parallel};

/// The rows of an array and the window that slides over each.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Numbers in a row.
    pub length: usize,
    /// Numbers under the window.
    pub kernel: usize,
    /// How far the window moves, at least one.
    pub stride: usize,
    /// Places before and after the row that the window may cover, at most half of it.
    pub padding: usize,
}

impl Window {
    /// Windows in a row; none if the padded row is shorter than the window.
    pub fn out_length(&self) -> Option<usize> {
        let room = (self.length + 2 * self.padding).checked_sub(self.kernel)?;
        Some(room / self.stride + 1)
    }

    /// The part of the row that a window covers.
    fn covered(&self, place: usize) -> (usize, usize) {
        let start = place * self.stride;
        let stop = (start + self.kernel).saturating_sub(self.padding);
        (start.saturating_sub(self.padding), stop.min(self.length))
    }
}

/// Fills the greatest number of every window and its place in its row; of equal ones the
/// first, and a NaN before all.
pub fn max_pool1d<T: Float>(
    window: &Window,
    x: &[T],
    out: &mut [T],
    places: &mut [i64],
    threads: usize,
) {
    let width = window.out_length().unwrap_or(0).max(1);
    let rows = parallel::rows_per_chunk(window.length);
    let sizes = (rows * width, rows * width);
    parallel::chunk_pairs((out, places), sizes, threads, |number, out, places| {
        let x = &x[number * rows * window.length..];
        let outs = out.chunks_mut(width).zip(places.chunks_mut(width));
        for (x, (out, places)) in x.chunks(window.length).zip(outs) {
            pool_row(window, x, out, places);
        }
    });
}

fn pool_row<T: Float>(window: &Window, x: &[T], out: &mut [T], places: &mut [i64]) {
    for (number, (out, place)) in out.iter_mut().zip(places).enumerate() {
        let (start, stop) = window.covered(number);
        let (mut best, mut at) = (x[start], start);
        for (index, &value) in (start..stop).zip(&x[start..stop]) {
            // Both sides are always asked, for a branch here would be a coin's toss.
            let better = (value > best) | value.is_nan();
            best = if better { value } else { best };
            at = if better { index } else { at };
        }
        (*out, *place) = (best, at.cast_signed() as i64);
    }
}

/// Fills the gradient of the input: what came to a window goes to its greatest number.
pub fn max_pool1d_grad<T: Float>(
    lengths: (usize, usize),
    grad: &[T],
    places: &[i64],
    out: &mut [T],
    threads: usize,
) {
    let (length, width) = lengths;
    let rows = parallel::rows_per_chunk(length);
    parallel::chunks(out, rows * length, threads, |number, out| {
        out.fill(T::ZERO);
        let first = number * rows * width;
        let grads = grad[first..]
            .chunks(width)
            .zip(places[first..].chunks(width));
        for (out, (grad, places)) in out.chunks_mut(length).zip(grads) {
            scatter(grad, places, out);
        }
    });
}

fn scatter<T: Float>(grad: &[T], places: &[i64], out: &mut [T]) {
    for (&grad, &place) in grad.iter().zip(places) {
        if let Some(value) = usize::try_from(place)
            .ok()
            .and_then(|place| out.get_mut(place))
        {
            *value += grad;
        }
    }
}
