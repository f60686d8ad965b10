//! Batch normalisation of arrays of shape (batch, channel, position) with masked
//! positions.

mod each;
mod line;
mod sums;

use crate::{Float, Instances, parallel};
use line::combine_by_channel;
use seqloom_macros::compiled_once;
use sums::{DeviationTerms, SlopeTerms, sum_channel};

pub use each::Positions;

/// The affine function that batch normalisation applies after the normalisation.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a, T> {
    /// The factor by which each channel is multiplied after the normalisation.
    pub weight: &'a [T],
    /// The term that is added to each channel after the normalisation.
    pub bias: &'a [T],
    /// A small number that is added to the variance.
    pub epsilon: f64,
}

/// Fills the normalised array, and the mean and biased variance of each channel over
/// its unmasked positions.
#[compiled_once]
pub fn normalise<T: Float>(
    positions: Positions<'_, T>,
    x: &[T],
    affine: Affine<'_, T>,
    outs: [&mut [T]; 3],
    threads: usize,
) {
    let [out, mean, variance] = outs;
    fill_moments(positions, x, mean, variance, threads);
    let Affine {
        weight,
        bias,
        epsilon,
    } = affine;
    let normal = ChannelMoments {
        weight,
        mean,
        variance,
        epsilon,
    };
    let line = |channel: usize| {
        let gain = weight[channel].to_f64() * normal.inverse_deviation(channel);
        let offset = bias[channel].to_f64() - gain * normal.mean[channel].to_f64();
        [T::from_f64(gain), T::from_f64(offset)]
    };
    combine_by_channel(positions, (x, x), line, out, threads);
}

fn fill_moments<T: Float>(
    positions: Positions<'_, T>,
    x: &[T],
    mean: &mut [T],
    variance: &mut [T],
    threads: usize,
) {
    let count = positions.count_unmasked(x.len());
    parallel::fill_pairs(
        (mean, variance),
        (1, 1),
        threads,
        |channel, mean, variance| {
            let sum = |center: T| {
                let term = DeviationTerms { center };
                sum_channel(positions, channel, (x, x), term)
            };
            let center = T::from_f64(sum(T::ZERO)[0] / count);
            let [off, square] = sum(center);
            mean[0] = T::from_f64(center.to_f64() + off / count);
            variance[0] = T::from_f64((square - off * off / count) / count);
        },
    );
}

/// Fills `out` with `x * scale + shift`, with one scale and shift per channel, and with
/// 0 at masked positions.
#[compiled_once]
pub fn scale_shift<T: Float>(
    positions: Positions<'_, T>,
    x: &[T],
    lines: (&[T], &[T]),
    out: &mut [T],
    threads: usize,
) {
    let (scale, shift) = lines;
    let line = |channel: usize| [scale[channel], shift[channel]];
    combine_by_channel(positions, (x, x), line, out, threads);
}

/// Fills the gradients of the input, the weight and the bias.
#[compiled_once]
pub fn fill_gradients<T: Float>(
    positions: Positions<'_, T>,
    (x, grad): (&[T], &[T]),
    normal: ChannelMoments<'_, T>,
    outs: [&mut [T]; 3],
    threads: usize,
) {
    let [out, out_weight, out_bias] = outs;
    parallel::fill_pairs(
        (out_weight, out_bias),
        (1, 1),
        threads,
        |channel, weight, bias| {
            let term = SlopeTerms {
                center: normal.mean[channel],
            };
            let [total, product] = sum_channel(positions, channel, (x, grad), term);
            weight[0] = T::from_f64(product * normal.inverse_deviation(channel));
            bias[0] = T::from_f64(total);
        },
    );
    let count = positions.count_unmasked(x.len());
    let line =
        |channel| normal.coefficients(channel, out_weight[channel], out_bias[channel], count);
    combine_by_channel(positions, (grad, x), line, out, threads);
}

/// The mean, variance and weight of each channel of a normalised array.
#[derive(Clone, Copy, Debug)]
pub struct ChannelMoments<'a, T> {
    /// The factor by which each channel is multiplied after the normalisation.
    pub weight: &'a [T],
    /// The mean of each channel.
    pub mean: &'a [T],
    /// The biased variance of each channel.
    pub variance: &'a [T],
    /// A small number that is added to the variance.
    pub epsilon: f64,
}

impl<T: Float> ChannelMoments<'_, T> {
    /// Returns 1 / standard deviation of a channel.
    pub fn inverse_deviation(&self, channel: usize) -> f64 {
        (self.variance[channel].to_f64() + self.epsilon)
            .sqrt()
            .recip()
    }

    /// Returns the coefficients of the input gradient as a linear combination: the
    /// factor of the output gradient, a constant, and the factor of the input.
    fn coefficients(&self, channel: usize, weight_grad: T, bias_grad: T, count: f64) -> [T; 3] {
        let inverse = self.inverse_deviation(channel);
        let gain = self.weight[channel].to_f64() * inverse;
        let slope = -gain * inverse * weight_grad.to_f64() / count;
        let offset = -gain * bias_grad.to_f64() / count - slope * self.mean[channel].to_f64();
        [gain, offset, slope].map(T::from_f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    #[test]
    fn an_infinite_value_stays_infinite() {
        run_on_every_machine(|_| {
            let positions = Positions {
                channels: 1,
                length: 3,
                mask: None,
            };
            let mut out = [0.0_f32; 3];
            let x = [f32::INFINITY, f32::NEG_INFINITY, 2.0];
            scale_shift(positions, &x, (&[2.0], &[1.0]), &mut out, 1);
            let wanted = [f32::INFINITY, f32::NEG_INFINITY, 5.0];
            assert_eq!(out.map(f32::to_bits), wanted.map(f32::to_bits));
        });
    }

    #[test]
    fn masked_positions_are_excluded_and_become_zero() {
        let x = [1.0_f64, 3.0, 900.0, 5.0, 900.0, f64::NAN];
        let mask = [1.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        let positions = Positions {
            channels: 1,
            length: 3,
            mask: Some(&mask),
        };
        let affine = Affine {
            weight: &[1.0],
            bias: &[10.0],
            epsilon: 0.0,
        };
        run_on_every_machine(|_| {
            let (mut out, mut mean, mut variance) = ([f64::NAN; 6], [0.0], [0.0]);
            normalise(
                positions,
                &x,
                affine,
                [&mut out, &mut mean, &mut variance],
                1,
            );
            assert!((mean[0] - 3.0).abs() < 1e-15);
            assert!((variance[0] - 8.0 / 3.0).abs() < 1e-15);
            let off = 2.0 / (8.0_f64 / 3.0).sqrt();
            for (found, expected) in out
                .iter()
                .zip([10.0 - off, 10.0, 0.0, 10.0 + off, 0.0, 0.0])
            {
                assert!((found - expected).abs() < 1e-14);
            }
        });
    }
}
