"""Results by element: elementwise functions broadcast, draws have the shape asked for."""

from __future__ import annotations

import numpy as np

from seqloom.tensor._compile._shapes._call import (
    Call,
    Kind,
    Rule,
    find_dtype,
    to_numpy_dtype,
)
from seqloom.tensor._index import broadcast_shapes

_ELEMENTWISE = """
    negative abs sign exp expm1 log log1p sqrt square reciprocal sin cos tanh floor ceil
    round isfinite isnan isinf logical_not bitwise_invert positive rsqrt erf erfc relu
    sigmoid gelu silu softplus stop_gradient to_full_precision
    tan sinh cosh acos acosh asin asinh atan atanh log2 log10 trunc signbit conj real imag
    add subtract multiply divide floor_divide remainder pow maximum minimum atan2
    logaddexp equal not_equal less less_equal greater greater_equal logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
    hypot copysign nextafter
    where clip relu_grad sigmoid_grad gelu_grad
"""
_KEY_DTYPE = np.dtype(np.uint32)
_KEY_WORDS = 2


def _broadcast(call: Call) -> Kind:
    """The shape that all arguments fit."""
    shapes = [arg.shape for arg in call.args if hasattr(arg, "shape")]
    return broadcast_shapes(*shapes), find_dtype(call)


def _cast(call: Call) -> Kind:
    """The shape of the first argument, and the dtype that is asked for."""
    options = call.options
    dtype = options["dtype"] if "dtype" in options else call.args[1]
    return call.args[0].shape, to_numpy_dtype(call.target, dtype)


def _draw_shape(position: int, default: str) -> Rule:
    """Makes the rule of a draw whose shape is the argument at a position."""

    def rule(call: Call) -> Kind:
        dtype = to_numpy_dtype(call.target, call.options.get("dtype", default))
        return tuple(call.get(position, "shape")), dtype

    return rule


RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _broadcast),
    **dict.fromkeys(("astype", "asarray"), _cast),
    "random_bits": _draw_shape(1, "uint32"),
    "uniform": _draw_shape(1, "float32"),
    "normal": _draw_shape(1, "float32"),
    "truncated_normal": _draw_shape(3, "float32"),
    "bernoulli": _draw_shape(2, "bool"),
    "fold_in": lambda _: ((_KEY_WORDS,), _KEY_DTYPE),
    "split": lambda call: ((call.args[1], _KEY_WORDS), _KEY_DTYPE),
}
