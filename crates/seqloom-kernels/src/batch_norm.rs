//! Batch normalisation of (batch, channel, place) arrays, with places that do not count.

use pulp::{Simd, WithSimd};

use crate::{Float, lanes::Lanes, machine, parallel};

/// The sizes of an array and which of its places count.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a, T> {
    /// Rows of a sample.
    pub channels: usize,
    /// Places of a row, not zero.
    pub length: usize,
    /// `(batch, length)`: a place counts where it is above zero.
    pub mask: Option<&'a [T]>,
}

impl<'a, T: Float> Places<'a, T> {
    fn mask_of(&self, sample: usize) -> Option<&'a [T]> {
        self.mask.map(|mask| &mask[sample * self.length..][..self.length])
    }

    /// The places that count, and one where none does.
    #[expect(clippy::cast_precision_loss, reason = "no array has 2^53 places")]
    fn count(&self, total: usize) -> f64 {
        let counted = |mask: &[T]| mask.iter().filter(|&&value| value > T::ZERO).count();
        self.mask.map_or(total / self.channels.max(1), counted).max(1) as f64
    }
}

/// What follows the normalisation.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a, T> {
    /// The factor of each channel.
    pub weight: &'a [T],
    /// Added to each channel.
    pub bias: &'a [T],
    /// Added to the variance.
    pub epsilon: f64,
}

/// Fills the normalised array and every channel's mean and biased variance over the
/// places that count.
pub fn normalise<T: Float>(
    places: Places<'_, T>,
    x: &[T],
    affine: Affine<'_, T>,
    outs: [&mut [T]; 3],
    threads: usize,
) {
    let [out, mean, variance] = outs;
    moments(places, x, mean, variance, threads);
    let Affine { weight, bias, epsilon } = affine;
    let normal = Normal { weight, mean, variance, epsilon };
    let line = |channel: usize| {
        let gain = weight[channel].wide() * normal.inverse(channel);
        let offset = bias[channel].wide() - gain * normal.mean[channel].wide();
        [T::of(gain), T::ZERO, T::of(offset)]
    };
    combine(places, (x, x), line, out, threads);
}

fn moments<T: Float>(
    places: Places<'_, T>,
    x: &[T],
    mean: &mut [T],
    variance: &mut [T],
    threads: usize,
) {
    let count = places.count(x.len());
    parallel::chunk_pairs((mean, variance), (1, 1), threads, |channel, mean, variance| {
        let sum = |center: T| {
            let term = Deviation { center };
            machine::dispatch(Channel { places, channel, pair: (x, x), term })
        };
        let center = T::of(sum(T::ZERO)[0] / count);
        let [off, square] = sum(center);
        mean[0] = T::of(center.wide() + off / count);
        variance[0] = T::of((square - off * off / count) / count);
    });
}

/// Fills `out` with `x * scale + shift` by channel, and zero where a place does not count.
pub fn scale_shift<T: Float>(
    places: Places<'_, T>,
    x: &[T],
    lines: (&[T], &[T]),
    out: &mut [T],
    threads: usize,
) {
    let (scale, shift) = lines;
    let line = |channel: usize| [scale[channel], T::ZERO, shift[channel]];
    combine(places, (x, x), line, out, threads);
}

/// Fills the gradients of the input, the weight and the bias.
pub fn gradients<T: Float>(
    places: Places<'_, T>,
    (x, grad): (&[T], &[T]),
    normal: Normal<'_, T>,
    outs: [&mut [T]; 3],
    threads: usize,
) {
    let [out, out_weight, out_bias] = outs;
    parallel::chunk_pairs((out_weight, out_bias), (1, 1), threads, |channel, weight, bias| {
        let term = Slope { center: normal.mean[channel] };
        let [total, product] = machine::dispatch(Channel { places, channel, pair: (x, grad), term });
        weight[0] = T::of(product * normal.inverse(channel));
        bias[0] = T::of(total);
    });
    let count = places.count(x.len());
    let line = |channel| normal.line(channel, out_weight[channel], out_bias[channel], count);
    combine(places, (grad, x), line, out, threads);
}

/// What an array was normalised by.
#[derive(Clone, Copy, Debug)]
pub struct Normal<'a, T> {
    /// The factor of each channel.
    pub weight: &'a [T],
    /// The mean of each channel.
    pub mean: &'a [T],
    /// The biased variance of each channel.
    pub variance: &'a [T],
    /// Added to the variance.
    pub epsilon: f64,
}

impl<T: Float> Normal<'_, T> {
    /// One over a channel's standard deviation.
    pub fn inverse(&self, channel: usize) -> f64 {
        (self.variance[channel].wide() + self.epsilon).sqrt().recip()
    }

    /// The input's gradient is this line of the output's gradient and the input.
    fn line(&self, channel: usize, weight_grad: T, bias_grad: T, count: f64) -> [T; 3] {
        let inverse = self.inverse(channel);
        let gain = self.weight[channel].wide() * inverse;
        let slope = -gain * inverse * weight_grad.wide() / count;
        let offset = -gain * bias_grad.wide() / count - slope * self.mean[channel].wide();
        [gain, slope, offset].map(T::of)
    }
}

