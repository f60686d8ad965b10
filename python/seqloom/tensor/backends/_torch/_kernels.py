"""Kernels that torch.compile takes as one node: NumPy's, and fused updates of parameters.

Each is an operation of the library ``seqloom`` with a fake form, which gives the shapes of
its results while torch traces. With a learning rate that is a tensor, as it is in a
compiled step, torch's fused updates tell the compiler nothing of what they do; `operation`
says what they write.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.library import custom_op

from seqloom.tensor._backend import backend
from seqloom.tensor._families import _linear_layers
from seqloom.tensor.backends._torch._creation import to_numpy_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend


def operation(
    name: str, *, mutates: tuple[str, ...] = (), schema: str | None = None
) -> Callable[[Any], Any]:
    """Make a function an operation of the library ``seqloom``.

    Outside of ``torch.compile`` the function runs as it is: torch imports its compiler at
    the first call of any operation that is not its own, which takes a second.

    Args:
        name: Its name.
        mutates: The arguments that it writes.
        schema: Its arguments and results as torch writes them; by default they follow from
            the annotations of the function.

    Returns:
        A decorator; ``register_fake`` of its result says what comes out.
    """

    def made(function: Callable[..., Any]) -> Any:
        make = custom_op(f"seqloom::{name}", mutates_args=mutates, schema=schema)
        defined = make(function)
        whole = getattr(torch.ops.seqloom, name).default

        @wraps(function)
        def call(*args: Any) -> Any:
            plainly = not torch.compiler.is_compiling() and all(map(_is_plain, args))
            return function(*args) if plainly else whole(*args)

        vars(call)["register_fake"] = defined.register_fake
        return call

    return made


def _is_plain(arg: Any) -> bool:
    """Return whether torch follows nothing of an argument: no gradient, no tracing."""
    if type(arg) is Tensor:
        return not (arg.requires_grad and torch.is_grad_enabled())
    return not isinstance(arg, Tensor)


# The NumPy backend's kernels on torch's memory --------------------------------------------


def host() -> Backend:
    """Return the backend that computes."""
    return backend("numpy", num_threads=torch.get_num_threads())


def array_of(x: Tensor) -> NDArray[np.generic]:
    """Return an array of torch's as NumPy's, on the same memory."""
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.int16).numpy().view(to_numpy_type(x.dtype))
    return x.detach().numpy()


def tensor_of(array: NDArray[np.generic]) -> Tensor:
    """Return an array of NumPy's as torch's, on the same memory."""
    if array.dtype == to_numpy_type(torch.bfloat16):
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


Tensors = list[Tensor]


# Linear layers of 8-bit weights: Rust's kernels on a CPU, elsewhere the default bodies ---


# Input, weight, scale, factor, and bias and residual, which may be missing.
_LINEAR_ARRAYS = 6


def linear_int8(b: Backend, *arrays: Tensor | None) -> Tensor:
    """``(x * factor) @ (weight * scale).T + bias + residual``, each row by itself."""
    if not _serves(*arrays):
        return _linear_layers.linear_int8(b, *arrays)
    return _linear(*arrays, *(None,) * (_LINEAR_ARRAYS - len(arrays)))


def rotary_linear_int8(
    b: Backend, *arrays: Tensor | None, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, the first two turned by angles."""
    if not _serves(*arrays):
        return _linear_layers.rotary_linear_int8(b, *arrays, heads=heads)
    query, key, value = _rotary_linear(*arrays, heads).unbind(-3)
    return query, key, value


def feed_forward_int8(b: Backend, *arrays: Tensor | None, eps: float) -> Tensor:
    """``feed_forward`` by two such layers."""
    if not _serves(*arrays):
        return _linear_layers.feed_forward_int8(b, *arrays, eps=eps)
    return _feed_forward(*arrays, eps)


@operation("linear_int8")
def _linear(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
) -> Tensor:
    """Return the layer's outputs ``(..., out)``."""
    given = _arrays(x, weight, scale, factor, bias, residual)
    return tensor_of(host().linear_int8(*given))


@operation("rotary_linear_int8")
def _rotary_linear(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    cosine: Tensor,
    sine: Tensor,
    heads: int,
) -> Tensor:
    """Queries, keys and values, of which the first two are turned, ``(..., 3, h, d)``."""
    made = x.new_empty((*x.shape[:-1], weight.shape[0]))
    given = _arrays(x, weight, scale, factor, bias, cosine, sine)
    host().rotary_linear_int8(*given, heads=heads, into=array_of(made))
    return made.unflatten(-1, (3, heads, -1))


@operation("feed_forward_int8")
def _feed_forward(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    weight_in: Tensor,
    scale_in: Tensor,
    factor_in: Tensor,
    bias_in: Tensor | None,
    weight_out: Tensor,
    scale_out: Tensor,
    factor_out: Tensor,
    bias_out: Tensor | None,
    eps: float,
) -> Tensor:
    """``x`` and what the two layers add to it."""
    inner = weight_in, scale_in, factor_in, bias_in
    outer = weight_out, scale_out, factor_out, bias_out
    given = _arrays(x, norm_weight, norm_bias, *inner, *outer)
    return tensor_of(host().feed_forward_int8(*given, eps=eps))


