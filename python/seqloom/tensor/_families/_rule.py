"""Rules of operations: gradients, and shapes and dtypes without computing results.

A `Rule` is the derivative of one operation, as data. `save` declares what is kept of an
operation (raw arrays, shapes, numbers). `pull` turns the gradient by its output into those
by its inputs, written in the functions of the inner backend alone, so that it works on
every backend and can itself be tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from seqloom.tensor._elements import Array, broadcast_shapes
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._keep import Args, Like, Needs, Options
from seqloom.tensor._graph import Value, flatten

if TYPE_CHECKING:
    from numpy.typing import NDArray


_NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class ArrayFunctions:
    """The functions of a backend over its arrays: those of the table of operations.

    Arguments are those of the standard (2025.12), with three additions. A Python number
    may stand where an array may, and takes the other array's type. A dtype may be a name,
    a NumPy type, or the library's own. ``index(x, key)`` is ``x[key]``.

    Examples:
        >>> import seqloom as sl
        >>> isinstance(sl.tensor.backend("numpy"), ArrayFunctions)
        True
    """

    threads: int
    float_dtype: str
    deterministic: bool  # of NumPy's backend alone

    def __init_subclass__(
        cls, *, functions: Mapping[str, Callable[..., Any]] = _NONE, **options: Any
    ) -> None:
        """Make functions, which take the backend first, methods of the class by name."""
        super().__init_subclass__(**options)
        for name, function in functions.items():
            setattr(cls, name, function)

    def dtype(self, x: Array) -> np.dtype[np.generic]:
        """Return the element type of an array as NumPy's; of bfloat16, as ml_dtypes'."""
        return np.dtype(x.dtype)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Any operation of the table."""


# Short, because each function of a family has it first.
Functions: TypeAlias = ArrayFunctions


_S = TypeVar("_S")
Save: TypeAlias = Callable[[Args, Array, Needs, Options], _S]
Parts: TypeAlias = Sequence[Array | None]
Pull: TypeAlias = "Callable[[Functions, _S, Array, Needs], Parts]"

ALL = 1 << 30


@dataclass(frozen=True, slots=True)
class Rule:
    """The derivative of one operation.

    Attributes:
        save: What is kept, from (inputs, output, which inputs are tracked, options).
        pull: The gradients by the inputs, from (backend, what was kept, gradient, needs);
            None, or nothing, where none flows.
        of_sequence: The first argument is a list of arrays.
        tracked: How many of several outputs are tracked, `ALL` for each. With any other
            number than 1, ``pull`` gets a list of gradients, None where none arrived.
        name: The operation's, as errors call it.
    """

    save: Save[Any]
    pull: Pull[Any]
    of_sequence: bool = False
    tracked: int = 1
    name: str = ""


def add_rule(
    rules: dict[str, Rule],
    *names: str,
    save: Save[_S],
    of_sequence: bool = False,
    tracked: int = 1,
) -> Callable[[Pull[_S]], Pull[_S]]:
    """Add a function to the rules of a family, as the `pull` of these operations."""

    def add(pull: Pull[_S]) -> Pull[_S]:
        rule = Rule(save, pull, of_sequence, tracked)
        rules.update(dict.fromkeys(names, rule))
        return pull

    return add


def by_output(slope: Callable[[Functions, Array, Array], Array]) -> Rule:
    """Return the rule of a function of one input whose derivative needs only its output."""
    return Rule(keep.output, lambda b, out, grad, _: (slope(b, grad, out),))


def by_input(slope: Callable[[Functions, Array, Array], Array]) -> Rule:
    """Return the rule of a function of one input whose derivative needs only that input."""
    return Rule(keep.first, lambda b, x, grad, _: (slope(b, grad, x),))


def of_each_rank(rule: Callable[[str], Rule], name: str, end: str = "") -> dict[str, Rule]:
    """Make the rules of an operation along one axis and along two."""
    return {f"{name}{rank}d{end}": rule(f"{name}{rank}d") for rank in (1, 2)}


