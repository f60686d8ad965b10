"""Kernels that torch.compile treats as one node: NumPy kernels and fused updates.

Each kernel is an operation of the torch library ``seqloom``. While torch traces, the
fake form of a kernel computes the shapes of the results. In a compiled step, where the
learning rate is a tensor, the fused updates of torch must be operations of this library
too. `operation` declares the arrays that an update overwrites, which torch.compile
would not detect.
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


def register(
    name: str, *, mutates: tuple[str, ...] = (), schema: str | None = None
) -> Callable[[Any], Any]:
    """Register a function as an operation of the torch library ``seqloom``.

    Outside ``torch.compile`` the function is called directly, because torch imports its
    compiler at the first call of a custom operation, which takes a second.

    Args:
        name: Name of the operation.
        mutates: Names of the arguments that the operation overwrites.
        schema: Schema of arguments and results in torch's notation; default: inferred
            from the annotations of the function.

    Returns:
        A decorator. The decorated function has the method ``register_fake``, which
        registers the fake form.
    """

    def wrap(function: Callable[..., Any]) -> Any:
        make = custom_op(f"seqloom::{name}", mutates_args=mutates, schema=schema)
        defined = make(function)
        whole = getattr(torch.ops.seqloom, name).default

        @wraps(function)
        def call(*args: Any) -> Any:
            plainly = not torch.compiler.is_compiling() and all(map(_is_untraced, args))
            return function(*args) if plainly else whole(*args)

        vars(call)["register_fake"] = defined.register_fake
        return call

    return wrap


def _is_untraced(arg: Any) -> bool:
    """Return whether PyTorch neither traces an argument nor computes its gradient."""
    if type(arg) is Tensor:
        return not (arg.requires_grad and torch.is_grad_enabled())
    return not isinstance(arg, Tensor)


# Kernels of the NumPy backend on the memory of CPU tensors ----------------------------


def get_numpy() -> Backend:
    """Return the NumPy backend with PyTorch's number of threads."""
    return backend("numpy", num_threads=torch.get_num_threads())


def to_array(x: Tensor) -> NDArray[np.generic]:
    """Convert a torch tensor to a NumPy array without copying."""
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.int16).numpy().view(to_numpy_type(x.dtype))
    return x.detach().numpy()


def to_tensor(array: NDArray[np.generic]) -> Tensor:
    """Convert a NumPy array to a torch tensor without copying."""
    if array.dtype == to_numpy_type(torch.bfloat16):
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


Tensors = list[Tensor]


# Int8 linear layers: Rust kernels on a CPU, default implementations elsewhere -----------


# input, weight, scale, factor, and optional bias and residual
_LINEAR_ARGUMENTS = 6


def linear_int8(b: Backend, *arrays: Tensor | None) -> Tensor:
    """Return ``(x * factor) @ (weight * scale).T + bias + residual``, row by row."""
    if not _has_kernel(*arrays):
        return _linear_layers.linear_int8(b, *arrays)
    return _linear_int8(*arrays, *(None,) * (_LINEAR_ARGUMENTS - len(arrays)))


