//! The implementation of each operation, which adds steps to a plan.

mod activations;
mod attend;
mod call;
mod copy;
mod create;
mod dense;
mod elementwise;
mod fused;
mod index;
mod integers;
mod join;
mod norms;
mod order;
mod product;
mod recurrent;
mod reduce;
mod scalars;
mod search;
mod shapes;
mod states;
mod take;
mod walk;
mod windows;

pub(crate) use call::Call;

use crate::Dtype;
use crate::memory::Outcome;
use crate::plan::{Builder, View};

/// Adds the steps of an operation to the plan and returns its outputs.
pub(crate) fn add_operation(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    match call.name() {
        "unstack" => shapes::unstack(call),
        "attention" => attend::attention(b, call),
        "attention_varlen" => attend::packed_attention(b, call),
        "batch_norm" => norms::batch_norm(b, call),
        "layer_norm" | "rms_norm" => norms::normalise_rows(b, call),
        "max_pool1d" => windows::max_pool(b, call),
        "gru" | "lstm" => recurrent::add_recurrent(b, call),
        "rotary_linear" => dense::rotary(b, call),
        _ => single_result(b, call).map(|view| vec![view]),
    }
}

/// Adds recurrent layers to the plan, together with an operation that reads one state of
/// each sequence from their outputs. Returns `None` if the operation reads only some
/// elements of a state.
pub(crate) fn read_states(
    b: &mut Builder,
    reader: &Call<'_>,
    layers: &[Call<'_>],
) -> Outcome<Option<View>> {
    states::read_states(b, reader, layers)
}

/// Adds an operation with one result to the plan.
fn single_result(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    match call.name() {
        "softmax" | "log_softmax" => activations::softmax(b, call),
        "logsumexp" => activations::logsumexp(b, call),
        "where" => elementwise::add_where(b, call),
        "clip" => elementwise::clip(b, call),
        "softplus" => softplus(b, call),
        "stop_gradient" => call.array("x"),
        "astype" | "asarray" => cast(b, call),
        "sum" | "prod" | "mean" | "max" | "min" | "any" | "all" | "var" | "std"
        | "count_nonzero" => reduce::add_reduction(b, call),
        "argmax" | "argmin" => order::arg_extreme(b, call),
        "cumulative_sum" => order::cumulative_sum(b, call),
        "sort" => order::sort(b, call),
        "argsort" => order::argsort(b, call),
        "searchsorted" => search::add_search(b, call),
        "matmul" => product::matmul(b, call),
        "linear" => product::linear(b, call),
        "tensordot" => product::tensordot(b, call),
        "linear_by_row" => dense::linear_by_row(b, call),
        "feed_forward" => dense::feed_forward(b, call),
        "scale_shift" => norms::scale_shift(b, call),
        "conv1d" | "conv2d" => windows::convolve(b, call),
        "conv_transpose1d" | "conv_transpose2d" => windows::transposed_convolution(b, call),
        "conv1d_input_grad" | "conv2d_input_grad" => windows::input_grad(b, call),
        _ => rearrange_elements(b, call),
    }
}

fn rearrange_elements(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    match call.name() {
        "zeros" | "ones" | "empty" | "full" => create::add_creation(b, call),
        "arange" => create::arange(b, call),
        "eye" => create::eye(b, call),
        "reshape" => shapes::reshape(b, call),
        "permute_dims" => shapes::permute_dims(call),
        "matrix_transpose" => shapes::matrix_transpose(call),
        "moveaxis" => shapes::moveaxis(call),
        "broadcast_to" => shapes::broadcast_to(call),
        "expand_dims" => shapes::expand_dims(call),
        "squeeze" => shapes::squeeze(call),
        "concat" => join::concat(b, call),
        "stack" => join::stack(b, call),
        "flip" => join::flip(b, call),
        "roll" => join::roll(b, call),
        "repeat" => join::repeat(b, call),
        "tile" => join::tile(b, call),
        "pad" => join::pad(b, call),
        "tril" => join::add_triangle(b, call, true),
        "triu" => join::add_triangle(b, call, false),
        "take" => take::take(b, call),
        "take_along_axis" => take::take_along_axis(b, call),
        "embedding" => take::embedding(b, call),
        "index" => index::add_index(b, call),
        "one_hot" => one_hot(b, call),
        _ => elementwise::add_elementwise(b, call),
    }
}

fn cast(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    match call.dtype("dtype")? {
        Some(dtype) => b.cast(&x, dtype),
        None => Ok(x),
    }
}

fn softplus(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let x = b.cast(&x, elementwise::float_type(x.dtype))?;
    let dtype = x.dtype;
    fused::add_op(
        b,
        seqloom_fuse::Op::Softplus,
        &[fused::Operand::Array(x)],
        dtype,
    )
}

/// Adds `one_hot` to the plan: a new last axis with 1 at the index that each number
/// gives, and 0 elsewhere.
fn one_hot(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let classes = call.shape("num_classes")?.first().copied().unwrap_or(0);
    let last = x.with_layout(x.layout.unsqueezed(x.rank()));
    let classes = create::integer_range(b, (0, 1, classes))?;
    let both = vec![fused::Operand::Array(last), fused::Operand::Array(classes)];
    let operands = elementwise::Operands::new(both, x.dtype.result_type(Dtype::Int64));
    let hits = elementwise::add_function(b, "equal", &operands)?;
    b.cast(&hits, call.dtype("dtype")?.unwrap_or(Dtype::Int64))
}
