"""For each function of the Array API standard, a function that draws its calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from conformance.namespace_calls import (
    ALL_DTYPES,
    BOOL_DTYPES,
    COMPLEX_DTYPES,
    FLOATING_DTYPES,
    INTEGER_DTYPES,
    NUMERIC_DTYPES,
    REAL_DTYPES,
    SIGNED_DTYPES,
    UNSIGNED_DTYPES,
    Call,
    along,
    array,
    creation,
    nonempty_shapes,
    one,
    over,
    several,
    shaped,
    shapes,
    two,
)

REAL_NUMBER_DTYPES = INTEGER_DTYPES + REAL_DTYPES


def _each(names: str, call: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split(), call)


def _alone(_draw: Any, _shape: Any) -> Call:
    return (), {}


def _diagonal(draw: Any, _shape: Any) -> Call:
    return (), {"k": draw(st.integers(-3, 3))}


def _axes(draw: Any, shape: Any) -> Any:
    return draw(st.none() | nps.valid_tuple_axes(len(shape), min_size=1))


def _broadcast(draw: Any, shape: Any) -> Call:
    return ((draw(st.integers(1, 3)), *shape),), {}


def _roll(draw: Any, shape: Any) -> Call:
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    return (draw(st.integers(-4, 4)),), {"axis": axis}


def _repeat(draw: Any, shape: Any) -> Call:
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    return (draw(st.integers(0, 3)),), {"axis": axis}


def _move(draw: Any, shape: Any) -> Call:
    place = st.integers(-len(shape), len(shape) - 1)
    return (draw(place), draw(place)), {}


def _squeezable(draw: Any, types: Any) -> Call:
    del types
    shape = (1, *draw(shapes()))
    return (array(draw, "float32", shape),), {"axis": 0}


def _matrices(draw: Any, types: set[str]) -> Call:
    (x, y), _ = two(*NUMERIC_DTYPES)(draw, types)
    n, k, m = (draw(st.integers(1, 3)) for _ in range(3))
    return (array(draw, x.dtype.name, (n, k)), array(draw, y.dtype.name, (k, m))), {}


def _vectors(draw: Any, types: set[str]) -> Call:
    (x, y), _ = two(*NUMERIC_DTYPES)(draw, types)
    shape = draw(nonempty_shapes())
    return tuple(array(draw, each.dtype.name, shape) for each in (x, y)), {}


def _contracted(draw: Any, types: set[str]) -> Call:
    args, _ = _matrices(draw, types)
    return args, {"axes": draw(st.sampled_from([0, 1, ((1,), (0,))]))}


def _taken(draw: Any, shape: Any) -> Call:
    axis = draw(st.integers(0, len(shape) - 1))
    places = nps.arrays(np.int64, (2,), elements=st.integers(0, shape[axis] - 1))
    return (draw(places),), {"axis": axis}


def _taken_along(draw: Any, shape: Any) -> Call:
    axis = draw(st.integers(0, len(shape) - 1))
    wanted = (*shape[:axis], 2, *shape[axis + 1 :])
    places = nps.arrays(np.int64, wanted, elements=st.integers(0, shape[axis] - 1))
    return (draw(places),), {"axis": axis}


def _searched(draw: Any, types: set[str]) -> Call:
    del types
    row = np.sort(array(draw, "float32", draw(st.integers(1, 5))))
    side = draw(st.sampled_from(["left", "right"]))
    return (row, array(draw, "float32", draw(nonempty_shapes()))), {"side": side}


def _chosen(draw: Any, types: set[str]) -> Call:
    (x, y), _ = two(*ALL_DTYPES)(draw, types)
    return (array(draw, "bool", np.broadcast_shapes(x.shape, y.shape)), x, y), {}


def _clipped(draw: Any, types: set[str]) -> Call:
    (x,), _ = one(*REAL_NUMBER_DTYPES)(draw, types)
    return (x, draw(st.none() | st.integers(0, 3)), draw(st.none() | st.integers(4, 9))), {}


def _grid(draw: Any, types: set[str]) -> Call:
    del types
    rows = [array(draw, "float32", draw(st.integers(1, 3))) for _ in "abc"]
    return tuple(rows), {"indexing": draw(st.sampled_from(["xy", "ij"]))}


def _difference(draw: Any, types: set[str]) -> Call:
    (x,), options = along(*REAL_NUMBER_DTYPES)(draw, types)
    return (x,), {"axis": options["axis"], "n": draw(st.integers(0, 2))}


_DESCENDING_OPTION = {"descending": st.booleans()}
_INCLUDE_INITIAL_OPTION = {"include_initial": st.booleans()}

NAMESPACE_CALLS: dict[str, Callable[..., Call]] = {
    **_each(
        "acos asin atanh cos cosh exp expm1 sin sinh tan tanh",
        one(*FLOATING_DTYPES, low=-8),
    ),
    **_each("acosh asinh atan log log10 log1p log2 sqrt", one(*FLOATING_DTYPES)),
    **_each("abs isfinite isinf isnan negative positive sign square", one(*NUMERIC_DTYPES)),
    **_each("ceil floor trunc", one(*REAL_NUMBER_DTYPES)),
    **_each("round conj", one(*NUMERIC_DTYPES)),
    "reciprocal": one(*FLOATING_DTYPES, low=1),
    "real": one(*NUMERIC_DTYPES),
    "imag": one(*COMPLEX_DTYPES),
    "signbit": one(*REAL_DTYPES),
    "bitwise_invert": one(*BOOL_DTYPES, *INTEGER_DTYPES),
    "logical_not": one(*BOOL_DTYPES),
    **_each("add subtract multiply", two(*NUMERIC_DTYPES)),
    "divide": two(*FLOATING_DTYPES, lowest=1),
    "pow": two(*REAL_DTYPES, low=1),
    **_each("atan2 copysign hypot logaddexp nextafter", two(*REAL_DTYPES)),
    **_each("floor_divide remainder", two(*REAL_NUMBER_DTYPES, lowest=1)),
    **_each("maximum minimum", two(*REAL_NUMBER_DTYPES)),
    **_each("equal not_equal", two(*ALL_DTYPES)),
    **_each("less less_equal greater greater_equal", two(*REAL_NUMBER_DTYPES)),
    **_each("logical_and logical_or logical_xor", two(*BOOL_DTYPES)),
    **_each("bitwise_and bitwise_or bitwise_xor", two(*BOOL_DTYPES, *INTEGER_DTYPES)),
    **_each(
        "bitwise_left_shift bitwise_right_shift", two(*INTEGER_DTYPES, low=0, lowest=0)
    ),
    "isin": two(*INTEGER_DTYPES),
    "where": _chosen,
    "clip": _clipped,
    **_each("all any count_nonzero", over(*ALL_DTYPES)),
    **_each("max min", over(*REAL_NUMBER_DTYPES)),
    **_each("sum prod", over(*NUMERIC_DTYPES)),
    "mean": over(*FLOATING_DTYPES),
    **_each("std var", over(*REAL_DTYPES, correction=st.sampled_from([0.0, 0.5]))),
    **_each("argmax argmin", over(*REAL_NUMBER_DTYPES, one_axis=True)),
    **_each(
        "cumulative_sum cumulative_prod", along(*NUMERIC_DTYPES, **_INCLUDE_INITIAL_OPTION)
    ),
    "diff": _difference,
    **_each("sort argsort", along(*REAL_NUMBER_DTYPES, **_DESCENDING_OPTION)),
    "matmul": _matrices,
    "vecdot": _vectors,
    "tensordot": _contracted,
    "broadcast_arrays": several(equal=False),
    "broadcast_to": shaped(_broadcast),
    "broadcast_shapes": lambda draw, _: (
        draw(nps.mutually_broadcastable_shapes(num_shapes=2)).input_shapes,
        {},
    ),
    **_each("concat stack", several()),
    "expand_dims": shaped(lambda draw, s: ((), {"axis": draw(st.integers(0, len(s)))})),
    "flip": shaped(lambda draw, shape: ((), {"axis": _axes(draw, shape)})),
    "matrix_transpose": shaped(_alone, 2),
    "meshgrid": _grid,
    "moveaxis": shaped(_move),
    "permute_dims": shaped(
        lambda draw, s: ((tuple(draw(st.permutations(range(len(s))))),), {})
    ),
    "repeat": shaped(_repeat),
    "reshape": shaped(lambda _draw, _shape: (((-1,),), {})),
    "roll": shaped(_roll),
    "squeeze": _squeezable,
    "tile": shaped(
        lambda draw, _shape: ((tuple(draw(st.lists(st.integers(0, 2), max_size=4))),), {})
    ),
    **_each("tril triu", shaped(_diagonal, 2)),
    "unstack": shaped(lambda draw, s: ((), {"axis": draw(st.integers(0, len(s) - 1))})),
    "nonzero": shaped(_alone),
    "searchsorted": _searched,
    "take": shaped(_taken),
    "take_along_axis": shaped(_taken_along),
    **_each(
        "unique_all unique_counts unique_inverse unique_values",
        one(*BOOL_DTYPES, *REAL_NUMBER_DTYPES),
    ),
    "arange": creation(
        lambda draw: (
            draw(st.integers(-5, 5)),
            draw(st.integers(-5, 5)),
            draw(st.sampled_from([-2, 1, 3])),
        )
    ),
    **_each("zeros ones", creation(lambda draw: (draw(shapes()),))),
    "empty": lambda draw, _: ((draw(st.just((0, 2))),), {}),
    "full": creation(lambda draw: (draw(shapes()), draw(st.sampled_from([1.5, -2.0])))),
    "eye": lambda draw, _: (
        (draw(st.integers(0, 4)), draw(st.none() | st.integers(0, 4))),
        {"k": draw(st.integers(-4, 4))},
    ),
    "linspace": lambda draw, _: (
        (draw(st.integers(-5, 5)), draw(st.integers(-5, 5)), draw(st.integers(0, 6))),
        {"endpoint": draw(st.booleans())},
    ),
    **_each("zeros_like ones_like", one(*ALL_DTYPES)),
    "empty_like": lambda _draw, _types: ((np.zeros((0, 3), "int16"),), {}),
    "full_like": shaped(lambda _draw, _shape: ((1,), {})),
    "asarray": one(*ALL_DTYPES),
    "astype": lambda draw, types: (
        *((one(*SIGNED_DTYPES)(draw, types)[0][0], draw(st.sampled_from(REAL_DTYPES))),),
        {},
    ),
}
NAMESPACE_CALLS["result_type"] = NAMESPACE_CALLS["can_cast"] = two(*NUMERIC_DTYPES)
NAMESPACE_CALLS["isdtype"] = lambda draw, _: (
    (
        draw(st.sampled_from(ALL_DTYPES)),
        draw(st.sampled_from(["bool", "integral", "numeric"])),
    ),
    {},
)
NAMESPACE_CALLS["finfo"] = one(*REAL_DTYPES)
NAMESPACE_CALLS["iinfo"] = one(*SIGNED_DTYPES, *UNSIGNED_DTYPES)
NAMESPACE_CALLS["from_dlpack"] = one("float32")