/// Fills `out` with `line[0] * a + line[1] * b + line[2]`, each channel with its line.
fn combine<T: Float>(
    places: Places<'_, T>,
    pair: (&[T], &[T]),
    line: impl Fn(usize) -> [T; 3] + Sync,
    out: &mut [T],
    threads: usize,
) {
    let Places { channels, length, .. } = places;
    let rows = parallel::rows_per_chunk(length);
    parallel::chunks(out, rows * length, threads, |number, out| {
        for (row, out) in (number * rows..).zip(out.chunks_mut(length)) {
            let mask = places.mask_of(row / channels);
            let pair = (&pair.0[row * length..][..length], &pair.1[row * length..][..length]);
            machine::dispatch(Row { pair, mask, line: line(row % channels), out });
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
        let [gain, slope, offset] = self.line.map(|value| Lanes::<S, T>::splat(simd, value));
        let (out, out_rest) = T::split_mut::<S>(self.out);
        let mut out = out.iter_mut();
        each(simd, self.pair, self.mask, |a, b, mask| {
            let value = keep(mask, a.mul_add(gain, b.mul_add(slope, offset)));
            match out.next() {
                Some(out) => *out = value.vector,
                None => value.store_part(out_rest),
            }
        });
    }
}

/// Calls `act` with two rows and their mask, register by register; of the last, which is
/// not full, the mask has the places that there are.
#[inline(always)]
fn each<S: Simd, T: Float>(
    simd: S,
    (a, b): (&[T], &[T]),
    mask: Option<&[T]>,
    mut act: impl FnMut(Lanes<S, T>, Lanes<S, T>, Option<Lanes<S, T>>),
) {
    let ((a, a_rest), (b, b_rest)) = (T::split::<S>(a), T::split::<S>(b));
    let (full, full_rest) = T::split::<S>(mask.unwrap_or_default());
    let pairs = a.iter().zip(b).map(|(&a, &b)| (Lanes::new(simd, a), Lanes::new(simd, b)));
    if mask.is_some() {
        pairs.zip(full).for_each(|((a, b), &mask)| act(a, b, Some(Lanes::new(simd, mask))));
    } else {
        pairs.for_each(|(a, b)| act(a, b, None));
    }
    let ones = [T::ONE; MOST_LANES];
    let rest = if mask.is_some() { full_rest } else { &ones[..a_rest.len()] };
    let [a, b, rest] = [a_rest, b_rest, rest].map(|rest| Lanes::load_part(simd, rest));
    act(a, b, Some(rest));
}

/// No register holds more floats.
const MOST_LANES: usize = 16;

/// The value where the mask is above zero, else zero.
#[inline(always)]
fn keep<S: Simd, T: Float>(mask: Option<Lanes<S, T>>, value: Lanes<S, T>) -> Lanes<S, T> {
    let zero = value.like(T::ZERO);
    mask.map_or(value, |mask| zero.if_less(mask, value, zero))
}

/// Two numbers to be summed over a channel, of one place.
trait Term<T: Float>: Copy {
    fn of<S: Simd>(self, x: Lanes<S, T>, y: Lanes<S, T>) -> [Lanes<S, T>; 2];
}

#[derive(Clone, Copy)]
struct Deviation<T> {
    center: T,
}

impl<T: Float> Term<T> for Deviation<T> {
    #[inline(always)]
    fn of<S: Simd>(self, x: Lanes<S, T>, _: Lanes<S, T>) -> [Lanes<S, T>; 2] {
        let off = x - x.like(self.center);
        [off, off * off]
    }
}

#[derive(Clone, Copy)]
struct Slope<T> {
    center: T,
}

impl<T: Float> Term<T> for Slope<T> {
    #[inline(always)]
    fn of<S: Simd>(self, x: Lanes<S, T>, grad: Lanes<S, T>) -> [Lanes<S, T>; 2] {
        [grad, grad * (x - x.like(self.center))]
    }
}

/// The sums of a term over one channel of a batch.
struct Channel<'a, T, F> {
    places: Places<'a, T>,
    channel: usize,
    pair: (&'a [T], &'a [T]),
    term: F,
}

impl<T: Float, F: Term<T>> WithSimd for Channel<'_, T, F> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
        let Places { channels, length, .. } = self.places;
        let samples = self.pair.0.len() / (channels * length).max(1);
        let mut totals = [0.0; 2];
        for sample in 0..samples {
            let start = (sample * channels + self.channel) * length;
            let pair = (&self.pair.0[start..][..length], &self.pair.1[start..][..length]);
            let sums = self.row(simd, pair, self.places.mask_of(sample));
            totals = [totals[0] + sums[0].wide(), totals[1] + sums[1].wide()];
        }
        totals
    }
}

impl<T: Float, F: Term<T>> Channel<'_, T, F> {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, pair: (&[T], &[T]), mask: Option<&[T]>) -> [T; 2] {
        let mut sums = [Lanes::splat(simd, T::ZERO); 2];
        each(simd, pair, mask, |x, y, mask| {
            let terms = self.term.of(x, y).map(|term| keep(mask, term));
            sums = [sums[0] + terms[0], sums[1] + terms[1]];
        });
        sums.map(Lanes::sum)
    }
}
