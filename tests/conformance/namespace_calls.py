"""Hypothesis strategies for calls of the Array API standard's functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

REAL_DTYPES = ("float32", "float64")
COMPLEX_DTYPES = ("complex64", "complex128")
FLOATING_DTYPES = REAL_DTYPES + COMPLEX_DTYPES
SIGNED_DTYPES = ("int8", "int16", "int32", "int64")
UNSIGNED_DTYPES = ("uint8", "uint16", "uint32", "uint64")
INTEGER_DTYPES = SIGNED_DTYPES + UNSIGNED_DTYPES
BOOL_DTYPES = ("bool",)
NUMERIC_DTYPES = INTEGER_DTYPES + FLOATING_DTYPES
ALL_DTYPES = BOOL_DTYPES + NUMERIC_DTYPES
# Tuples of data types; each type promotes to the later types in its tuple.
PROMOTION_CHAINS = (
    SIGNED_DTYPES,
    UNSIGNED_DTYPES,
    REAL_DTYPES,
    COMPLEX_DTYPES,
    BOOL_DTYPES,
)

Call = tuple[tuple[Any, ...], dict[str, Any]]
Draw = Any


def array(draw: Draw, dtype: str, shape: Any, low: int = -36) -> Any:
    """Draw an array of multiples of 0.25, or of integers for an integer type."""
    if dtype == "bool":
        return draw(nps.arrays(np.bool_, shape))
    if dtype in COMPLEX_DTYPES:
        parts = [array(draw, "float64", shape, low) for _ in "ri"]
        return np.asarray(parts[0] + 1j * parts[1], dtype)
    scale = 4 if dtype in REAL_DTYPES else 1
    low = max(low, 0) if dtype in UNSIGNED_DTYPES else low
    integers = draw(nps.arrays(np.int64, shape, elements=st.integers(low, 36)))
    return np.asarray(integers / scale if scale > 1 else integers, dtype)


def shapes(min_dims: int = 0) -> Any:
    """Return a strategy for shapes of at most 3 axes of length 0 to 3."""
    return nps.array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=3)


def nonempty_shapes(min_dims: int = 1) -> Any:
    """Return a strategy for shapes of at most 3 axes of length 1 to 4."""
    return nps.array_shapes(min_dims=min_dims, max_dims=3, min_side=1, max_side=4)


def one(*dtypes: str, low: int = -36) -> Callable[..., Call]:
    """Return a function that draws calls with one array of one of the given types."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in dtypes if each in types]))
        return (array(draw, dtype, draw(shapes()), low),), {}

    return call


def two(*dtypes: str, low: int = -36, lowest: int | None = None) -> Callable[..., Call]:
    """Return a function that draws calls with two arrays that broadcast.

    The second array has no value below `lowest`.
    """

    def call(draw: Draw, types: set[str]) -> Call:
        chain = draw(
            st.sampled_from([c for c in PROMOTION_CHAINS if set(c) & set(dtypes) & types])
        )
        dtypes_of_chain = st.sampled_from([each for each in chain if each in types])
        both = nps.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)
        left, right = draw(both).input_shapes
        second = low if lowest is None else lowest
        return (
            array(draw, draw(dtypes_of_chain), left, low),
            array(draw, draw(dtypes_of_chain), right, second),
        ), {}

    return call


def over(*dtypes: str, one_axis: bool = False, **further: Any) -> Callable[..., Call]:
    """Return a function that draws calls with one array and the axes to reduce."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in dtypes if each in types]))
        shape = draw(nonempty_shapes())
        axis: Any = st.none() | st.integers(-len(shape), len(shape) - 1)
        axis = axis if one_axis else axis | nps.valid_tuple_axes(len(shape), min_size=1)
        options = {name: draw(each) for name, each in further.items()}
        options |= {"axis": draw(axis), "keepdims": draw(st.booleans())}
        return (array(draw, dtype, shape, -4),), options

    return call


def along(*dtypes: str, **further: Any) -> Callable[..., Call]:
    """Return a function that draws calls with one array and one axis of the array."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in dtypes if each in types]))
        shape = draw(nonempty_shapes())
        options = {name: draw(each) for name, each in further.items()}
        options["axis"] = draw(st.integers(-len(shape), len(shape) - 1))
        return (array(draw, dtype, shape, -4),), options

    return call


def shaped(
    rearrange: Callable[[Draw, tuple[int, ...]], Call], min_dims: int = 1
) -> Callable[..., Call]:
    """Return a function that draws an array; `rearrange` draws the other arguments."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in ALL_DTYPES if each in types]))
        shape = draw(nonempty_shapes(min_dims))
        args, options = rearrange(draw, shape)
        return (array(draw, dtype, shape), *args), options

    return call


def several(min_arrays: int = 1, *, equal: bool = True) -> Callable[..., Call]:
    """Return a function that draws calls with arrays of equal or broadcastable shapes."""

    def call(draw: Draw, types: set[str]) -> Call:
        count = draw(st.integers(min_arrays, 3))
        chain = draw(st.sampled_from(PROMOTION_CHAINS))
        dtypes_of_chain = st.sampled_from([each for each in chain if each in types])
        if not equal:
            both = nps.mutually_broadcastable_shapes(num_shapes=count, max_dims=3)
            found = draw(both).input_shapes
            return tuple(array(draw, draw(dtypes_of_chain), shape) for shape in found), {}
        shape = draw(nonempty_shapes())
        arrays = [array(draw, draw(dtypes_of_chain), shape) for _ in range(count)]
        return (arrays,), {"axis": draw(st.integers(-len(shape), len(shape) - 1))}

    return call


def creation(args: Callable[[Draw], tuple[Any, ...]]) -> Callable[..., Call]:
    """Return a function that draws calls without arrays, with or without a data type."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(
            st.none() | st.sampled_from([each for each in REAL_DTYPES if each in types])
        )
        return args(draw), {} if dtype is None else {"dtype": dtype}

    return call