def rotary_linear_int8(
    b: Backend, *arrays: Tensor | None, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return rotary queries, keys and values, computed with an int8 layer."""
    if not _has_kernel(*arrays):
        return _linear_layers.rotary_linear_int8(b, *arrays, heads=heads)
    query, key, value = _rotary_linear_int8(*arrays, heads).unbind(-3)
    return query, key, value


def feed_forward_int8(b: Backend, *arrays: Tensor | None, eps: float) -> Tensor:
    """Return the result of ``feed_forward``, computed with two int8 layers."""
    if not _has_kernel(*arrays):
        return _linear_layers.feed_forward_int8(b, *arrays, eps=eps)
    return _feed_forward_int8(*arrays, eps)


@register("linear_int8")
def _linear_int8(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
) -> Tensor:
    """Return the outputs ``(..., out)`` of an int8 linear layer."""
    given = _to_arrays(x, weight, scale, factor, bias, residual)
    return to_tensor(get_numpy().linear_int8(*given))


@register("rotary_linear_int8")
def _rotary_linear_int8(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    cosine: Tensor,
    sine: Tensor,
    heads: int,
) -> Tensor:
    """Return rotary queries, keys and values as one array ``(..., 3, h, d)``."""
    joined = x.new_empty((*x.shape[:-1], weight.shape[0]))
    given = _to_arrays(x, weight, scale, factor, bias, cosine, sine)
    get_numpy().rotary_linear_int8(*given, heads=heads, into=to_array(joined))
    return joined.unflatten(-1, (3, heads, -1))


@register("feed_forward_int8")
def _feed_forward_int8(
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
    """Return ``x`` plus the output of a feed-forward block with two int8 layers."""
    inner = weight_in, scale_in, factor_in, bias_in
    outer = weight_out, scale_out, factor_out, bias_out
    given = _to_arrays(x, norm_weight, norm_bias, *inner, *outer)
    return to_tensor(get_numpy().feed_forward_int8(*given, eps=eps))


def _has_kernel(*arrays: Tensor | None) -> bool:
    """Return whether the kernels support these arrays: float32, not empty, on a CPU."""
    given = [array for array in arrays if array is not None]
    on_cpu = all(array.device.type == "cpu" and array.numel() for array in given)
    return on_cpu and given[0].dtype is torch.float32


def _to_arrays(*given: Tensor | None) -> list[NDArray[np.generic] | None]:
    """Convert torch tensors to NumPy arrays without copying."""
    return [None if array is None else to_array(array) for array in given]


@_linear_int8.register_fake
def _make_fake_linear(x: Tensor, weight: Tensor, *_rest: object) -> Tensor:
    """Return an uninitialised tensor with the shape of the outputs."""
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@_rotary_linear_int8.register_fake
def _make_fake_rotary(x: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    """Return an uninitialised tensor with the shape of queries, keys and values."""
    heads = rest[-1]
    return x.new_empty((*x.shape[:-1], 3, heads, weight.shape[0] // (3 * heads)))


@_feed_forward_int8.register_fake
def _make_fake_feed_forward(x: Tensor, *_rest: object) -> Tensor:
    """Return an uninitialised tensor with the shape of the result."""
    return x.new_empty(x.shape)


# Updates of parameters, which overwrite their arguments
# ----------------------------------


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
    """Run one step of AdamW in place; the first step has the number 1."""
    params, grads, first, second = map(_to_rows, (params, grads, first, second))
    count = _to_step(step, params[0])
    for decay, positions in _group_by_decay(decays):
        lists = (
            [arrays[i] for i in positions] for arrays in (params, grads, first, second)
        )
        _fused_adamw(*lists, _to_rate(lr), count, *betas, decay, eps)
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
    """Run one step of SGD with momentum in place."""
    params, grads, momenta = map(_to_rows, (params, grads, momenta))
    for decay, positions in _group_by_decay(decays):
        buffers = [momenta[i] for i in positions] if momentum else []
        moved = [params[i] for i in positions], [grads[i] for i in positions]
        _fused_sgd(*moved, buffers, _to_rate(lr), momentum, decay, nesterov)
    return params, momenta


def clip_by_global_norm(grads: Tensors, max_norm: float | Tensor) -> tuple[Tensors, Tensor]:
    """Scale all gradients by one factor so that their common norm is at most `max_norm`."""
    norms = torch._foreach_norm(grads)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    share = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    return list(torch._foreach_mul(grads, share)), norm  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]


def _to_rows(tensors: Tensors) -> Tensors:
    """Return contiguous tensors, because torch's fused updates ignore strides."""
    return [tensor.contiguous() for tensor in tensors]


def _to_step(step: float | Tensor, to_array_like: Tensor) -> Tensor:
    """Convert the step number to a tensor, which the fused kernels require."""
    if isinstance(step, Tensor):
        return step.to(device=to_array_like.device, dtype=torch.float32)
    return torch.full((), float(step), dtype=torch.float32, device=to_array_like.device)


def _to_rate(lr: float | Tensor) -> Tensor:
    """Convert the learning rate to a float32 tensor, on the CPU if it is a number."""
    return lr.float() if isinstance(lr, Tensor) else torch.tensor(lr, dtype=torch.float32)


def _group_by_decay(decays: Sequence[float]) -> Iterator[tuple[float, list[int]]]:
    """Yield each weight decay, with the indices of the parameters that it applies to."""
    for decay in sorted(set(decays)):
        yield decay, [i for i, number in enumerate(decays) if number == decay]


@register("adamw", mutates=("params", "first", "second"))
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
    """Run one step of AdamW in place."""
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


@register("sgd", mutates=("params", "momenta"))
def _fused_sgd(
    params: list[Tensor],
    grads: list[Tensor],
    momenta: list[Tensor],
    lr: Tensor,
    momentum: float,
    decay: float,
    nesterov: bool,  # positional, because torch operations have no keyword-only arguments
) -> None:
    """Run one step of SGD with momentum in place."""
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
