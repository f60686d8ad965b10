"""Autocast: products in half precision, sums of many numbers in float32."""

from __future__ import annotations

import platform
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from seqloom._system import read_fact
from seqloom.errors import ArgumentError, BackendError
from seqloom.tensor._state import TensorState

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from seqloom.tensor._families import ArrayFunctions

# The operations that take float32 and half precision mixed; all others, elementwise ones
# among them, follow their operands. The lists are those of torch.autocast for CUDA, and
# means, deviations and batch norm are in float32 too.
_PRODUCTS = """
    attention attention_varlen conv1d conv2d conv_transpose1d conv_transpose2d einsum gru
    linear lstm matmul tensordot vecdot
"""
_SUMS = """
    acos asin avg_pool1d avg_pool2d batch_norm cosh cross_entropy cumulative_prod
    cumulative_sum exp expm1 layer_norm log log10 log1p log2 log_softmax logcumsumexp
    logsumexp mean pow prod reciprocal rms_norm rsqrt scale_shift sinh softmax softplus std
    sum tan var
"""
LISTED: dict[str, bool] = {
    **dict.fromkeys(_PRODUCTS.split(), True),
    **dict.fromkeys(_SUMS.split(), False),
}
_HALVES = ("bfloat16", "float16")
_FLOATS = (*_HALVES, "float32")  # float64 stays as it is
# What /proc/cpuinfo calls the instructions that multiply these: of x86-64 and of ARM.
_INSTRUCTIONS = {
    "bfloat16": {"amx_bf16", "avx512_bf16", "bf16"},
    "float16": {"amx_fp16", "asimdhp", "avx512_fp16"},
}

# The type of products within `autocast`, and whether a slow one is allowed.
casting: ContextVar[tuple[str, bool] | None] = ContextVar("casting", default=None)


@contextmanager
def autocast(dtype: str, *, allow_slow: bool | None = None) -> Generator[None]:
    """Compute products in half precision within a ``with`` block, or within a function.

    Parameters stay in float32, and so do their gradients. Matrix products, linear and
    recurrent layers, convolutions and attention take float32 and half precision, convert
    both to `dtype`, and return it. Sums, means, normalisation, softmax, logarithms,
    exponentials, powers and losses convert half precision to float32. Every other operation
    follows its operands. Numbers of 64 bits stay as they are. A gradient is computed in the
    type of the operation that it belongs to. The lists are those of ``torch.autocast`` for
    CUDA; means, deviations and batch norm are in float32 too.

    The block may stand inside a compiled step, or around its call: there is one program for
    each `dtype`.

    Args:
        dtype: ``"bfloat16"``, ``"float16"``, or ``"float32"`` for a part of a block that
            shall compute in full precision again.
        allow_slow: Whether to compute also where it is slower than in float32, for example
            to try a step before it runs on another machine. None: as the block around it
            does, which is no where there is none.

    Yields:
        Nothing.

    Raises:
        ArgumentError: `dtype` is none of the three.
        BackendError: A product would be slower than in float32: on NumPy, on JAX's CPU, and
            on a processor without instructions for `dtype`. It is raised by the product.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[1.0, 2.0, 3.0]])
        >>> with sl.tensor.autocast("bfloat16", allow_slow=True):
        ...     y = layer(x)
        >>> y.dtype, y.sum().dtype, layer.weight.value.dtype
        (dtype(bfloat16), dtype(bfloat16), dtype('float32'))
    """
    if dtype not in _FLOATS:
        raise ArgumentError(
            f'dtype must be "bfloat16", "float16" or "float32", got {dtype!r}'
        )
    around = casting.get()
    inherited = around is not None and around[1]
    token = casting.set((dtype, inherited if allow_slow is None else allow_slow))
    try:
        yield
    finally:
        casting.reset(token)


def cast_arguments(name: str, args: tuple[Any, ...], apply: Callable[..., Any]) -> Any:
    """Return the arguments of an operation in the type that the open block gives it."""
    is_product, found = LISTED.get(name), casting.get()
    if is_product is None or found is None:
        return args
    wanted = found[0] if is_product else "float32"
    changed = tuple(_cast(arg, wanted, apply) for arg in args)
    backends = [arg.backend for arg in changed if isinstance(arg, TensorState)]
    if wanted in _HALVES and backends and (reason := find_reason(backends[0], wanted)):
        raise BackendError(
            f'autocast("{wanted}"): {reason}, so it would be slower than float32; leave '
            "autocast out to compute in float32, use int8 layers for inference "
            "(sl.nn.quantize_int8, on NumPy and torch), or pass allow_slow=True to try it"
        )
    return changed


def _cast(arg: Any, dtype: str, apply: Callable[..., Any]) -> Any:
    """Convert a tensor of floats, or those in a list or tuple."""
    if isinstance(arg, TensorState):
        name = _name(cast("Any", arg).dtype)
        return apply("astype", arg, dtype) if name in _FLOATS and name != dtype else arg
    if type(arg) is list or type(arg) is tuple:
        parts = [_cast(part, dtype, apply) for part in cast("list[Any]", arg)]
        return parts if isinstance(arg, list) else tuple(parts)
    return arg


@cache
def _name(dtype: Any) -> str:
    """Return the name of an element type, which NumPy makes again at each request."""
    return dtype.name


def find_reason(backend: ArrayFunctions, dtype: str) -> str | None:
    """Return why half precision is slow on a backend; None if it is not, or is allowed."""
    around = casting.get()
    if around is not None and around[1]:
        return None
    while hasattr(backend, "inner"):
        backend = backend.inner
    return _find_reason(backend.name, backend.device, dtype)


@cache
def _find_reason(backend: str, device: str, dtype: str) -> str | None:
    """Say why half precision is slow on a device; None where it is not."""
    if backend.startswith("numpy"):
        torch = 'the backend "torch" (--backend torch)'
        return f"NumPy has no products of {dtype}, unlike {torch}"
    if device.startswith("cpu") and backend.startswith("jax"):
        return f"JAX computes products of {dtype} on a CPU by those of float32"
    flags = _read_flags() if device.startswith("cpu") else None
    if flags is None or flags & _INSTRUCTIONS[dtype]:
        return None
    return f"this processor ({platform.machine()}) has no instructions for {dtype}"


def _read_flags() -> set[str] | None:
    """Return the instructions of the processor; None on other systems than Linux."""
    flags = read_fact("/proc/cpuinfo", r"^(?:flags|Features)[^:]*:(.*)$")
    return None if flags is None else set(flags.split())
