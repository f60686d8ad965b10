//! Fused operations of transformers: linear layers that process each row independently.

use seqloom_kernels::dense::{FeedForward, LinearLayer, Rotation, linear, linear_then_rotate};
use seqloom_kernels::norm::NormRule;

use super::call::Call;
use super::elementwise::{Operands, add_function};
use super::fused::Operand;
use super::product::linear_layer;
use super::windows::require_one_type;
use crate::layout::Layout;
use crate::memory::{Outcome, Read, ReadIter, Write, by_float};
use crate::plan::{Builder, View};

/// The rows of an array, and the weight and bias of a linear layer, in C order.
struct LinearInputs {
    reads: Vec<View>,
    /// The sizes of all axes of `x` except the last.
    outer: Vec<usize>,
    inputs: usize,
    outputs: usize,
    has_bias: bool,
}

impl LinearInputs {
    fn from_call(b: &mut Builder, call: &Call<'_>, more: &[Option<&View>]) -> Outcome<Self> {
        let (x, weight) = (call.array("x")?, call.array("weight")?);
        let bias = call.opt_array("bias")?;
        require_one_type(&[&[Some(&x), Some(&weight), bias.as_ref()], more].concat())?;
        let ([outer @ .., inputs], [outputs, weight_inputs]) = (x.shape(), weight.shape()) else {
            return Err("expected x (..., in) and weight (out, in)".to_owned());
        };
        let is_sound = inputs == weight_inputs && *inputs > 0 && *outputs > 0;
        if !is_sound || bias.as_ref().is_some_and(|bias| bias.shape() != [*outputs]) {
            let (x, weight) = (x.shape(), weight.shape());
            return Err(format!(
                "expected x (..., in), weight (out, in) and bias (out), got {x:?} and {weight:?}"
            ));
        }
        let mut reads = vec![b.contiguous(&x)?, b.contiguous(&weight)?];
        if let Some(bias) = &bias {
            reads.push(b.contiguous(bias)?);
        }
        Ok(Self {
            outer: outer.to_vec(),
            inputs: *inputs,
            outputs: *outputs,
            has_bias: bias.is_some(),
            reads,
        })
    }

    fn shape(&self) -> Vec<usize> {
        [&self.outer[..], &[self.outputs]].concat()
    }

    fn nanoseconds(&self) -> usize {
        let rows: usize = self.outer.iter().product();
        rows.saturating_mul(self.inputs)
            .saturating_mul(self.outputs)
            / 40
    }
}

