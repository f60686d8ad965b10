//! A line of two arrays, with other coefficients in each channel.

use pulp::{Simd, WithSimd};

use super::Places;
use super::each::{Act, each, keep};
use crate::{Float, lanes::Lanes, machine, parallel};

/// Fills `out` with `line[0] * a + line[1] * b + line[2]`, each channel with its line.
pub(super) fn combine<T: Float>(
    places: Places<'_, T>,
    pair: (&[T], &[T]),
    line: impl Fn(usize) -> [T; 3],
    out: &mut [T],
    threads: usize,
) {
    T::with_scratch(3 * places.channels, |lines| {
        let (lines, _) = lines.as_chunks_mut::<3>();
        let channels = lines.iter_mut().enumerate();
        channels.for_each(|(channel, slot)| *slot = line(channel));
        let rows = parallel::rows_per_chunk(places.length);
        parallel::chunks(out, rows * places.length, threads, |number, out| {
            let first = number * rows;
            machine::dispatch(Rows {
                places,
                pair,
                lines,
                first,
                out,
            });
        });
    });
}

/// Rows of the output from the one numbered `first` on.
struct Rows<'a, T> {
    places: Places<'a, T>,
    pair: (&'a [T], &'a [T]),
    lines: &'a [[T; 3]],
    first: usize,
    out: &'a mut [T],
}

impl<T: Float> WithSimd for Rows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Places {
            channels, length, ..
        } = self.places;
        for (row, out) in (self.first..).zip(self.out.chunks_mut(length)) {
            let [gain, slope, offset] = self.lines[row % channels];
            let splat = |value| Lanes::splat(simd, value);
            let line = [splat(gain), splat(slope), splat(offset)];
            let range = row * length..(row + 1) * length;
            let pair = (&self.pair.0[range.clone()], &self.pair.1[range]);
            let mask = self.places.mask_of(row / channels);
            let (out, rest) = T::split_mut::<S>(out);
            each(
                simd,
                pair,
                mask,
                Write {
                    line,
                    out: out.iter_mut(),
                    rest,
                },
            );
        }
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
