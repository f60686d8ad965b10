//! Linear combinations of one or two arrays with coefficients for each channel.

use pulp::Simd;
use seqloom_macros::vectorized;

use super::each::{Positions, RowFunction, for_each_register, masked};
use crate::{Float, lanes::Lanes, machine::dispatch, parallel};

/// Fills `out` with the linear combination `line[0] * a + line[1]` or, if there are
/// three coefficients, `line[0] * a + line[1] + line[2] * b`. `line` returns the
/// coefficients of a channel.
pub(super) fn combine_by_channel<T: Float, const N: usize>(
    positions: Positions<'_, T>,
    pair: (&[T], &[T]),
    line: impl Fn(usize) -> [T; N],
    out: &mut [T],
    threads: usize,
) {
    T::with_scratch(N * positions.channels, |lines| {
        let (lines, _) = lines.as_chunks_mut::<N>();
        let channels = lines.iter_mut().enumerate();
        channels.for_each(|(channel, slot)| *slot = line(channel));
        let rows = parallel::rows_per_chunk(positions.length);
        parallel::fill_chunks(out, rows * positions.length, threads, |number, out| {
            let first = number * rows;
            combine_rows(positions, pair, lines, first, out);
        });
    });
}

/// Fills consecutive rows of the output, starting at row `first`.
#[vectorized]
fn combine_rows<S: Simd, T: Float, const N: usize>(
    simd: S,
    positions: Positions<'_, T>,
    pair: (&[T], &[T]),
    lines: &[[T; N]],
    first: usize,
    out: &mut [T],
) {
    let Positions {
        channels, length, ..
    } = positions;
    for (row, out) in (first..).zip(out.chunks_mut(length)) {
        let line = lines[row % channels].map(|value| Lanes::splat(simd, value));
        let range = row * length..(row + 1) * length;
        let pair = (&pair.0[range.clone()], &pair.1[range]);
        let mask = positions.sample_mask(row / channels);
        let (out, rest) = T::split_mut::<S>(out);
        let out = out.iter_mut();
        for_each_register(simd, pair, mask, CombineRow { line, out, rest });
    }
}

struct CombineRow<'a, S: Simd, T: Float, const N: usize> {
    line: [Lanes<S, T>; N],
    out: std::slice::IterMut<'a, T::Vector<S>>,
    rest: &'a mut [T],
}

impl<S: Simd, T: Float, const N: usize> RowFunction<S, T> for CombineRow<'_, S, T, N> {
    #[inline(always)]
    fn apply(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>) {
        let (gain, offset) = (self.line[0], self.line[1]);
        let slope = self.line.get(2);
        let offset = slope.map_or(offset, |slope| b.mul_add(*slope, offset));
        let value = masked(mask, a.mul_add(gain, offset));
        match self.out.next() {
            Some(out) => *out = value.vector,
            None => value.store_part(self.rest),
        }
    }
}
