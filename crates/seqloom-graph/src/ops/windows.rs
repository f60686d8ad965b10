//! Convolution and max pooling.

use seqloom_kernels::conv::{self, Shape};
use seqloom_kernels::depthwise;
use seqloom_kernels::max_pool1d::{PoolWindow, max_pool1d};

use super::call::Call;
use super::elementwise::{Operands, add_function};
use super::fused::Operand;
use crate::Dtype;
use crate::memory::{Outcome, Read, ReadIter, Write, by_float};
use crate::plan::{Builder, View};

/// The parameters of a convolution, each as (height, width), and the number of groups.
struct ConvGeometry {
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
}

impl ConvGeometry {
    fn new(call: &Call<'_>, axes: usize) -> Outcome<Self> {
        Ok(Self {
            stride: height_width(call, "stride", axes, 1)?,
            padding: height_width(call, "padding", axes, 0)?,
            dilation: height_width(call, "dilation", axes, 1)?,
            groups: group_count(call)?,
        })
    }
}

/// Returns the height and width in an argument of a convolution. In one dimension, the
/// height is `default`.
fn height_width(call: &Call<'_>, name: &str, axes: usize, default: usize) -> Outcome<[usize; 2]> {
    let sizes = match call.get(name)? {
        None => vec![default],
        Some(_) => call.shape(name)?,
    };
    match (&sizes[..], axes) {
        ([one], 1) => Ok([default, *one]),
        ([one], _) => Ok([*one, *one]),
        ([height, width], 2) => Ok([*height, *width]),
        _ => Err(format!(
            "{name}: expected a number for each of {axes} axes, got {sizes:?}"
        )),
    }
}

fn group_count(call: &Call<'_>) -> Outcome<usize> {
    let groups = call.int("groups")?.unwrap_or(1);
    let found = usize::try_from(groups).ok().filter(|&groups| groups > 0);
    found.ok_or_else(|| format!("groups: expected a number from 1, got {groups}"))
}

/// Returns the sizes of an array with samples, channels, and one or two axes.
fn image_sizes(view: &View, name: &str) -> Outcome<[usize; 4]> {
    match *view.shape() {
        [n, c, width] => Ok([n, c, 1, width]),
        [n, c, height, width] => Ok([n, c, height, width]),
        _ => Err(format!(
            "{name}: expected 3 or 4 axes, got {:?}",
            view.shape()
        )),
    }
}

/// Returns the shape of a convolution after checking its input, filters and output.
fn conv_shape(
    b: &Builder,
    dtype: Dtype,
    (x, weight): ([usize; 4], [usize; 4]),
    steps: &ConvGeometry,
) -> Outcome<(Shape, [usize; 2])> {
    let ([batch, channels, height, width], [outputs, inner, high, wide]) = (x, weight);
    let shape = Shape {
        batch,
        channels,
        size: [height, width],
        outputs,
        kernel: [high, wide],
        stride: steps.stride,
        padding: steps.padding,
        dilation: steps.dilation,
        groups: steps.groups,
    };
    let is_sound = do_sizes_fit(&shape) && inner.checked_mul(steps.groups) == Some(channels);
    let out = is_sound.then(|| shape.out_size()).flatten();
    let work = out.and_then(|out| {
        let sizes = [batch, outputs, out[0], out[1], inner, high, wide];
        sizes
            .iter()
            .try_fold(1_usize, |all, &size| all.checked_mul(size))
    });
    let (out, _) = out.zip(work).ok_or_else(|| {
        format!(
            "expected x (n, c, ...), weight (o, c / groups, ...), groups that divide c and o, steps \
             from 1 and a filter within the padded positions; got x {x:?}, weight {weight:?}, \
             groups {}",
            steps.groups
        )
    })?;
    // Kernels copy a padded sample into memory with space for one extra stride.
    let padded = |axis: usize| shape.size[axis] + 2 * shape.padding[axis];
    b.array_bytes(dtype, &[channels, padded(0), padded(1) + shape.stride[1]])?;
    Ok((shape, out))
}

/// Returns true if the sizes do not overflow and all strides and dilations are positive.
fn do_sizes_fit(shape: &Shape) -> bool {
    let sizes = [
        shape.size,
        shape.kernel,
        shape.padding,
        shape.dilation,
        shape.stride,
    ];
    let reach = shape.dilation[0]
        .saturating_mul(shape.kernel[0])
        .max(shape.dilation[1].saturating_mul(shape.kernel[1]));
    sizes.iter().flatten().all(|&size| size < MAX_POSITIONS)
        && reach < MAX_POSITIONS
        && !shape.stride.contains(&0)
}

