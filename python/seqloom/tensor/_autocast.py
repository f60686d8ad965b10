"""Autocast: compute products in half precision, and sums and losses in float32."""

from __future__ import annotations

import platform
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from seqloom._system import match_in_system_file
from seqloom.errors import ArgumentError, BackendError
from seqloom.tensor._state import TensorState

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from seqloom.tensor._families import ArrayFunctions

# Operations that convert their inputs. All other operations keep the dtypes of their
# inputs. The lists follow torch.autocast for CUDA, except that means, deviations and
# batch norm are also computed in float32.
_HALF_PRECISION_OPERATIONS = """
    attention attention_varlen conv1d conv2d conv_transpose1d conv_transpose2d einsum gru
    linear lstm matmul tensordot vecdot
"""
_FULL_PRECISION_OPERATIONS = """
    acos asin avg_pool1d avg_pool2d batch_norm cosh cross_entropy cumulative_prod
    cumulative_sum exp expm1 layer_norm log log10 log1p log2 log_softmax logcumsumexp
    logsumexp mean pow prod reciprocal rms_norm rsqrt scale_shift sinh softmax softplus std
    sum tan var
"""
CONVERTED_OPERATIONS: dict[str, bool] = {
    **dict.fromkeys(_HALF_PRECISION_OPERATIONS.split(), True),
    **dict.fromkeys(_FULL_PRECISION_OPERATIONS.split(), False),
}
_HALVES = ("bfloat16", "float16")
_CASTABLE = (*_HALVES, "float32")  # dtypes that may be converted
# CPU flags in /proc/cpuinfo (x86-64, ARM) of instructions that multiply in half
# precision.
_CPU_FLAGS = {
    "bfloat16": {"amx_bf16", "avx512_bf16", "bf16"},
    "float16": {"amx_fp16", "asimdhp", "avx512_fp16"},
}

# The dtype that the current `autocast` block sets, and whether slow dtypes are allowed.
autocast_state: ContextVar[tuple[str, bool] | None] = ContextVar("autocast", default=None)


@contextmanager
def autocast(dtype: str, *, allow_slow: bool | None = None) -> Generator[None]:
    """Compute products in half precision within a ``with`` block or a decorated function.

    Parameters and their gradients remain in float32. Matrix products, linear and
    recurrent layers, convolutions and attention convert float32 and half-precision
    inputs to `dtype`, and return results in `dtype`. Sums, means, normalisation,
    softmax, logarithms, exponentials, powers and losses convert half precision to
    float32. Every other operation keeps the dtypes of its inputs. 64-bit numbers are
    never converted. The gradient of an operation is computed in the dtype of that
    operation. The lists follow ``torch.autocast`` for CUDA, except that means,
    deviations and batch norm are also computed in float32.

    The block may be inside a compiled step or around its call; each `dtype` is compiled
    separately.

    Args:
        dtype: ``"bfloat16"``, ``"float16"``, or ``"float32"`` for an inner block that
            computes in full precision again.
        allow_slow: If True, allow dtypes that are slower than float32, for example to
            try a step before it runs on another machine. By default, use the value of
            the enclosing block, or False without such a block.

    Yields:
        None.

    Raises:
        ArgumentError: `dtype` is not one of the three names.
        BackendError: Products would be slower than in float32, which is the case on
            NumPy, on JAX on a CPU, and on processors without instructions for `dtype`.
            The product raises the error, not the ``with`` statement.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
        >>> x = layer.backend.tensor([[1.0, 2.0, 3.0]])
        >>> with sl.tensor.autocast("bfloat16", allow_slow=True):
        ...     y = layer(x)
        >>> y.dtype, y.sum().dtype, layer.weight.value.dtype
        (dtype(bfloat16), dtype(bfloat16), dtype('float32'))
    """
    if dtype not in _CASTABLE:
        raise ArgumentError(
            f'dtype must be "bfloat16", "float16" or "float32", got {dtype!r}'
        )
    around = autocast_state.get()
    inherited = around is not None and around[1]
    token = autocast_state.set((dtype, inherited if allow_slow is None else allow_slow))
    try:
        yield
    finally:
        autocast_state.reset(token)


def cast_arguments(name: str, args: tuple[Any, ...], apply: Callable[..., Any]) -> Any:
    """Convert the arguments of an operation to the dtype that `autocast` requires."""
    is_product, found = CONVERTED_OPERATIONS.get(name), autocast_state.get()
    if is_product is None or found is None:
        return args
    wanted = found[0] if is_product else "float32"
    changed = tuple(_cast_floats(arg, wanted, apply) for arg in args)
    backends = [arg.backend for arg in changed if isinstance(arg, TensorState)]
    if wanted in _HALVES and backends and (why := explain_slowdown(backends[0], wanted)):
        raise BackendError(
            f'autocast("{wanted}"): {why}, so it would be slower than float32. Remove the '
            "autocast block, use int8 layers for inference "
            "(sl.nn.quantize_int8, on NumPy and torch), or pass allow_slow=True to try it"
        )
    return changed


def _cast_floats(arg: Any, dtype: str, apply: Callable[..., Any]) -> Any:
    """Convert a float tensor, or each float tensor in a list or tuple, to a dtype."""
    if isinstance(arg, TensorState):
        name = _dtype_name(cast("Any", arg).dtype)
        return apply("astype", arg, dtype) if name in _CASTABLE and name != dtype else arg
    if type(arg) is list or type(arg) is tuple:
        parts = [_cast_floats(part, dtype, apply) for part in cast("list[Any]", arg)]
        return parts if isinstance(arg, list) else tuple(parts)
    return arg


@cache
def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype from a cache, because NumPy computes it at each access."""
    return dtype.name


def explain_slowdown(backend: ArrayFunctions, dtype: str) -> str | None:
    """Return the reason why half precision is slow; None if it is fast or allowed."""
    around = autocast_state.get()
    if around is not None and around[1]:
        return None
    while hasattr(backend, "inner"):
        backend = backend.inner
    return _explain_slowdown_on_device(backend.name, backend.device, dtype)


@cache
def _explain_slowdown_on_device(backend: str, device: str, dtype: str) -> str | None:
    """Return the reason why half precision is slow on a device; None if it is fast."""
    if backend.startswith("numpy"):
        torch = 'the backend "torch" (--backend torch)'
        return f"NumPy has no products of {dtype}, unlike {torch}"
    if device.startswith("cpu") and backend.startswith("jax"):
        return f"JAX computes products of {dtype} on a CPU in float32"
    flags = _read_cpu_flags() if device.startswith("cpu") else None
    if flags is None or flags & _CPU_FLAGS[dtype]:
        return None
    return f"this processor ({platform.machine()}) has no instructions for {dtype}"


def _read_cpu_flags() -> set[str] | None:
    """Return the flags of the CPU in /proc/cpuinfo; None on systems without this file."""
    flags = match_in_system_file("/proc/cpuinfo", r"^(?:flags|Features)[^:]*:(.*)$")
    return None if flags is None else set(flags.split())
