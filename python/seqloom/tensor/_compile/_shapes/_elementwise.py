"""Element by element: shapes broadcast, and the backend promotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._shapes._trial import promoted

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule

_ONE = """
    negative abs sign exp expm1 log log1p sqrt square reciprocal sin cos tanh floor ceil
    round isfinite isnan isinf logical_not bitwise_invert positive rsqrt erf erfc relu
    sigmoid gelu silu softplus stop_gradient to_full_precision
    tan sinh cosh acos acosh asin asinh atan atanh log2 log10 trunc signbit conj real imag
"""
_SEVERAL = """
    add subtract multiply divide floor_divide remainder pow maximum minimum atan2
    logaddexp equal not_equal less less_equal greater greater_equal logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
    hypot copysign nextafter
    where clip relu_grad sigmoid_grad gelu_grad silu_grad softplus_grad erf_grad
"""


def _broadcast(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """The shape that all arguments fit."""
    shapes = [arg.shape for arg in args if hasattr(arg, "shape")]
    return np.broadcast_shapes(*shapes), promoted(target, name, args, options)


def _as(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """The first argument's shape, the type that is asked for."""
    wanted = options["dtype"] if "dtype" in options else args[1]
    return args[0].shape, promoted_to(_target, wanted)


def promoted_to(target: Backend, wanted: Any) -> np.dtype[Any]:
    """An element type as NumPy's, however it was named."""
    if wanted in {float, int}:  # which a backend takes in its own way
        return target.dtype(target.zeros((), dtype=wanted))
    try:
        return np.dtype(wanted)
    except TypeError:  # the library's own name for it
        return target.dtype(target.zeros((), dtype=wanted))


def like_first(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """Shape and type of the first argument."""
    return args[0].shape, args[0].dtype


RULES: dict[str, Rule] = {
    **dict.fromkeys((_ONE + _SEVERAL).split(), _broadcast),
    "astype": _as,
    "asarray": _as,
}