/// Adds the operation that computes `x @ weight.T + bias + residual` to the plan.
pub(crate) fn linear_by_row(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let residual = call.opt_array("residual")?;
    let (x, weight) = (call.array("x")?, call.array("weight")?);
    if x.layout.count() == 0 || weight.layout.count() == 0 {
        return separate_operations(b, call, residual);
    }
    let mut layer = LinearInputs::from_call(b, call, &[residual.as_ref()])?;
    let shape = layer.shape();
    if residual
        .as_ref()
        .is_some_and(|residual| residual.shape() != shape)
    {
        return Err(format!("residual: expected {shape:?}"));
    }
    let (has_bias, inputs, nanoseconds) = (layer.has_bias, layer.inputs, layer.nanoseconds());
    let has_residual = residual.is_some();
    if let Some(residual) = &residual {
        layer.reads.push(b.contiguous(residual)?);
    }
    let dtype = x.dtype;
    let made = b.allocate(dtype, &shape)?;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [write] = writes else { return Ok(()) };
            let threads = seqloom_kernels::useful_threads(threads, nanoseconds);
            by_float!(dtype, T => {
                let mut reads = ReadIter::new(reads);
                let (x, weight) = (reads.take::<T>()?, reads.take()?);
                let layer = LinearLayer { weight, bias: reads.take_optional(has_bias)?, inputs };
                linear(layer, x, reads.take_optional(has_residual)?, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(layer.reads, &[&made], kernel)?;
    Ok(made)
}

/// For empty arrays, adds the linear layer and the residual addition to the plan as
/// separate operations.
fn separate_operations(b: &mut Builder, call: &Call<'_>, residual: Option<View>) -> Outcome<View> {
    let (x, weight) = (call.array("x")?, call.array("weight")?);
    let found = linear_layer(b, &x, &weight, call.opt_array("bias")?.as_ref())?;
    let Some(residual) = residual else {
        return Ok(found);
    };
    let dtype = found.dtype;
    let both = vec![Operand::Array(residual), Operand::Array(found)];
    add_function(b, "add", &Operands::new(both, dtype))
}

/// Adds the operation that computes queries, keys and values, with rotary position
/// embedding of queries and keys, as views of one array.
pub(crate) fn rotary(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let (cosine, sine) = (call.array("cosine")?, call.array("sine")?);
    let mut layer = LinearInputs::from_call(b, call, &[Some(&cosine), Some(&sine)])?;
    let (heads, half) = sizes(call, &layer, [&cosine, &sine])?;
    let (has_bias, inputs, nanoseconds) = (layer.has_bias, layer.inputs, layer.nanoseconds());
    layer
        .reads
        .extend([b.contiguous(&cosine)?, b.contiguous(&sine)?]);
    let dtype = cosine.dtype;
    let made = b.allocate(dtype, &layer.shape())?;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [write] = writes else { return Ok(()) };
            let threads = seqloom_kernels::useful_threads(threads, nanoseconds);
            by_float!(dtype, T => {
                let mut reads = ReadIter::new(reads);
                let (x, weight) = (reads.take::<T>()?, reads.take()?);
                let layer = LinearLayer { weight, bias: reads.take_optional(has_bias)?, inputs };
                let (cosines, sines, heads) = (reads.take()?, reads.take()?, 2 * heads);
                let rotation = Rotation { cosines, sines, half, heads };
                linear_then_rotate(layer, rotation, x, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(layer.reads, &[&made], kernel)?;
    let split = Layout::new(&[&layer.outer[..], &[3, heads, 2 * half]].concat());
    let axis = layer.outer.len();
    Ok((0..3)
        .map(|part| made.with_layout(split.select(axis, part)))
        .collect())
}

/// Returns the number of heads and half of their width, after checking the shapes of
/// the angles.
fn sizes(call: &Call<'_>, layer: &LinearInputs, angles: [&View; 2]) -> Outcome<(usize, usize)> {
    let heads = call
        .shape("heads")?
        .first()
        .copied()
        .filter(|&heads| heads > 0);
    let heads = heads.ok_or("heads: expected a number from 1")?;
    let half = layer.outputs / heads / 6;
    let expected = [&layer.outer[..], &[half]].concat();
    let is_whole = heads.checked_mul(6 * half) == Some(layer.outputs) && half > 0;
    if is_whole && angles.iter().all(|angles| angles.shape() == expected) {
        return Ok((heads, half));
    }
    Err(format!(
        "expected 3 * heads * d outputs, d even, and angles {expected:?}, got {} outputs, {heads} \
         heads and angles {:?}",
        layer.outputs,
        angles[0].shape()
    ))
}

/// Adds the operation that computes `x` plus a feed-forward block: layer norm, a linear
/// layer, gelu and another linear layer.
pub(crate) fn feed_forward(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let width = x.shape().last().copied().filter(|&width| width > 0);
    let width = width.ok_or("x: expected rows that are not empty")?;
    let hidden = call
        .array("weight_in")?
        .shape()
        .first()
        .copied()
        .unwrap_or(0);
    let views = layer_arrays(call, width, hidden)?;
    let arrays: Vec<Option<&View>> = views.iter().map(Option::as_ref).collect();
    require_one_type(&[&[Some(&x)], &arrays[..]].concat())?;
    let epsilon = call.float("eps")?.ok_or("eps is missing")?;
    let has_bias = [views[3].is_some(), views[5].is_some()];
    let mut reads = vec![b.contiguous(&x)?];
    for view in views.iter().flatten() {
        reads.push(b.contiguous(view)?);
    }
    let (dtype, made) = (x.dtype, b.allocate(x.dtype, x.shape())?);
    let nanoseconds = x.layout.count().saturating_mul(hidden) / 20;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [write] = writes else { return Ok(()) };
            let threads = seqloom_kernels::useful_threads(threads, nanoseconds);
            by_float!(dtype, T => {
                let mut reads = ReadIter::new(reads);
                let x = reads.take::<T>()?;
                let norm = NormRule { weight: reads.take()?, bias: Some(reads.take()?), epsilon };
                let (weight, bias) = (reads.take()?, reads.take_optional(has_bias[0])?);
                let inner = LinearLayer { weight, bias, inputs: width };
                let (weight, bias) = (reads.take()?, reads.take_optional(has_bias[1])?);
                let outer = LinearLayer { weight, bias, inputs: hidden };
                FeedForward { norm, inner, outer }.apply(x, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(reads, &[&made], kernel)?;
    Ok(made)
}

/// Returns the arrays of both linear layers and of the layer norm; biases are optional.
fn layer_arrays(call: &Call<'_>, width: usize, hidden: usize) -> Outcome<Vec<Option<View>>> {
    let sizes: [(&str, &[usize]); 6] = [
        ("norm_weight", &[width]),
        ("norm_bias", &[width]),
        ("weight_in", &[hidden, width]),
        ("bias_in", &[hidden]),
        ("weight_out", &[width, hidden]),
        ("bias_out", &[width]),
    ];
    let each = sizes.into_iter().map(|(name, shape)| {
        let view = call.opt_array(name)?;
        let is_free = name.starts_with("bias_");
        let fits = view.as_ref().map_or(is_free, |view| view.shape() == shape);
        if fits && hidden > 0 {
            return Ok(view);
        }
        Err(format!("{name}: expected shape {shape:?}, sizes above 0"))
    });
    each.collect()
}
