"""Calls of the Array API standard's functions, drawn by Hypothesis."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATING = REAL + COMPLEX
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
WHOLE = SIGNED + UNSIGNED
BOOL = ("bool",)
NUMERIC = WHOLE + FLOATING
ALL = BOOL + NUMERIC
# Types of which each promotes to the next ones, as the standard promises.
CHAINS = (SIGNED, UNSIGNED, REAL, COMPLEX, BOOL)

Call = tuple[tuple[Any, ...], dict[str, Any]]
Draw = Any


def array(draw: Draw, dtype: str, shape: Any, low: int = -36) -> Any:
    """Return an array of quarters around 0, or of integers."""
    if dtype == "bool":
        return draw(nps.arrays(np.bool_, shape))
    if dtype in COMPLEX:
        parts = [array(draw, "float64", shape, low) for _ in "ri"]
        return np.asarray(parts[0] + 1j * parts[1], dtype)
    scale = 4 if dtype in REAL else 1
    low = max(low, 0) if dtype in UNSIGNED else low
    whole = draw(nps.arrays(np.int64, shape, elements=st.integers(low, 36)))
    return np.asarray(whole / scale if scale > 1 else whole, dtype)


def shapes(least: int = 0) -> Any:
    """Shapes of few and short axes, empty ones among them."""
    return nps.array_shapes(min_dims=least, max_dims=3, min_side=0, max_side=3)


def filled(least: int = 1) -> Any:
    """Shapes without empty axes."""
    return nps.array_shapes(min_dims=least, max_dims=3, min_side=1, max_side=4)


def one(*dtypes: str, low: int = -36) -> Callable[..., Call]:
    """One array of one of these types."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in dtypes if each in types]))
        return (array(draw, dtype, draw(shapes()), low),), {}

    return call


def two(*dtypes: str, low: int = -36, lowest: int | None = None) -> Callable[..., Call]:
    """Two arrays that broadcast, of types that promote; the second from `lowest` up."""

    def call(draw: Draw, types: set[str]) -> Call:
        chain = draw(st.sampled_from([c for c in CHAINS if set(c) & set(dtypes) & types]))
        known = st.sampled_from([each for each in chain if each in types])
        both = nps.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)
        left, right = draw(both).input_shapes
        second = low if lowest is None else lowest
        return (
            array(draw, draw(known), left, low),
            array(draw, draw(known), right, second),
        ), {}

    return call


def over(*dtypes: str, one_axis: bool = False, **further: Any) -> Callable[..., Call]:
    """One array, and the axes to bring together."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in dtypes if each in types]))
        shape = draw(filled())
        axis: Any = st.none() | st.integers(-len(shape), len(shape) - 1)
        axis = axis if one_axis else axis | nps.valid_tuple_axes(len(shape), min_size=1)
        options = {name: draw(each) for name, each in further.items()}
        options |= {"axis": draw(axis), "keepdims": draw(st.booleans())}
        return (array(draw, dtype, shape, -4),), options

    return call


def along(*dtypes: str, **further: Any) -> Callable[..., Call]:
    """One array, and an axis to go along."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in dtypes if each in types]))
        shape = draw(filled())
        options = {name: draw(each) for name, each in further.items()}
        options["axis"] = draw(st.integers(-len(shape), len(shape) - 1))
        return (array(draw, dtype, shape, -4),), options

    return call


def shaped(
    rearrange: Callable[[Draw, tuple[int, ...]], Call], least: int = 1
) -> Callable[..., Call]:
    """One array, and what an array of its shape may be asked for."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.sampled_from([each for each in ALL if each in types]))
        shape = draw(filled(least))
        args, options = rearrange(draw, shape)
        return (array(draw, dtype, shape), *args), options

    return call


def several(least: int = 1, *, equal: bool = True) -> Callable[..., Call]:
    """Several arrays of one shape or of shapes that broadcast, of types that promote."""

    def call(draw: Draw, types: set[str]) -> Call:
        count = draw(st.integers(least, 3))
        chain = draw(st.sampled_from(CHAINS))
        known = st.sampled_from([each for each in chain if each in types])
        if not equal:
            both = nps.mutually_broadcastable_shapes(num_shapes=count, max_dims=3)
            found = draw(both).input_shapes
            return tuple(array(draw, draw(known), shape) for shape in found), {}
        shape = draw(filled())
        arrays = [array(draw, draw(known), shape) for _ in range(count)]
        return (arrays,), {"axis": draw(st.integers(-len(shape), len(shape) - 1))}

    return call


def made(args: Callable[[Draw], tuple[Any, ...]]) -> Callable[..., Call]:
    """No array; a type where one is named."""

    def call(draw: Draw, types: set[str]) -> Call:
        dtype = draw(st.none() | st.sampled_from([each for each in REAL if each in types]))
        return args(draw), {} if dtype is None else {"dtype": dtype}

    return call