/// The maximum number of positions along an axis.
const MAX_POSITIONS: usize = 1 << 28;

pub(crate) fn convolve(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, weight) = (call.array("x")?, call.array("weight")?);
    let bias = call.opt_array("bias")?;
    let axes = axis_count(call, &x, &weight)?;
    let steps = ConvGeometry::new(call, axes)?;
    let dtype = require_one_type(&[Some(&x), Some(&weight), bias.as_ref()])?;
    let images = (image_sizes(&x, "x")?, image_sizes(&weight, "weight")?);
    let (shape, out) = conv_shape(b, dtype, images, &steps)?;
    if bias
        .as_ref()
        .is_some_and(|bias| bias.shape() != [shape.outputs])
    {
        return Err(format!(
            "bias: expected a number for each of {} outputs",
            shape.outputs
        ));
    }
    let made = b.allocate(dtype, &out_shape(&[shape.batch, shape.outputs], out, axes))?;
    let has_bias = bias.is_some();
    let arrays = [Some(x), Some(weight), bias].into_iter().flatten();
    let reads = arrays
        .map(|view| b.contiguous(&view))
        .collect::<Outcome<_>>()?;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [write] = writes else { return Ok(()) };
            let threads = seqloom_kernels::useful_threads(threads, shape.nanoseconds());
            by_float!(dtype, T => {
                let mut reads = ReadIter::new(reads);
                let pair = (reads.take::<T>()?, reads.take()?);
                let fill = if depthwise::is_depthwise(&shape) { depthwise::forward } else { conv::forward };
                fill(&shape, pair, reads.take_optional(has_bias)?, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(reads, &[&made], kernel)?;
    Ok(made)
}

/// Returns the number of spatial axes: 2 if the name of the operation contains "2d",
/// otherwise 1.
fn axis_count(call: &Call<'_>, x: &View, weight: &View) -> Outcome<usize> {
    let axes = if call.name().contains("2d") { 2 } else { 1 };
    if x.rank() == axes + 2 && weight.rank() == axes + 2 {
        return Ok(axes);
    }
    let (x, weight) = (x.shape(), weight.shape());
    Err(format!(
        "expected x and weight of {} axes, got {x:?} and {weight:?}",
        axes + 2
    ))
}

fn out_shape(first: &[usize], out: [usize; 2], axes: usize) -> Vec<usize> {
    [first, &out[2 - axes..]].concat()
}

/// Returns the common float type of arrays, or an error.
pub(crate) fn require_one_type(views: &[Option<&View>]) -> Outcome<Dtype> {
    let mut dtypes = views.iter().flatten().map(|view| view.dtype);
    let first = dtypes.next().ok_or("expected an array")?;
    if !first.is_float() || dtypes.any(|dtype| dtype != first) {
        return Err("expected arrays of one float type".to_owned());
    }
    Ok(first)
}

/// Adds the gradient of a convolution with respect to its input, which has the given shape.
pub(crate) fn input_grad(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (grad, weight) = (call.array("grad")?, call.array("weight")?);
    let axes = axis_count(call, &grad, &weight)?;
    let shape = call.shape("shape")?;
    add_input_grad(b, &grad, &weight, &shape, &ConvGeometry::new(call, axes)?)
}

fn add_input_grad(
    b: &mut Builder,
    grad: &View,
    weight: &View,
    shape: &[usize],
    steps: &ConvGeometry,
) -> Outcome<View> {
    require_one_type(&[Some(grad), Some(weight)])?;
    let made = b.allocate(grad.dtype, shape)?;
    let images = (image_sizes(&made, "shape")?, image_sizes(weight, "weight")?);
    let (sizes, out) = conv_shape(b, grad.dtype, images, steps)?;
    let expected = [sizes.batch, sizes.outputs, out[0], out[1]];
    if image_sizes(grad, "grad")? != expected {
        return Err(format!(
            "expected an array {expected:?}, got {:?}",
            grad.shape()
        ));
    }
    let dtype = grad.dtype;
    let reads = vec![b.contiguous(grad)?, b.contiguous(weight)?];
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([grad, weight], [write]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, sizes.nanoseconds());
            by_float!(dtype, T => {
                let is_deep = depthwise::is_depthwise(&sizes);
                let fill = if is_deep { depthwise::input_grad } else { conv::input_grad };
                fill(&sizes, grad.slice::<T>()?, weight.slice::<T>()?, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(reads, &[&made], kernel)?;
    Ok(made)
}

/// Adds a transposed convolution to the plan.
pub(crate) fn transposed_convolution(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, weight) = (call.array("x")?, call.array("weight")?);
    let axes = axis_count(call, &x, &weight)?;
    let steps = ConvGeometry::new(call, axes)?;
    let extra = height_width(call, "output_padding", axes, 0)?;
    if (0..2).any(|axis| extra[axis] >= steps.stride[axis] && extra[axis] > 0) {
        return Err(
            "this version of seqloom-run supports output_padding below the stride only".to_owned(),
        );
    }
    let ([n, _, high, wide], [_, inner, tall, broad]) =
        (image_sizes(&x, "x")?, image_sizes(&weight, "weight")?);
    let length = |axis: usize, count: usize, taps: usize| {
        let reach = (taps.checked_sub(1)?).checked_mul(steps.dilation[axis])?;
        let whole = count.checked_sub(1)?.checked_mul(steps.stride[axis])?;
        let whole = whole.checked_add(reach)?.checked_add(extra[axis] + 1)?;
        whole.checked_sub(steps.padding[axis].checked_mul(2)?)
    };
    let sizes = length(0, high, tall).zip(length(1, wide, broad));
    let (height, width) = sizes.ok_or("expected at least one position and one kernel element")?;
    let channels = inner.checked_mul(steps.groups).ok_or("groups: too many")?;
    let shape = out_shape(&[n, channels], [height, width], axes);
    let found = add_input_grad(b, &x, &weight, &shape, &steps)?;
    let Some(bias) = call.opt_array("bias")? else {
        return Ok(found);
    };
    let mut layout = bias.layout.clone();
    (0..axes).for_each(|axis| layout = layout.unsqueezed(1 + axis));
    let dtype = found.dtype;
    let both = vec![
        Operand::Array(found),
        Operand::Array(bias.with_layout(layout)),
    ];
    add_function(b, "add", &Operands::new(both, dtype))
}

/// Adds max pooling to the plan. The results are the maximum of each window and its
/// position.
pub(crate) fn max_pool(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let x = call.array("x")?;
    let [n, channels, length] = *x.shape() else {
        return Err(format!("x: expected (n, c, l), got {:?}", x.shape()));
    };
    let window = pooling_window(call, length)?;
    let dtype = require_one_type(&[Some(&x)])?;
    let count = window.out_length().filter(|&count| count <= MAX_POSITIONS);
    let count = count.ok_or("expected windows within the padded positions")?;
    let x = b.contiguous(&x)?;
    let made = b.allocate(dtype, &[n, channels, count])?;
    let places = b.allocate(Dtype::Int64, &[n, channels, count])?;
    let total = x.layout.count();
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([x], [write, places]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, total);
            by_float!(dtype, T => {
                max_pool1d(&window, x.slice::<T>()?, write.slice()?, places.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(vec![x], &[&made, &places], kernel)?;
    Ok(vec![made, places])
}

/// Returns the pooling windows of an axis of this length.
fn pooling_window(call: &Call<'_>, length: usize) -> Outcome<PoolWindow> {
    let one = |name: &str, default: usize| match call.get(name)? {
        None => Ok(default),
        Some(_) => match call.shape(name)?[..] {
            [size] if size < MAX_POSITIONS => Ok(size),
            _ => Err(format!("{name}: expected one number")),
        },
    };
    let (kernel, padding) = (one("kernel", 0)?, one("padding", 0)?);
    let stride = one("stride", kernel)?;
    if one("dilation", 1)? != 1 || call.flag("ceil_mode")? {
        return Err(
            "this version of seqloom-run supports max_pool1d without dilation and ceil_mode \
                    only"
                .to_owned(),
        );
    }
    if kernel == 0 || stride == 0 || padding > kernel / 2 || length >= MAX_POSITIONS {
        return Err(
            "expected a kernel and a stride from 1, and padding of at most half of the \
                    kernel"
                .to_owned(),
        );
    }
    Ok(PoolWindow {
        length,
        kernel,
        stride,
        padding,
    })
}
