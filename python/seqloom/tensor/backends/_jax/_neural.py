"""Activations, norms, losses and convolutions, with jax.nn and XLA."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.core import Tracer

from seqloom.errors import DTypeError
from seqloom.tensor._backend import Backend
from seqloom.tensor._families import _activations, _recurrent, _training
from seqloom.tensor._families._attention import compute_scores
from seqloom.tensor._families._windows import Windows, crop_input
from seqloom.tensor.backends._jax._lookup import check_indices, require_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families._windows import Size


Arrays = list[Any]
_NORMAL_DENSITY_FACTOR = 1 / math.sqrt(2 * math.pi)


def relu(x: Array) -> Array:
    """Return ``max(x, 0)``."""
    return jnp.maximum(x, 0)


def relu_grad(grad: Array, out: Array) -> Array:
    """Return the gradient of ``relu``, given the output of ``relu``."""
    return jnp.where(out <= 0, 0, grad)


def gelu(x: Array) -> Array:
    """Return ``x * Phi(x)``, where Phi is the normal CDF."""
    return x * _normal_cdf(x)


def gelu_grad(grad: Array, x: Array) -> Array:
    """Return the gradient of ``gelu``, given the input of ``gelu``."""
    density = jnp.exp(x * x * -0.5) * _NORMAL_DENSITY_FACTOR
    return grad * (_normal_cdf(x) + x * density)


def softmax(b: Backend, x: Array, *, axis: int = -1) -> Array:
    """Return the softmax along an axis: exponentials, divided by their sum."""
    if not x.ndim or not jnp.issubdtype(x.dtype, jnp.inexact):
        return _activations.softmax(b, _require_floats(x), axis=axis)
    return jax.nn.softmax(x, axis)


def log_softmax(b: Backend, x: Array, *, axis: int = -1) -> Array:
    """Return the logarithm of ``softmax``."""
    if not x.ndim or not jnp.issubdtype(x.dtype, jnp.inexact):
        return _activations.log_softmax(b, _require_floats(x), axis=axis)
    return jax.nn.log_softmax(x, axis)


def layer_norm_grad(
    grad: Array, x: Array, weight: Array | None, mean: Array, rstd: Array
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``layer_norm`` with respect to input, weight and bias."""
    rstd = rstd[..., None]
    scaled = (x - mean[..., None]) * rstd
    inward = grad if weight is None else grad * weight
    slope = jnp.mean(inward * scaled, -1, keepdims=True)
    by_x = (inward - jnp.mean(inward, -1, keepdims=True) - scaled * slope) * rstd
    rows = tuple(range(x.ndim - 1))
    return by_x, jnp.sum(grad * scaled, rows), jnp.sum(grad, rows)


