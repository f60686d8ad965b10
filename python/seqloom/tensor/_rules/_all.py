"""How each operation is differentiated: what it keeps, and how a gradient goes back.

A rule is data: `save` declares what is kept of an operation (raw arrays, shapes, numbers),
`pull` turns the gradient by its output into those by its inputs, written in the functions
of the inner backend, so that it works on every backend and can itself be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from seqloom.tensor._backend import Array, Backend
from seqloom.tensor._rules import _keep as keep

Save = Callable[[keep.Args, Any, keep.Needs, keep.Options], Any]
Pull = Callable[[Backend, Any, Array, keep.Needs], Sequence[Array | None]]


@dataclass(frozen=True, slots=True)
class Rule:
    """The derivative of one operation.

    Attributes:
        save: What is kept, from (inputs, output, which inputs are followed, options).
        pull: The gradients by the inputs, from (backend, what was kept, gradient, needs).
        of_sequence: The first argument is a list of arrays.
    """

    save: Save
    pull: Pull
    of_sequence: bool = False


def unbroadcast(b: Backend, grad: Array, shape: tuple[int, ...]) -> Array:
    """Sums a gradient over the axes along which its input was repeated."""
    if grad.shape == shape:
        return grad
    extra = len(grad.shape) - len(shape)
    repeated = [
        axis for axis, size in enumerate(shape) if size == 1 != grad.shape[axis + extra]
    ]
    axes = (*range(extra), *(axis + extra for axis in repeated))
    return b.reshape(b.sum(grad, axis=axes), shape)


def _add(b: Backend, saved: Any, grad: Array, needs: keep.Needs) -> Sequence[Array | None]:
    return [
        unbroadcast(b, grad, shape) if need else None
        for shape, need in zip(saved, needs, strict=True)
    ]


def _subtract(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    left, right = saved
    return (
        unbroadcast(b, grad, left) if needs[0] else None,
        unbroadcast(b, b.negative(grad), right) if needs[1] else None,
    )


def _multiply(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    left, right, left_shape, right_shape = saved
    return (
        unbroadcast(b, b.multiply(grad, right), left_shape) if needs[0] else None,
        unbroadcast(b, b.multiply(grad, left), right_shape) if needs[1] else None,
    )


def _divide(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    (left, right), out, _ = saved
    share = b.divide(grad, right)
    return (
        unbroadcast(b, share, keep.shape_of(left)) if needs[0] else None,
        unbroadcast(b, b.negative(b.multiply(share, out)), keep.shape_of(right))
        if needs[1]
        else None,
    )


def _pow(b: Backend, saved: Any, grad: Array, needs: keep.Needs) -> Sequence[Array | None]:
    (base, exponent), out, _ = saved
    by_base = by_exponent = None
    if needs[0]:
        # A Python number stays one, so that it takes the array's type.
        number = isinstance(exponent, (int, float))
        lower = exponent - 1 if number else b.subtract(exponent, 1)
        slope = b.multiply(b.pow(base, lower), exponent)
        by_base = unbroadcast(b, b.multiply(grad, slope), keep.shape_of(base))
    if needs[1]:
        safe = b.where(b.greater(base, 0), base, b.add(b.multiply(base, 0), 1))
        slope = b.multiply(out, b.log(safe))
        by_exponent = unbroadcast(b, b.multiply(grad, slope), keep.shape_of(exponent))
    return by_base, by_exponent


def _chosen(test: str) -> Pull:
    """The rule of maximum and minimum: to the chosen input, to equal ones half each."""

    def pull(
        b: Backend, saved: Any, grad: Array, needs: keep.Needs
    ) -> Sequence[Array | None]:
        (left, right), _, _ = saved
        ties = b.multiply(b.astype(b.equal(left, right), grad.dtype), 0.5)
        wins = b.add(b.astype(getattr(b, test)(left, right), grad.dtype), ties)
        return (
            unbroadcast(b, b.multiply(grad, wins), keep.shape_of(left))
            if needs[0]
            else None,
            unbroadcast(b, b.multiply(grad, b.subtract(1, wins)), keep.shape_of(right))
            if needs[1]
            else None,
        )

    return pull


def _where(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    (condition, left, right), _, _ = saved
    zero = b.multiply(grad, 0)
    return (
        None,
        unbroadcast(b, b.where(condition, grad, zero), keep.shape_of(left))
        if needs[1]
        else None,
        unbroadcast(b, b.where(condition, zero, grad), keep.shape_of(right))
        if needs[2]
        else None,
    )


def _clip(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    (x, *_), out, _ = saved
    return (b.multiply(grad, b.astype(b.equal(x, out), grad.dtype)),)


def _matmul(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    left, right, left_shape, right_shape = saved
    by_left = by_right = None
    if len(left_shape) == 1 or len(right_shape) == 1:
        return _matmul_vector(b, saved, grad, needs)
    if needs[0]:
        by_left = unbroadcast(b, b.matmul(grad, b.matrix_transpose(right)), left_shape)
    if needs[1]:
        by_right = unbroadcast(b, b.matmul(b.matrix_transpose(left), grad), right_shape)
    return by_left, by_right


def _matmul_vector(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    """A product with a vector: the product of matrices with an axis of one put in."""
    left, right, left_shape, right_shape = saved
    if len(left_shape) == 1:
        left = None if left is None else b.expand_dims(left, axis=0)
        grad = b.expand_dims(grad, axis=-2 if len(right_shape) > 1 else -1)
    if len(right_shape) == 1:
        right = None if right is None else b.expand_dims(right, axis=1)
        grad = b.expand_dims(grad, axis=-1)
    wide_left = left_shape if len(left_shape) > 1 else (1, *left_shape)
    wide_right = right_shape if len(right_shape) > 1 else (*right_shape, 1)
    parts = _matmul(b, (left, right, wide_left, wide_right), grad, needs)
    return [
        None if part is None else b.reshape(part, shape)
        for part, shape in zip(parts, saved[2:], strict=True)
    ]


def _spread(
    b: Backend, grad: Array, shape: tuple[int, ...], axis: Any, *, keepdims: bool
) -> Array:
    """A reduced gradient over the axes that the reduction removed."""
    if axis is None:
        grad = b.reshape(grad, (1,) * len(shape))
    elif not keepdims:
        axes = cast("tuple[int, ...]", axis) if isinstance(axis, tuple) else (axis,)
        grad = b.expand_dims(grad, axis=tuple(each % len(shape) for each in axes))
    return b.broadcast_to(grad, shape)


def _sum(b: Backend, saved: Any, grad: Array, _needs: keep.Needs) -> Sequence[Array | None]:
    shape, _, options = saved
    return (
        _spread(
            b, grad, shape, options.get("axis"), keepdims=options.get("keepdims", False)
        ),
    )


def _mean(b: Backend, saved: Any, grad: Array, needs: keep.Needs) -> Sequence[Array | None]:
    wide = _sum(b, saved, grad, needs)[0]
    count = 1
    for size in saved[0]:
        count *= size
    for size in grad.shape:
        count //= size
    return (b.multiply(wide, 1.0 / count),)


def _extreme(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    (x,), out, options = saved
    axis, keepdims = options.get("axis"), options.get("keepdims", False)
    best = b.astype(
        b.equal(x, _spread(b, out, x.shape, axis, keepdims=keepdims)), grad.dtype
    )
    ties = b.sum(best, axis=axis, keepdims=True)
    return (
        b.multiply(
            _spread(b, grad, x.shape, axis, keepdims=keepdims), b.divide(best, ties)
        ),
    )


def _reshape(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    return (b.reshape(grad, saved[0]),)


def _permute_dims(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    _, (axes,), _ = saved
    back = sorted(range(len(axes)), key=lambda place: axes[place] % len(axes))
    return (b.permute_dims(grad, tuple(back)),)


def _matrix_transpose(
    b: Backend, _saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    return (b.matrix_transpose(grad),)


def _broadcast_to(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    return (unbroadcast(b, grad, saved[0]),)


def _concat(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    args, _, options = saved
    axis, start = options.get("axis", 0) % len(grad.shape), 0
    parts: list[Array] = []
    for arg in args:
        stop = start + arg.shape[axis]
        parts.append(b.index(grad, (slice(None),) * axis + (slice(start, stop),)))
        start = stop
    return parts


def _stack(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    args, _, options = saved
    axis = options.get("axis", 0) % len(grad.shape)
    return [b.index(grad, (slice(None),) * axis + (place,)) for place in range(len(args))]


def _index(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    shape, (key,), _ = saved
    return (b.scatter_index(grad, key, shape),)


def _take(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    shape, (places,), options = saved
    axis = options.get("axis", 0) % len(shape)
    return (b.scatter_index(grad, (slice(None),) * axis + (places,), shape),)


def _astype(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    return (b.astype(grad, saved.dtype),)


def _by_output(slope: Callable[[Backend, Array, Array], Array]) -> Rule:
    """The rule of a function of one input whose derivative needs only its output."""
    return Rule(keep.output, lambda b, out, grad, _: (slope(b, grad, out),))


def _by_input(slope: Callable[[Backend, Array, Array], Array]) -> Rule:
    """The rule of a function of one input whose derivative needs only that input."""
    return Rule(keep.first, lambda b, x, grad, _: (slope(b, grad, x),))


def _softmax(b: Backend, grad: Array, out: Array) -> Array:
    inner = b.sum(b.multiply(grad, out), axis=-1, keepdims=True)
    return b.multiply(out, b.subtract(grad, inner))


def _log_softmax(b: Backend, grad: Array, out: Array) -> Array:
    return b.subtract(grad, b.multiply(b.exp(out), b.sum(grad, axis=-1, keepdims=True)))


def _cross_entropy(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    return (b.multiply(saved, b.expand_dims(grad, axis=-1)),)


def _linear(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    (x, weight), (shape, _), _ = saved
    rows = b.reshape(grad, (-1, grad.shape[-1]))
    by_x = b.reshape(b.matmul(rows, weight), shape) if needs[0] else None
    by_weight = by_bias = None
    if any(needs[1:]):
        by_weight = b.matmul(b.matrix_transpose(rows), b.reshape(x, (-1, shape[-1])))
        by_bias = b.sum(rows, axis=0)
    return by_x, by_weight, by_bias


def _conv1d(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    (x, weight), (x_shape, weight_shape), options = saved
    geometry = {"stride": 1, "padding": 0, "dilation": 1, **options}
    by_x = by_weight = by_bias = None
    if needs[0]:
        by_x = b.conv1d_input_grad(grad, weight, x_shape, **geometry)
    if any(needs[1:]):
        by_weight, by_bias = b.conv1d_weight_grad(x, grad, weight_shape, **geometry)
    return by_x, by_weight, by_bias


def _max_pool1d(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    places, shape = saved
    return (b.max_pool1d_grad(grad, places, shape),)


def _batch_norm(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    (x, weight, _bias, *mask), (_, mean, variance), options = saved
    mask = mask[0] if mask else None
    return b.batch_norm_grad(grad, x, weight, mask, mean, variance, eps=options["eps"])


def _scale_shift(
    b: Backend, saved: Any, grad: Array, needs: keep.Needs
) -> Sequence[Array | None]:
    (x, scale, _shift, *mask), _, _ = saved
    if mask and mask[0] is not None:
        grad = b.multiply(grad, b.expand_dims(mask[0], axis=1))
    by_x = b.multiply(grad, b.reshape(scale, (-1, 1))) if needs[0] else None
    by_scale = b.sum(b.multiply(grad, x), axis=(0, 2)) if needs[1] else None
    by_shift = b.sum(grad, axis=(0, 2)) if needs[2] else None
    return by_x, by_scale, by_shift


def _dropout(
    b: Backend, saved: Any, grad: Array, _needs: keep.Needs
) -> Sequence[Array | None]:
    return (b.dropout(grad, *saved),)


RULES: dict[str, Rule] = {
    "add": Rule(keep.shapes, _add),
    "subtract": Rule(keep.shapes, _subtract),
    "multiply": Rule(keep.partners, _multiply),
    "divide": Rule(keep.everything, _divide),
    "pow": Rule(keep.everything, _pow),
    "maximum": Rule(keep.everything, _chosen("greater")),
    "minimum": Rule(keep.everything, _chosen("less")),
    "where": Rule(keep.everything, _where),
    "clip": Rule(keep.everything, _clip),
    "negative": Rule(keep.shapes, lambda b, _, grad, __: (b.negative(grad),)),
    "abs": _by_input(lambda b, grad, x: b.multiply(grad, b.sign(x))),
    "exp": _by_output(lambda b, grad, out: b.multiply(grad, out)),
    "log": _by_input(lambda b, grad, x: b.divide(grad, x)),
    "log1p": _by_input(lambda b, grad, x: b.divide(grad, b.add(x, 1))),
    "sqrt": _by_output(lambda b, grad, out: b.divide(b.multiply(grad, 0.5), out)),
    "square": _by_input(lambda b, grad, x: b.multiply(b.multiply(grad, 2), x)),
    "sin": _by_input(lambda b, grad, x: b.multiply(grad, b.cos(x))),
    "cos": _by_input(lambda b, grad, x: b.negative(b.multiply(grad, b.sin(x)))),
    "tanh": _by_output(lambda b, grad, out: b.multiply(grad, b.subtract(1, b.square(out)))),
    "matmul": Rule(keep.partners, _matmul),
    "sum": Rule(keep.shape_and_options, _sum),
    "mean": Rule(keep.shape_and_options, _mean),
    "max": Rule(keep.everything, _extreme),
    "min": Rule(keep.everything, _extreme),
    "reshape": Rule(keep.shape_and_options, _reshape),
    "expand_dims": Rule(keep.shape_and_options, _reshape),
    "squeeze": Rule(keep.shape_and_options, _reshape),
    "permute_dims": Rule(keep.shape_and_options, _permute_dims),
    "matrix_transpose": Rule(keep.shapes, _matrix_transpose),
    "broadcast_to": Rule(keep.shape_and_options, _broadcast_to),
    "concat": Rule(keep.everything, _concat, of_sequence=True),
    "stack": Rule(keep.everything, _stack, of_sequence=True),
    "index": Rule(keep.shape_and_options, _index),
    "take": Rule(keep.shape_and_options, _take),
    "astype": Rule(keep.first, _astype),
    "relu": _by_output(lambda b, grad, out: b.relu_grad(grad, out)),
    "gelu": _by_input(lambda b, grad, x: b.gelu_grad(grad, x)),
    "sigmoid": _by_output(lambda b, grad, out: b.sigmoid_grad(grad, out)),
    "softmax": _by_output(_softmax),
    "log_softmax": _by_output(_log_softmax),
    "cross_entropy": Rule(keep.second_output, _cross_entropy),
    "linear": Rule(keep.operands, _linear),
    "conv1d": Rule(keep.operands, _conv1d),
    "max_pool1d": Rule(keep.places_and_shape, _max_pool1d),
    "batch_norm": Rule(keep.inputs_and_statistics, _batch_norm),
    "scale_shift": Rule(keep.everything, _scale_shift),
    "dropout": Rule(keep.key_and_rate, _dropout),
}
