//! A line of two arrays, with other coefficients in each channel.

use pulp::{Simd, WithSimd};

use super::Places;
use super::each::{Act, each, keep};
use crate::{Float, lanes::Lanes, machine, parallel};

/// Fills `out` with `line[0] * a + line[1] * b + line[2]`, each channel with its line.
pub(super) fn combine<T: Float>(
    places: Places<'_, T>,
    pair: (&[T], &[T]),
    line: impl Fn(usize) -> [T; 3] + Sync,
    out: &mut [T],
    threads: usize,
) {
    let Places {
        channels, length, ..
    } = places;
    let rows = parallel::rows_per_chunk(length);
    parallel::chunks(out, rows * length, threads, |number, out| {
        for (row, out) in (number * rows..).zip(out.chunks_mut(length)) {
            let mask = places.mask_of(row / channels);
            let pair = (
                &pair.0[row * length..][..length],
                &pair.1[row * length..][..length],
            );
            machine::dispatch(Row {
                pair,
                mask,
                line: line(row % channels),
                out,
            });
        }
    });
}

struct Row<'a, T> {
    pair: (&'a [T], &'a [T]),
    mask: Option<&'a [T]>,
    line: [T; 3],
    out: &'a mut [T],
}

impl<T: Float> WithSimd for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let [gain, slope, offset] = self.line;
        let line = [
            Lanes::splat(simd, gain),
            Lanes::splat(simd, slope),
            Lanes::splat(simd, offset),
        ];
        let (out, rest) = T::split_mut::<S>(self.out);
        each(
            simd,
            self.pair,
            self.mask,
            Write {
                line,
                out: out.iter_mut(),
                rest,
            },
        );
    }
}

struct Write<'a, S: Simd, T: Float> {
    line: [Lanes<S, T>; 3],
    out: std::slice::IterMut<'a, T::Vector<S>>,
    rest: &'a mut [T],
}

impl<S: Simd, T: Float> Act<S, T> for Write<'_, S, T> {
    #[inline(always)]
    fn act(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>) {
        let [gain, slope, offset] = self.line;
        let value = keep(mask, a.mul_add(gain, b.mul_add(slope, offset)));
        match self.out.next() {
            Some(out) => *out = value.vector,
            None => value.store_part(self.rest),
        }
    }
}
