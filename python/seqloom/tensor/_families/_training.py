"""Classification losses, and updates of parameters.

An update returns new arrays, and may write them into the input arrays, which belong to the
caller. ``decays`` contains one number per parameter. The learning rate and the step
number are Python numbers or, as inputs of a compiled step, arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._elements import Array
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Pair,
    in_float32,
    make_out,
    to_contiguous,
    write_out,
)
from seqloom.tensor._families._rule import (
    Call,
    Rule,
    ShapeRule,
    Spec,
    add_shape_rule,
    find_statistic_dtype,
    get_spec,
)
from seqloom.tensor._graph import Value, values_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options

    Rate = float | Array


# Default implementations ---------------------------------------------------------------


Arrays = list[Array]


def adamw(
    b: Functions,
    params: Arrays,
    grads: Arrays,
    first: Arrays,
    second: Arrays,
    lr: Rate,
    step: Rate,
    *,
    betas: tuple[float, float],
    eps: float,
    decays: Sequence[float],
) -> tuple[Arrays, Arrays, Arrays]:
    """Return an AdamW update (Loshchilov and Hutter 2019); the first `step` is 1."""
    given = zip(params, grads, first, second, decays, strict=True)
    moved = [_adamw_one(b, *each, lr=lr, step=step, betas=betas, eps=eps) for each in given]
    one, two, three = ([row[i] for row in moved] for i in range(3))
    return one, two, three


def sgd(
    b: Functions,
    params: Arrays,
    grads: Arrays,
    momenta: Arrays,
    lr: Rate,
    *,
    momentum: float,
    nesterov: bool,
    decays: Sequence[float],
) -> tuple[Arrays, Arrays]:
    """Return an SGD update with momentum; as in PyTorch, the gradient includes decay."""
    moved: list[tuple[Array, Array]] = []
    for param, grad, moment, decay in zip(params, grads, momenta, decays, strict=True):
        slope = b.add(grad, b.multiply(param, decay)) if decay else grad
        kept = b.add(b.multiply(moment, momentum), slope) if momentum else moment
        if momentum:
            ahead = b.add(slope, b.multiply(kept, momentum))
            slope = ahead if nesterov else kept
        change = b.multiply(slope, _match_dtype(b, lr, param))
        moved.append((b.subtract(param, change), kept))
    return [row[0] for row in moved], [row[1] for row in moved]


def clip_by_global_norm(
    b: Functions, grads: Arrays, max_norm: Rate
) -> tuple[Arrays, Array]:
    """Scale all gradients by one factor to limit their joint norm to `max_norm`."""
    squares = [b.sum(b.square(grad)) for grad in grads]
    total = squares[0]
    for square in squares[1:]:
        total = b.add(total, square)
    norm = b.sqrt(total)
    share = b.minimum(b.divide(max_norm, b.add(norm, 1e-6)), 1.0)
    return [b.multiply(grad, _match_dtype(b, share, grad)) for grad in grads], norm


def _update_average(b: Functions, old: Array, new: Array, share: float) -> Array:
    """Return an updated exponential moving average."""
    return b.add(b.multiply(old, share), b.multiply(new, 1.0 - share))


def _adamw_one(
    b: Functions, *given: Any, lr: Rate, step: Rate, betas: tuple[float, float], eps: float
) -> tuple[Array, Array, Array]:
    """Return the AdamW update of one parameter: its moments, and the parameter itself."""
    # In half precision, eps would be 0 and 1 - betas[1] would be inexact.
    param, grad, mean, power = (b.to_full_precision(array) for array in given[:4])
    mean = _update_average(b, mean, grad, betas[0])
    power = _update_average(b, power, b.square(grad), betas[1])
    spread = b.sqrt(_correct_bias(b, power, betas[1], step))
    ahead = _correct_bias(b, mean, betas[0], step)
    kept = _decay_weights(b, param, lr, given[4])
    change = b.multiply(b.divide(ahead, b.add(spread, eps)), _match_dtype(b, lr, kept))
    dtype = b.dtype(given[0])
    moved = b.astype(b.subtract(kept, change), dtype)
    return moved, b.astype(mean, dtype), b.astype(power, dtype)


def _correct_bias(b: Functions, mean: Array, beta: float, step: Rate) -> Array:
    """Correct the bias of a moving average whose initial value was 0."""
    if not beta:
        return mean
    if isinstance(step, (int, float)):
        return b.multiply(mean, 1.0 / -math.expm1(step * math.log(beta)))
    seen = b.expm1(b.multiply(_match_dtype(b, step, mean), math.log(beta)))
    return b.negative(b.divide(mean, seen))


def _decay_weights(b: Functions, param: Array, lr: Rate, decay: float) -> Array:
    """Return the parameter after weight decay."""
    if not decay:
        return param
    if not _is_array(lr):
        return b.multiply(param, 1.0 - lr * decay)
    lost = b.multiply(_match_dtype(b, lr, param), decay)
    return b.multiply(param, b.subtract(1.0, lost))


def _match_dtype(b: Functions, value: Rate, like: Array) -> Any:
    """Return a number unchanged, or a scalar array converted to the dtype of `like`."""
    return b.astype(value, b.dtype(like)) if _is_array(value) else value


def _is_array(value: Any) -> bool:
    """Return whether a value is an array, rather than a Python number."""
    return not isinstance(value, (int, float))


def cross_entropy(
    b: Functions, logits: Array, labels: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """Return the weighted loss of each row ``(n,)``, and its derivative ``(n, k)``."""
    column = b.expand_dims(labels, axis=-1)
    chosen = b.take_along_axis(b.log_softmax(logits), column, axis=-1)
    losses = b.negative(b.squeeze(chosen, axis=-1))
    if weights is not None:
        losses = b.multiply(losses, b.take(weights, labels, axis=0))
    plain = b.stop_gradient(logits)
    return losses, _logit_grad(b, plain, labels, weights)


def cross_entropy_grad(
    b: Functions,
    grad: Array,
    logits: Array,
    labels: Array,
    weights: Array | None,
    fused: Array,
) -> Array:
    """Return the gradient of ``cross_entropy`` with respect to the logits."""
    del fused  # The fused kernel cannot be differentiated.
    slope = _logit_grad(b, logits, labels, weights)
    return b.multiply(slope, b.expand_dims(grad, axis=-1))


def _logit_grad(b: Functions, logits: Array, labels: Array, weights: Array | None) -> Array:
    """Return ``softmax - one_hot``, times the weight of the label."""
    hot = b.one_hot(labels, logits.shape[-1], dtype=b.dtype(logits))
    slope = b.subtract(b.softmax(logits), hot)
    if weights is None:
        return slope
    return b.multiply(slope, b.expand_dims(b.take(weights, labels, axis=0), axis=-1))


# Gradient rules ------------------------------------------------------------------------


def _save_loss(args: Args, out: Array, _needs: Needs, _options: Options) -> Any:
    """Save the inputs, and also the derivative if a fused kernel has computed it."""
    logits, labels, *weights = args
    return logits, labels, weights[0] if weights else None, out[1]


GRAD_RULES: dict[str, Rule] = {
    "cross_entropy": Rule(
        _save_loss, lambda b, saved, grad, _: (b.cross_entropy_grad(grad, *saved),)
    )
}


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


@add_shape_rule(SHAPE_RULES, "adamw")
def _shape_adamw(call: Call) -> list[Spec]:
    """Return the shapes of the parameters, first moments and second moments."""
    params, _, first, second = call.args[:4]
    return [get_spec(value) for value in (*params, *first, *second)]


@add_shape_rule(SHAPE_RULES, "sgd")
def _shape_sgd(call: Call) -> list[Spec]:
    """Return the shapes of the parameters and of their momentum."""
    params, _, momenta = call.args[:3]
    return [get_spec(value) for value in values_in([params, momenta])]


@add_shape_rule(SHAPE_RULES, "clip_by_global_norm")
def _shape_clip(call: Call) -> list[Spec]:
    """Return the shapes of the gradients and of their norm."""
    grads: list[Value] = call.args[0]
    return [*map(get_spec, grads), ((), find_statistic_dtype(grads[0]))]


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_adamw(
    b: Functions,
    params: list[Floats],
    grads: list[Floats],
    first: list[Floats],
    second: list[Floats],
    lr: Rate,
    step: Rate,
    *,
    betas: tuple[float, float],
    eps: float,
    decays: Sequence[float],
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Run one step of AdamW in place."""
    # Some NumPy functions return a scalar instead of an array without axes, and a
    # scalar cannot be overwritten.
    params, first, second = (
        [np.asarray(array, order="C") for array in several]
        for several in (params, first, second)
    )
    grads = [to_contiguous(grad) for grad in grads]
    rate, number = float(lr), int(step)
    _native.adamw(
        *(params, grads, first, second, rate, *betas, eps, list(decays), number), b.threads
    )
    return params, first, second


@in_float32
def numpy_cross_entropy(
    b: Functions,
    logits: Floats,
    labels: NDArray[np.int64],
    weights: Floats | None = None,
    *,
    out: Pair | None = None,
) -> Pair:
    """Return the weighted loss of each row ``(n,)`` and its derivative ``(n, k)``."""
    logits, (into, slopes) = to_contiguous(logits), out or (None, None)
    losses = make_out(into, logits.shape[:1], logits.dtype)
    grad = make_out(slopes, logits.shape, logits.dtype)
    weights = None if weights is None else to_contiguous(weights)
    labels = np.ascontiguousarray(labels, np.int64)
    _native.cross_entropy(logits, labels, weights, losses, grad, b.threads)
    return write_out(losses, into), write_out(grad, slopes)


@in_float32
def numpy_cross_entropy_grad(
    grad: Floats,
    logits: Floats,
    labels: NDArray[np.int64],
    weights: Floats | None,
    fused: Floats,
    *,
    out: Floats | None = None,
) -> Floats:
    """Return the gradient of ``cross_entropy`` with respect to the logits."""
    del logits, labels, weights
    return np.multiply(fused, np.expand_dims(grad, -1), out=out)
