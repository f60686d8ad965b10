//! Bindings of `seqloom_kernels::batch_norm`.

use pyo3::prelude::*;
use seqloom_kernels::batch_norm::{self as kernel, Affine, ChannelMoments, Positions};
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// Normalises x (n, c, l) by the mean and biased variance of each channel over the
/// positions with a positive `mask` (n, l). The function also fills the arrays of means
/// and variances. The output is 0 at masked positions.
#[python_export]
pub(crate) fn batch_norm(
    py: Python<'_>,
    x: Floats<'_>,
    mask: Option<Floats<'_>>,
    weight: Floats<'_>,
    bias: Floats<'_>,
    eps: f64,
    out: Floats<'_>,
    mean: Floats<'_>,
    variance: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [batch, channels, length] = x.axes("x")?;
    let threads = seqloom_kernels::useful_threads(threads, x.len());
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let mask = floats::read_opt::<T>(mask.as_ref(), "mask", &[batch, length])?;
        let positions = Positions { channels, length, mask: floats::slice_opt(mask.as_ref())? };
        let weight = weight.read::<T>("weight", &[channels])?;
        let bias = bias.read::<T>("bias", &[channels])?;
        let mut out = out.write::<T>("out", &[batch, channels, length])?;
        let mut mean = mean.write::<T>("mean", &[channels])?;
        let mut variance = variance.write::<T>("variance", &[channels])?;
        let affine = Affine { weight: weight.as_slice()?, bias: bias.as_slice()?, epsilon: eps };
        let outs = [out.as_slice_mut()?, mean.as_slice_mut()?, variance.as_slice_mut()?];
        let x = x.as_slice()?;
        pool::run_kernel(py, threads, || kernel::normalise(positions, x, affine, outs, threads))
    })
}

/// Fills the gradients of the input, weight and bias of a batch normalisation.
#[python_export]
pub(crate) fn batch_norm_grad(
    py: Python<'_>,
    x: Floats<'_>,
    grad: Floats<'_>,
    mask: Option<Floats<'_>>,
    weight: Floats<'_>,
    mean: Floats<'_>,
    variance: Floats<'_>,
    eps: f64,
    out_x: Floats<'_>,
    out_weight: Floats<'_>,
    out_bias: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [batch, channels, length] = x.axes("x")?;
    let threads = seqloom_kernels::useful_threads(threads, x.len());
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let grad = grad.read::<T>("grad", &[batch, channels, length])?;
        let mask = floats::read_opt::<T>(mask.as_ref(), "mask", &[batch, length])?;
        let positions = Positions { channels, length, mask: floats::slice_opt(mask.as_ref())? };
        let [weight, mean, variance] = [
            weight.read::<T>("weight", &[channels])?,
            mean.read::<T>("mean", &[channels])?,
            variance.read::<T>("variance", &[channels])?,
        ];
        let [mut out_x, mut out_weight, mut out_bias] = [
            out_x.write::<T>("out_x", &[batch, channels, length])?,
            out_weight.write::<T>("out_weight", &[channels])?,
            out_bias.write::<T>("out_bias", &[channels])?,
        ];
        let (weight, mean, variance) = (weight.as_slice()?, mean.as_slice()?, variance.as_slice()?);
        let normal = ChannelMoments { weight, mean, variance, epsilon: eps };
        let outs = [out_x.as_slice_mut()?, out_weight.as_slice_mut()?, out_bias.as_slice_mut()?];
        let pair = (x.as_slice()?, grad.as_slice()?);
        pool::run_kernel(py, threads, || kernel::fill_gradients(positions, pair, normal, outs, threads))
    })
}

/// Applies batch normalisation with given statistics: fills `out` with
/// `x * scale + shift` by channel, and with 0 where `mask` (n, l) is not positive.
#[python_export]
pub(crate) fn scale_shift(
    py: Python<'_>,
    x: Floats<'_>,
    mask: Option<Floats<'_>>,
    scale: Floats<'_>,
    shift: Floats<'_>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [batch, channels, length] = x.axes("x")?;
    let threads = seqloom_kernels::useful_threads(threads, x.len() / 3);
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let mask = floats::read_opt::<T>(mask.as_ref(), "mask", &[batch, length])?;
        let positions = Positions { channels, length, mask: floats::slice_opt(mask.as_ref())? };
        let (scale, shift) = (scale.read::<T>("scale", &[channels])?, shift.read::<T>("shift", &[channels])?);
        let mut out = out.write::<T>("out", &[batch, channels, length])?;
        let lines = (scale.as_slice()?, shift.as_slice()?);
        let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
        pool::run_kernel(py, threads, || kernel::scale_shift(positions, x, lines, out, threads))
    })
}