def _serves(*arrays: Tensor | None) -> bool:
    """Return whether the kernels take these arrays.

    On a CPU, floats of 32 bits, some of them.
    """
    given = [array for array in arrays if array is not None]
    on_cpu = all(array.device.type == "cpu" and array.numel() for array in given)
    return on_cpu and given[0].dtype is torch.float32


def _arrays(*given: Tensor | None) -> list[NDArray[np.generic] | None]:
    """Arrays of torch's as NumPy's, on the same memory."""
    return [None if array is None else array_of(array) for array in given]


@_linear.register_fake
def _outputs(x: Tensor, weight: Tensor, *_rest: object) -> Tensor:
    """Return the shape of the layer's outputs."""
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@_rotary_linear.register_fake
def _heads(x: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    """Return the shape of queries, keys and values together."""
    heads = rest[-1]
    return x.new_empty((*x.shape[:-1], 3, heads, weight.shape[0] // (3 * heads)))


@_feed_forward.register_fake
def _fed(x: Tensor, *_rest: object) -> Tensor:
    """Return the shape of the result."""
    return x.new_empty(x.shape)


# Updates of parameters, in the memory that the caller owns -------------------------------


def adamw(
    params: Tensors,
    grads: Tensors,
    first: Tensors,
    second: Tensors,
    lr: float | Tensor,
    step: float | Tensor,
    *,
    betas: tuple[float, float],
    eps: float,
    decays: Sequence[float],
) -> tuple[Tensors, Tensors, Tensors]:
    """AdamW in place; `step` counts from 1."""
    params, grads, first, second = map(_to_rows, (params, grads, first, second))
    count = _to_step(step, params[0])
    for decay, positions in _by_decay(decays):
        lists = (
            [arrays[i] for i in positions] for arrays in (params, grads, first, second)
        )
        _fused_adamw(*lists, _rate(lr), count, *betas, decay, eps)
    return params, first, second


def sgd(
    params: Tensors,
    grads: Tensors,
    momenta: Tensors,
    lr: float | Tensor,
    *,
    momentum: float,
    nesterov: bool,
    decays: Sequence[float],
) -> tuple[Tensors, Tensors]:
    """Gradient descent with momentum in place."""
    params, grads, momenta = map(_to_rows, (params, grads, momenta))
    for decay, positions in _by_decay(decays):
        buffers = [momenta[i] for i in positions] if momentum else []
        moved = [params[i] for i in positions], [grads[i] for i in positions]
        _fused_sgd(*moved, buffers, _rate(lr), momentum, decay, nesterov)
    return params, momenta


def clip_by_global_norm(grads: Tensors, max_norm: float | Tensor) -> tuple[Tensors, Tensor]:
    """Scale all gradients down so that their common norm is at most `max_norm`."""
    norms = torch._foreach_norm(grads)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    share = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    return list(torch._foreach_mul(grads, share)), norm  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]


def _to_rows(tensors: Tensors) -> Tensors:
    """Return tensors with rows in order: torch's fused updates ignore strides."""
    return [tensor.contiguous() for tensor in tensors]


def _to_step(step: float | Tensor, like: Tensor) -> Tensor:
    """Return the step's number as the kernels read it."""
    if isinstance(step, Tensor):
        return step.to(device=like.device, dtype=torch.float32)
    return torch.full((), float(step), dtype=torch.float32, device=like.device)


def _rate(lr: float | Tensor) -> Tensor:
    """Return the learning rate as a tensor of float32 on the CPU, or where it is."""
    return lr.float() if isinstance(lr, Tensor) else torch.tensor(lr, dtype=torch.float32)


def _by_decay(decays: Sequence[float]) -> Iterator[tuple[float, list[int]]]:
    """Yield the positions of each decay: one call for all of them."""
    for decay in sorted(set(decays)):
        yield decay, [i for i, number in enumerate(decays) if number == decay]


@operation("adamw", mutates=("params", "first", "second"))
def _fused_adamw(
    params: list[Tensor],
    grads: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    lr: Tensor,
    step: Tensor,
    beta1: float,
    beta2: float,
    decay: float,
    eps: float,
) -> None:
    """AdamW in place."""
    torch._fused_adamw_(  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
        *(params, grads, first, second, list[Tensor](), [step] * len(params)),
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=decay,
        eps=eps,
        amsgrad=False,
        maximize=False,
    )


@operation("sgd", mutates=("params", "momenta"))
def _fused_sgd(
    params: list[Tensor],
    grads: list[Tensor],
    momenta: list[Tensor],
    lr: Tensor,
    momentum: float,
    decay: float,
    nesterov: bool,  # an operation of torch has no keywords alone
) -> None:
    """Gradient descent with momentum in place."""
    torch._fused_sgd_(  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
        *(params, grads, momenta),
        weight_decay=decay,
        momentum=momentum,
        lr=lr,
        dampening=0.0,
        nesterov=nesterov,
        maximize=False,
        is_first_step=False,
    )
