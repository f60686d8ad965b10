//! Normalisation, and a scale and shift for each channel.

use seqloom_fuse::Op;
use seqloom_kernels::batch_norm::{self, Affine, Positions};
use seqloom_kernels::norm::{NormRule, normalise};

use super::call::Call;
use super::create::add_full;
use super::fused::{Operand, add_op_ordered};
use super::windows::require_one_type;
use crate::memory::{Outcome, Read, ReadIter, Write, by_float};
use crate::plan::{Builder, View};

/// Adds layer norm or RMS norm to the plan; layer norm also returns the mean and 1 /
/// standard deviation of each row.
pub(crate) fn normalise_rows(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let x = call.array("x")?;
    let is_centred = call.name() == "layer_norm";
    let weight = call.opt_array("weight")?;
    let bias = if is_centred {
        call.opt_array("bias")?
    } else {
        None
    };
    let epsilon = call.float("eps")?.ok_or("eps is missing")?;
    require_one_type(&[Some(&x), weight.as_ref(), bias.as_ref()])?;
    let width = x.shape().last().copied().filter(|&width| width > 0);
    let width = width.ok_or("expected rows that are not empty")?;
    let mut reads = vec![b.contiguous(&x)?, column_values(b, weight, &x, width, 1.0)?];
    if is_centred {
        reads.push(column_values(b, bias, &x, width, 0.0)?);
    }
    add_kernel(b, &x, reads, epsilon, is_centred)
}

/// Adds the normalisation kernel to the plan, with its weight and, for layer norm, its
/// bias.
fn add_kernel(
    b: &mut Builder,
    x: &View,
    reads: Vec<View>,
    epsilon: f64,
    is_centred: bool,
) -> Outcome<Vec<View>> {
    let outer = &x.shape()[..x.rank() - 1];
    let (made, means) = (b.allocate(x.dtype, x.shape())?, b.allocate(x.dtype, outer)?);
    let inverses = b.allocate(x.dtype, outer)?;
    let (dtype, count) = (x.dtype, x.layout.count());
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [out, means, inverses] = writes else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, count);
            by_float!(dtype, T => {
                let mut reads = ReadIter::new(reads);
                let (x, weight) = (reads.take::<T>()?, reads.take()?);
                let bias = reads.take_optional(is_centred)?;
                let outs = [out.slice()?, means.slice()?, inverses.slice()?];
                normalise(NormRule { weight, bias, epsilon }, x, outs, threads);
                Ok(())
            })
        },
    );
    b.add_step(reads, &[&made, &means, &inverses], kernel)?;
    Ok(if is_centred {
        vec![made, means, inverses]
    } else {
        vec![made, inverses]
    })
}

/// Returns one number for each column: the argument, or a default if it is not given.
fn column_values(
    b: &mut Builder,
    array: Option<View>,
    x: &View,
    width: usize,
    default: f64,
) -> Outcome<View> {
    let Some(view) = array else {
        return add_full(b, x.dtype, &[width], default);
    };
    if view.shape() != [width] {
        return Err(format!(
            "expected {width} numbers, one for each column, got {:?}",
            view.shape()
        ));
    }
    b.contiguous(&view)
}

/// An array (samples, channels, positions), with parameters for each channel and an
/// optional mask.
struct Channels {
    x: View,
    first: View,
    second: View,
    mask: Option<View>,
}

impl Channels {
    fn from_call(b: &mut Builder, call: &Call<'_>, names: [&str; 2]) -> Outcome<Self> {
        let (x, mask) = (call.array("x")?, call.opt_array("mask")?);
        let (first, second) = (call.array(names[0])?, call.array(names[1])?);
        let [batch, channels, length] = *x.shape() else {
            return Err(format!("x: expected (n, c, l), got {:?}", x.shape()));
        };
        require_one_type(&[Some(&x), Some(&first), Some(&second)])?;
        if length == 0 || first.shape() != [channels] || second.shape() != [channels] {
            return Err(format!(
                "expected positions, and numbers for each of {channels} channels"
            ));
        }
        if mask
            .as_ref()
            .is_some_and(|mask| mask.shape() != [batch, length])
        {
            return Err(format!("mask: expected ({batch}, {length})"));
        }
        let mask = mask.map(|mask| {
            let mask = b.cast(&mask, x.dtype)?;
            b.contiguous(&mask)
        });
        let (x, first, second) = (
            b.contiguous(&x)?,
            b.contiguous(&first)?,
            b.contiguous(&second)?,
        );
        Ok(Self {
            x,
            first,
            second,
            mask: mask.transpose()?,
        })
    }

    fn inputs(&self) -> Vec<View> {
        let all = [&self.x, &self.first, &self.second]
            .into_iter()
            .chain(&self.mask);
        all.cloned().collect()
    }
}

/// Adds `x * scale + shift` by channel to the plan, with 0 at masked positions.
pub(crate) fn scale_shift(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let inputs = Channels::from_call(b, call, ["scale", "shift"])?;
    let x = &inputs.x;
    // A fused program broadcasts the channel parameters for each row, which is cheap
    // for long rows.
    if inputs.mask.is_none() && b.group.is_some() && x.shape()[2] >= MIN_FUSED_ROW_LENGTH {
        let column = |view: &View| Operand::Array(view.with_layout(view.layout.unsqueezed(1)));
        let all = [
            Operand::Array(x.clone()),
            column(&inputs.first),
            column(&inputs.second),
        ];
        return add_op_ordered(b, Op::Fma, &all, x.dtype, &[0, 1, 2]);
    }
    let made = b.allocate(x.dtype, x.shape())?;
    let (dtype, channels, length) = (x.dtype, x.shape()[1], x.shape()[2]);
    let count = x.layout.count();
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([x, scale, shift, mask @ ..], [write]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, count / 3);
            by_float!(dtype, T => {
                let mask = mask.first().map(Read::slice::<T>).transpose()?;
                let positions = Positions { channels, length, mask };
                let lines = (scale.slice::<T>()?, shift.slice::<T>()?);
                batch_norm::scale_shift(positions, x.slice()?, lines, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(inputs.inputs(), &[&made], kernel)?;
    Ok(made)
}

/// The row length above which scale and shift are fused into the program of the group.
const MIN_FUSED_ROW_LENGTH: usize = 512;

/// Adds batch norm to the plan. The outputs of batch norm include the means and variances
/// of the batch.
pub(crate) fn batch_norm(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let inputs = Channels::from_call(b, call, ["weight", "bias"])?;
    let epsilon = call.float("eps")?.ok_or("eps is missing")?;
    let x = &inputs.x;
    let (dtype, channels, length) = (x.dtype, x.shape()[1], x.shape()[2]);
    let (made, mean) = (
        b.allocate(dtype, x.shape())?,
        b.allocate(dtype, &[channels])?,
    );
    let variance = b.allocate(dtype, &[channels])?;
    let count = x.layout.count();
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([x, weight, bias, mask @ ..], [out, mean, variance]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, count);
            by_float!(dtype, T => {
                let mask = mask.first().map(Read::slice::<T>).transpose()?;
                let positions = Positions { channels, length, mask };
                let affine = Affine { weight: weight.slice::<T>()?, bias: bias.slice()?, epsilon };
                let outs = [out.slice()?, mean.slice()?, variance.slice()?];
                batch_norm::normalise(positions, x.slice()?, affine, outs, threads);
                Ok(())
            })
        },
    );
    b.add_step(inputs.inputs(), &[&made, &mean, &variance], kernel)?;
    Ok(vec![made, mean, variance])
}
