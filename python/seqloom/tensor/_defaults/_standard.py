"""The functions that every backend must have, as in the Array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

# An array of whichever library the backend is over: opaque to everything above it.
Array = Any
# A backend, to the bodies of its operations: every operation by its name.
Functions = Any


class Standard:
    """What a backend cannot do without; the default bodies are written with it alone.

    Arguments are those of the standard (2025.12), with three additions. A Python number
    may stand where an array may, and takes the other array's type. A dtype may be a name,
    a NumPy type, or the library's own. ``index(x, key)`` is ``x[key]``.

    Examples:
        >>> sorted(REQUIRED)[:3]
        ['abs', 'add', 'all']
    """

    # Making arrays. Floats are of the backend's `float_dtype` unless a dtype is given.
    asarray: Any
    empty: Any
    zeros: Any
    ones: Any
    full: Any
    arange: Any
    eye: Any
    from_dlpack: Any

    # Element types.
    astype: Any
    finfo: Any
    iinfo: Any
    isdtype: Any
    result_type: Any

    # One array, element by element.
    negative: Any
    abs: Any
    sign: Any
    exp: Any
    expm1: Any
    log: Any
    log1p: Any
    sqrt: Any
    square: Any
    reciprocal: Any
    sin: Any
    cos: Any
    tanh: Any
    floor: Any
    ceil: Any
    round: Any
    isfinite: Any
    isnan: Any
    logical_not: Any
    bitwise_invert: Any

    # Two arrays, element by element, broadcast.
    add: Any
    subtract: Any
    multiply: Any
    divide: Any
    floor_divide: Any
    remainder: Any
    pow: Any
    maximum: Any
    minimum: Any
    atan2: Any
    logaddexp: Any
    equal: Any
    not_equal: Any
    less: Any
    less_equal: Any
    greater: Any
    greater_equal: Any
    logical_and: Any
    logical_or: Any
    bitwise_and: Any
    bitwise_or: Any
    bitwise_xor: Any
    bitwise_left_shift: Any
    bitwise_right_shift: Any

    # Choosing.
    where: Any
    clip: Any

    # Over axes: ``axis=None`` is all of them, ``keepdims=True`` leaves them with length 1.
    sum: Any
    mean: Any
    var: Any
    max: Any
    min: Any
    prod: Any
    any: Any
    all: Any
    argmax: Any
    argmin: Any
    count_nonzero: Any
    cumulative_sum: Any

    # Products.
    matmul: Any
    matrix_transpose: Any
    tensordot: Any

    # Shapes.
    reshape: Any
    permute_dims: Any
    broadcast_to: Any
    concat: Any
    stack: Any
    expand_dims: Any
    squeeze: Any
    flip: Any
    roll: Any
    repeat: Any
    tile: Any
    unstack: Any

    # Positions.
    take: Any
    take_along_axis: Any
    argsort: Any
    sort: Any
    searchsorted: Any
    nonzero: Any
    index: Any  # has a default body

    def dtype(self, x: Array) -> np.dtype[Any]:
        """The element type of an array as NumPy's; of bfloat16, as ml_dtypes'."""
        return np.dtype(x.dtype)


REQUIRED = frozenset(Standard.__annotations__)