def rms_norm_grad(
    grad: Array, x: Array, weight: Array | None, rstd: Array
) -> tuple[Array, Array]:
    """Return the gradients of ``rms_norm`` with respect to input and weight."""
    scaled = x * rstd[..., None]
    inward = grad if weight is None else grad * weight
    slope = jnp.mean(inward * scaled, -1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    by_x = (inward - scaled * slope) * rstd[..., None]
    return by_x, jnp.sum(grad * scaled, rows)


def cross_entropy(
    b: Backend, logits: Array, labels: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """Return the weighted loss of each row, NaN for invalid labels, and its derivative."""
    check_indices("cross_entropy", logits, labels)
    if isinstance(labels, Tracer):  # JAX would count negative labels from the end
        labels = jnp.where(labels < 0, logits.shape[-1], labels)
    return _training.cross_entropy(b, logits, labels, weights)


def cross_entropy_grad(
    grad: Array, logits: Array, labels: Array, weights: Array | None, fused: Array
) -> Array:
    """Return the gradient of ``cross_entropy`` with respect to the logits."""
    del logits, labels, weights
    return fused * grad[..., None]


def attention_grad(
    b: Backend,
    grad: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    key: Any,
    out: Array,
    lse: Array,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``attention``, which are computed from the log-sum-exp."""
    scores = compute_scores(b, q, k, mask, scale, causal=causal)
    weights = jnp.exp(scores - jnp.where(jnp.isfinite(lse), lse, 0.0)[..., None])
    drop = bool(dropout) and key is not None
    kept = b.dropout(weights, key, dropout) if drop else weights
    by_weights = grad @ v.mT
    by_weights = b.dropout(by_weights, key, dropout) if drop else by_weights
    by_scores = weights * (by_weights - jnp.sum(grad * out, -1, keepdims=True))
    by_scores = by_scores * ((q.shape[-1] or 1) ** -0.5 if scale is None else scale)
    return by_scores @ k, by_scores.mT @ q, kept.mT @ grad


def _require_floats(x: Array) -> Array:
    """Return an array unchanged; raise if the array does not contain floats."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        raise DTypeError(f"expected an array of floats, got {x.dtype}; use .astype first")
    return x


def _normal_cdf(x: Array) -> Array:
    """Return the normal CDF."""
    # If the forward and the backward pass need erf, XLA computes erf once, but erfc
    # twice.
    return lax.erf(x * math.sqrt(0.5)) * 0.5 + 0.5


def conv(
    x: Array, weight: Array, bias: Array | None = None, *, groups: int = 1, **geometry: Size
) -> Array:
    """Return the cross-correlation along the last axes."""
    windows = Windows.make(weight.shape[2:], **geometry)
    out = lax.conv_general_dilated(
        x,
        weight,
        windows.stride,
        [(pad, pad) for pad in windows.padding],
        rhs_dilation=windows.dilation,
        feature_group_count=groups,
    )
    return (
        out if bias is None else out + jnp.reshape(bias, (-1, *(1 for _ in windows.kernel)))
    )


def conv_input_grad(
    grad: Array, weight: Array, shape: Sequence[int], **geometry: Any
) -> Array:
    """Return the gradient of `conv` with respect to its input, in the given shape."""
    return _apply_transpose(lambda x: conv(x, weight, **geometry), grad, shape)


def conv_weight_grad(
    x: Array, grad: Array, shape: Sequence[int], **geometry: Any
) -> tuple[Array, Array]:
    """Return the gradients of `conv` with respect to its weight and its bias."""
    x = crop_input(x, grad, shape, **geometry)
    weight = _apply_transpose(lambda weight: conv(x, weight, **geometry), grad, shape)
    return weight, jnp.sum(grad, axis=(0, *range(2, grad.ndim)))


def _apply_transpose(
    linear: Callable[[Array], Array], grad: Array, shape: Sequence[int]
) -> Array:
    """Apply the transpose of a linear function, which propagates a gradient backwards."""
    outline = jax.ShapeDtypeStruct(tuple(shape), grad.dtype)
    return jax.linear_transpose(linear, outline)(grad)[0]


# One function implements the operations for both one and two axes.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad


def scan(
    b: Backend,
    body: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]],
    init: Sequence[Array],
    xs: Sequence[Array],
    *,
    length: int,
    reverse: bool = False,
) -> tuple[Arrays, Arrays]:
    """Run a loop in Python, or as an XLA loop while JAX is tracing."""
    # Each call passes a new function as `body`, which JAX would compile each time.
    if not any(isinstance(array, Tracer) for array in (*init, *xs)):
        return _recurrent.scan(b, body, init, xs, length=length, reverse=reverse)
    carry, ys = lax.scan(body, list(init), list(xs), length, reverse)
    return carry, ys


def _run_compiled(name: str) -> Callable[..., Arrays]:
    """Return a function that compiles a default implementation and runs it."""

    def call_compiled(b: Backend, *args: Any, **options: Any) -> Arrays:
        return _compile_default(b, name, **options)(*args)

    return call_compiled


gru, gru_grad = _run_compiled("gru"), _run_compiled("gru_grad")
lstm, lstm_grad = _run_compiled("lstm"), _run_compiled("lstm_grad")
attention_varlen_grad = _run_compiled("attention_varlen_grad")
clip_by_global_norm = _run_compiled("clip_by_global_norm")


def attention_varlen(
    b: Backend, q: Array, k: Array, v: Array, cu_seqlens: Array, **options: Any
) -> tuple[Array, Array]:
    """Return attention over packed sequences; each position attends to its own sequence."""
    require_bounds(cu_seqlens, q.shape[0], options["max_seqlen"])
    program = _compile_default(b, "attention_varlen", **options)
    return program(q, k, v, cu_seqlens)


def adamw(
    b: Backend,
    params: Arrays,
    grads: Arrays,
    first: Arrays,
    second: Arrays,
    lr: Any,
    step: Any,
    *,
    decays: Sequence[float],
    **options: Any,
) -> tuple[Arrays, Arrays, Arrays]:
    """Run a step of AdamW, and return new arrays."""
    update = _compile_default(b, "adamw", decays=tuple(decays), **options)
    return update(params, grads, first, second, _depend_on_gradients(grads, lr), step)


def sgd(
    b: Backend,
    params: Arrays,
    grads: Arrays,
    momenta: Arrays,
    lr: Any,
    *,
    decays: Sequence[float],
    **options: Any,
) -> tuple[Arrays, Arrays]:
    """Run a step of SGD with momentum, and return new arrays."""
    update = _compile_default(b, "sgd", decays=tuple(decays), **options)
    return update(params, grads, momenta, _depend_on_gradients(grads, lr))


@cache
def _compile_default(backend: Backend, name: str, **options: Any) -> Callable[..., Any]:
    """Return the compiled default implementation of an operation."""
    return jax.jit(partial(getattr(Backend, name), backend, **options))


def _depend_on_gradients(grads: Arrays, lr: Any) -> Any:
    """Return the learning rate; in a compiled program, make it depend on all gradients."""
    # If the learning rate depends on all gradients, XLA can overwrite the memory of the
    # old parameters. Without this dependency, XLA copies each parameter, because a
    # gradient might still need the old values. An optimisation barrier does not help,
    # because XLA removes it too early.
    if not isinstance(lr, Tracer):
        return lr
    for grad in filter(jnp.size, grads):
        bits = lax.bitcast_convert_type(grad.ravel()[0].astype("float32"), "uint32")
        nothing = lax.shift_right_logical(bits, jnp.uint32(32))
        lr = lr + nothing.astype(lr.dtype)
    return lr


# JAX functions whose arguments are those of the Array API standard.
LIBRARY_FUNCTIONS = {
    "erf": lax.erf,
    "erfc": lax.erfc,
    "logsumexp": jax.nn.logsumexp,
    "rsqrt": lax.rsqrt,
    "sigmoid": lax.logistic,
    "stop_gradient": lax.stop_gradient,
}