# Gradients through broadcasting and reductions: summed where an input was repeated.


def unbroadcast(b: Functions, grad: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient, at once, over the axes along which its input was repeated."""
    found = tuple(grad.shape)
    if found == shape:
        return grad
    extra = len(found) - len(shape)
    repeated = [
        axis + extra for axis, size in enumerate(shape) if size == 1 != found[axis + extra]
    ]
    axes = (*range(extra), *repeated)
    total = b.sum(grad, axis=axes) if axes else grad
    return b.reshape(total, shape) if repeated else total


def as_input(b: Functions, grad: Array, like: Like) -> Array:
    """Return a gradient in the shape and the element type of its input."""
    shape, dtype = like
    grad = unbroadcast(b, grad, tuple(shape))
    return grad if grad.dtype == dtype else b.astype(grad, dtype)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return an option ``axis`` as axes from 0 up."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    several = cast("tuple[int, ...]", axis) if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(axis % ndim for axis in several)


def broadcast_reduced(
    b: Functions, reduced: Array, shape: tuple[int, ...], options: keep.Options
) -> Array:
    """What a reduction gave, over the axes that it removed."""
    return b.broadcast_to(restore_axes(b, reduced, shape, options), shape)


def restore_axes(
    b: Functions, reduced: Array, shape: tuple[int, ...], options: keep.Options
) -> Array:
    """What a reduction gave, with the reduced axes of length 1 put back."""
    if options.get("keepdims", False):
        return reduced
    gone = axes_of(options.get("axis"), len(shape))
    kept = tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return b.reshape(reduced, kept)


Shape = tuple[int, ...]
Kind = tuple[Shape, np.dtype[np.generic]]
_FULL = np.dtype(np.float32)
_CHOOSING = frozenset({"max", "min", "argmax", "argmin"})


class Call(NamedTuple):
    """A call of a backend's function, with a `Value` instead of each array."""

    target: Functions
    name: str
    args: keep.Args
    options: keep.Options

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument that may be passed by position or by name."""
        if len(self.args) > position:
            return self.args[position]
        return self.options.get(name, default)


# A rule gives a list where the function gives a tuple or list of arrays.
ShapeRule: TypeAlias = Callable[[Call], "Kind | list[Kind]"]


def add_shape(
    shapes: dict[str, ShapeRule], *names: str
) -> Callable[[ShapeRule], ShapeRule]:
    """Add a function to the shape rules of a family, for these operations."""

    def add(rule: ShapeRule) -> ShapeRule:
        shapes.update(dict.fromkeys(names, rule))
        return rule

    return add


_dtypes: dict[object, np.dtype[np.generic]] = {}


def find_dtype(call: Call) -> np.dtype[np.generic]:
    """Find the dtype of the first result: calls the function once on single elements."""
    target, name, args, options = call
    key = (type(target), name, _describe(args), _describe(tuple(options.items())))
    if key not in _dtypes:
        small = [
            _make_ones(target, arg, lambda value: (1,) * len(value.shape)) for arg in args
        ]
        with np.errstate(all="ignore"):  # 1 is outside the domain of atanh, for example
            result = getattr(target, name)(*small, **options)
        _dtypes[key] = target.dtype(flatten(result)[0])
    return _dtypes[key]


def promote(target: Functions, *values: Any) -> np.dtype[np.generic]:
    """Find the dtype of a product or sum of values."""
    return find_dtype(Call(target, "multiply", values, {}))


def run_on_ones(call: Call) -> Kind | list[Kind]:
    """Find the results of a function that has no rule and no body: calls it on ones."""
    target, name, args, options = call
    whole = [_make_ones(target, arg, lambda value: value.shape) for arg in args]
    result = getattr(target, name)(*whole, **options)
    kinds = [(tuple(array.shape), target.dtype(array)) for array in flatten(result)]
    return kinds if isinstance(result, (list, tuple)) else kinds[0]


def to_numpy_dtype(target: Functions, dtype: Any) -> np.dtype[np.generic]:
    """Return an element type as NumPy's, for each way to name it."""
    if dtype in {float, int}:  # the backend has its own default for these
        return target.dtype(target.zeros((), dtype=dtype))
    try:
        return np.dtype(dtype)
    except TypeError:  # the library's own dtype
        return target.dtype(target.zeros((), dtype=dtype))


def like_first(call: Call) -> Kind:
    """Shape and dtype of the first argument."""
    return kind_of(call.args[0])


def kind_of(value: Value) -> Kind:
    """Shape and dtype of a value."""
    return value.shape, value.dtype


def make_bare(shape: Shape, dtype: type[np.generic | bool] = bool) -> NDArray[np.generic]:
    """Make an array of a shape that takes the memory of one element."""
    return np.broadcast_to(np.zeros((), np.dtype(dtype)), shape)


def _make_ones(target: Functions, arg: Any, shape_of: Callable[[Value], Shape]) -> Array:
    """Replace each value in an argument by ones."""
    if isinstance(arg, Value):
        return 1.0 if arg.weak else target.ones(shape_of(arg), dtype=arg.dtype)
    if isinstance(arg, (list, tuple)):
        parts = [_make_ones(target, part, shape_of) for part in cast("list[Any]", arg)]
        return parts if isinstance(arg, list) else tuple(parts)
    # A size of an export is of a class of its own, which would decide the dtype.
    return int(arg) if isinstance(arg, int) and type(arg) is not bool else arg


def _describe(arg: object) -> object:
    """Return all of an argument that may decide a dtype, hashable."""
    if isinstance(arg, Value):
        return (arg.dtype, len(arg.shape), arg.weak)
    if isinstance(arg, (list, tuple)):
        return tuple(_describe(part) for part in cast("list[object]", arg))
    return (type(arg), repr(arg))


# Rules of several families.


def elementwise(call: Call) -> Kind:
    """Return the shape that all arguments fit."""
    shapes = [arg.shape for arg in call.args if hasattr(arg, "shape")]
    return broadcast_shapes(*shapes), find_dtype(call)


def like_last(call: Call) -> Kind:
    """Return the shape that the last argument is."""
    return tuple(call.args[-1]), call.args[0].dtype


def reduce_axes(call: Call) -> Kind:
    """Return the shape without the reduced axes, or with length 1 there."""
    shape: Shape = call.args[0].shape
    axes = _reduced_axes(len(shape), call.options.get("axis"))
    if call.name in _CHOOSING and 0 in (shape[axis] for axis in axes):
        raise ValueError(f"{call.name} cannot reduce an axis of length 0")
    if call.options.get("keepdims"):
        reduced = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    else:
        reduced = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    return reduced, find_dtype(call)


def _reduced_axes(rank: int, axis: int | Sequence[int] | None) -> set[int]:
    """Return the reduced axes; an array without axes may be reduced along axis 0."""
    if axis is None:
        return set(range(rank))
    axes = set(normalize_axis_tuple(axis, max(rank, 1)))
    return axes if rank else set()


def along_axis(call: Call) -> Kind:
    """Return the shape of the first argument, whose axis must exist."""
    target, name, args, options = call
    normalize_axis_index(options.get("axis", -1), max(len(args[0].shape), 1))
    return args[0].shape, find_dtype(Call(target, name, args, {**options, "axis": -1}))


def require_fit(fits: bool, left: Shape, right: Shape) -> None:  # noqa: FBT001
    """Refuse factors that do not fit, as the product itself does."""
    if not fits:
        raise ValueError(f"the shapes {left} and {right} do not fit together")


def dtype_of_statistic(x: Value) -> np.dtype[np.generic]:
    """Return the dtype of a statistic: at least float32."""
    return x.dtype if x.dtype.itemsize >= _FULL.itemsize else _FULL
