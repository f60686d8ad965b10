"""Loops over time, and what else is compiled as a whole."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer

from seqloom.tensor._backend import Backend
from seqloom.tensor._families import _recurrent
from seqloom.tensor.backends._jax._lookup import require_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = Any
Arrays = list[Any]


def scan(
    b: Backend,
    body: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]],
    init: Sequence[Array],
    xs: Sequence[Array],
    *,
    length: int,
    reverse: bool = False,
) -> tuple[Arrays, Arrays]:
    """A loop of XLA's while jax traces, else one of Python's."""
    # A body is a new function at each call: jax would compile it each time.
    if not any(isinstance(array, Tracer) for array in (*init, *xs)):
        return _recurrent.scan(b, body, init, xs, length=length, reverse=reverse)
    carry, ys = lax.scan(body, list(init), list(xs), length, reverse)
    return carry, ys


def gru(b: Backend, *args: Any, **options: Any) -> Any:
    """One direction of gated units."""
    return _program(b, "gru", **options)(*args)


def gru_grad(b: Backend, *args: Any, **options: Any) -> Any:
    """The derivatives of ``gru``."""
    return _program(b, "gru_grad", **options)(*args)


def lstm(b: Backend, *args: Any, **options: Any) -> Any:
    """One direction of long short-term memory."""
    return _program(b, "lstm", **options)(*args)


def lstm_grad(b: Backend, *args: Any, **options: Any) -> Any:
    """The derivatives of ``lstm``."""
    return _program(b, "lstm_grad", **options)(*args)


def attention_varlen(
    b: Backend, q: Array, k: Array, v: Array, cu_seqlens: Array, **options: Any
) -> tuple[Array, Array]:
    """Attention within each of several sequences that lie end to end."""
    require_bounds(cu_seqlens, q.shape[0], options["max_seqlen"])
    program = _program(b, "attention_varlen", **options)
    return program(q, k, v, cu_seqlens)


def attention_varlen_grad(b: Backend, *arrays: Array, **options: Any) -> Any:
    """The derivatives of ``attention_varlen`` by q, k and v."""
    return _program(b, "attention_varlen_grad", **options)(*arrays)


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
    """AdamW; the arrays are new ones."""
    update = _program(b, "adamw", decays=tuple(decays), **options)
    return update(params, grads, first, second, _after(grads, lr), step)


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
    """Gradient descent with momentum; the arrays are new ones."""
    update = _program(b, "sgd", decays=tuple(decays), **options)
    return update(params, grads, momenta, _after(grads, lr))


def clip_by_global_norm(b: Backend, grads: Arrays, max_norm: Any) -> tuple[Arrays, Array]:
    """Scales all gradients down so that their common norm is at most `max_norm`."""
    return _program(b, "clip_by_global_norm")(grads, max_norm)


@cache
def _program(backend: Backend, name: str, **options: Any) -> Callable[..., Any]:
    """The default body of a function, compiled as a whole."""
    return jax.jit(partial(getattr(Backend, name), backend, **options))


def _after(grads: Arrays, lr: Any) -> Any:
    """The rate, which in a program is there only once all gradients are."""
    # XLA may then write into the memory of the old parameters. Without that order it copies
    # each of them, as a gradient might still read it. A barrier is gone before it decides.
    if not isinstance(lr, Tracer):
        return lr
    for grad in filter(jnp.size, grads):
        bits = lax.bitcast_convert_type(grad.ravel()[0].astype("float32"), "uint32")
        nothing = lax.shift_right_logical(bits, jnp.uint32(32))
        lr = lr + nothing.astype(lr.dtype)
    return lr
