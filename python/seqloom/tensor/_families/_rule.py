"""Rules of operations: gradients, and shapes and dtypes without computation.

A `Rule` describes the gradient of one operation. The function `save` selects the
arrays, shapes and numbers that the operation keeps for its gradient. The function
`backward` computes the gradients of the inputs from the gradient of the output.
`backward` uses only functions of the inner backend, so it works on every backend and can
be differentiated again.
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
from seqloom.tensor._families._keep import Args, ArgSpec, Needs, Options
from seqloom.tensor._graph import Value, flatten

if TYPE_CHECKING:
    from numpy.typing import NDArray


_NO_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class ArrayFunctions:
    """The functions that a backend provides, as listed in the table of operations.

    Arguments are those of the Array API standard (2025.12), with three additions. A Python
    number can replace an array, and takes the dtype of the other array. A dtype can be a
    name, a NumPy dtype, or a dtype of the array library. ``index(x, key)`` is ``x[key]``.

    Examples:
        >>> import seqloom as sl
        >>> isinstance(sl.tensor.backend("numpy"), ArrayFunctions)
        True
    """

    threads: int
    float_dtype: str
    deterministic: bool  # Only the NumPy backend has this attribute.

    def __init_subclass__(
        cls, *, functions: Mapping[str, Callable[..., Any]] = _NO_FUNCTIONS, **options: Any
    ) -> None:
        """Add functions as methods of the class; their first argument is the backend."""
        super().__init_subclass__(**options)
        for name, function in functions.items():
            setattr(cls, name, function)

    def dtype(self, x: Array) -> np.dtype[np.generic]:
        """Return the dtype of an array, as a dtype of NumPy or ml_dtypes."""
        return np.dtype(x.dtype)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the function of the operation with this name."""


# A short alias, because it occurs in the signature of each function of a family.
Functions: TypeAlias = ArrayFunctions


_S = TypeVar("_S")
Save: TypeAlias = Callable[[Args, Array, Needs, Options], _S]
Parts: TypeAlias = Sequence[Array | None]
Backward: TypeAlias = "Callable[[Functions, _S, Array, Needs], Parts]"

ALL_RESULTS = 1 << 30


@dataclass(frozen=True, slots=True)
class Rule:
    """The gradient rule of one operation.

    Attributes:
        save: Function that returns the values to keep, given the inputs, the output,
            booleans that are True for tracked inputs, and the options.
        backward: Function that returns the gradients of the inputs. The arguments are the
            backend, the saved values, the gradient of the output, and booleans that are
            True for tracked inputs. The gradient of an untracked input is None.
        of_sequence: True if the first argument is a list of arrays.
        tracked: The number of results that are tracked; `ALL_RESULTS` for every result.
            If the number is not 1, the argument of ``backward`` is a list of gradients,
            with None for missing gradients.
        name: The name of the operation in error messages.
    """

    save: Save[Any]
    backward: Backward[Any]
    of_sequence: bool = False
    tracked: int = 1
    name: str = ""


def add_grad(
    rules: dict[str, Rule],
    *names: str,
    save: Save[_S],
    of_sequence: bool = False,
    tracked: int = 1,
) -> Callable[[Backward[_S]], Backward[_S]]:
    """Return a decorator that adds a function to `rules` as `backward` of operations."""

    def register(backward: Backward[_S]) -> Backward[_S]:
        rule = Rule(save, backward, of_sequence, tracked)
        rules.update(dict.fromkeys(names, rule))
        return backward

    return register


def rule_from_output(slope: Callable[[Functions, Array, Array], Array]) -> Rule:
    """Return the rule of a unary function whose gradient needs only its output."""
    return Rule(keep.save_output, lambda b, out, grad, _: (slope(b, grad, out),))


def rule_from_input(slope: Callable[[Functions, Array, Array], Array]) -> Rule:
    """Return the rule of a unary function whose gradient needs only its input."""
    return Rule(keep.save_input, lambda b, x, grad, _: (slope(b, grad, x),))


def rank_rules(rule: Callable[[str], Rule], name: str, end: str = "") -> dict[str, Rule]:
    """Return the rules of an operation for one and for two axes."""
    return {f"{name}{rank}d{end}": rule(f"{name}{rank}d") for rank in (1, 2)}


# The gradient of a broadcast is a sum over the broadcast axes, and vice versa.


def unbroadcast(b: Functions, grad: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient over the axes along which its input was broadcast."""
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


def fit_grad(b: Functions, grad: Array, like: ArgSpec) -> Array:
    """Return a gradient with the shape and dtype of its input."""
    shape, dtype = like
    grad = unbroadcast(b, grad, tuple(shape))
    return grad if grad.dtype == dtype else b.astype(grad, dtype)


def to_axis_tuple(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the option ``axis`` as a tuple of nonnegative axes."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    several = cast("tuple[int, ...]", axis) if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(axis % ndim for axis in several)


def broadcast_reduced(
    b: Functions, reduced: Array, shape: tuple[int, ...], options: keep.Options
) -> Array:
    """Broadcast the result of a reduction to the shape of its input."""
    return b.broadcast_to(restore_axes(b, reduced, shape, options), shape)


def restore_axes(
    b: Functions, reduced: Array, shape: tuple[int, ...], options: keep.Options
) -> Array:
    """Insert the reduced axes again, with length 1."""
    if options.get("keepdims", False):
        return reduced
    gone = to_axis_tuple(options.get("axis"), len(shape))
    kept = tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return b.reshape(reduced, kept)


Shape = tuple[int, ...]
Spec = tuple[Shape, np.dtype[np.generic]]
_FLOAT32 = np.dtype(np.float32)
_MAX_AND_MIN = frozenset({"max", "min", "argmax", "argmin"})


class Call(NamedTuple):
    """A call of a backend function, with each array replaced by a graph `Value`."""

    target: Functions
    name: str
    args: keep.Args
    options: keep.Options

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument that was passed by position or by keyword."""
        if len(self.args) > position:
            return self.args[position]
        return self.options.get(name, default)


# A shape rule returns a list if the operation returns a tuple or list of arrays.
ShapeRule: TypeAlias = Callable[[Call], "Spec | list[Spec]"]


def add_shape_rule(
    shapes: dict[str, ShapeRule], *names: str
) -> Callable[[ShapeRule], ShapeRule]:
    """Return a decorator that adds a function to `shapes` as the rule of operations."""

    def register(rule: ShapeRule) -> ShapeRule:
        shapes.update(dict.fromkeys(names, rule))
        return rule

    return register


_result_dtypes: dict[object, np.dtype[np.generic]] = {}


def find_dtype(call: Call) -> np.dtype[np.generic]:
    """Return the dtype of the first result, found by a call on arrays of length 1."""
    target, name, args, options = call
    key = (type(target), name, _dtype_key(args), _dtype_key(tuple(options.items())))
    if key not in _result_dtypes:
        small = [
            _make_ones(target, arg, lambda value: (1,) * len(value.shape)) for arg in args
        ]
        # The number 1 is outside the domain of some functions, such as atanh.
        with np.errstate(all="ignore"):
            result = getattr(target, name)(*small, **options)
        _result_dtypes[key] = target.dtype(flatten(result)[0])
    return _result_dtypes[key]


def promote_dtype(target: Functions, *values: Any) -> np.dtype[np.generic]:
    """Return the dtype of a product or sum of values."""
    return find_dtype(Call(target, "multiply", values, {}))


def infer_by_running(call: Call) -> Spec | list[Spec]:
    """Return shapes and dtypes of a function without a rule: call it on arrays of ones."""
    target, name, args, options = call
    whole = [_make_ones(target, arg, lambda value: value.shape) for arg in args]
    result = getattr(target, name)(*whole, **options)
    kinds = [(tuple(array.shape), target.dtype(array)) for array in flatten(result)]
    return kinds if isinstance(result, (list, tuple)) else kinds[0]


def to_numpy_dtype(target: Functions, dtype: Any) -> np.dtype[np.generic]:
    """Convert a dtype of any library, or its name, to a NumPy dtype."""
    if dtype in {float, int}:  # Each backend has a default dtype for Python types.
        return target.dtype(target.zeros((), dtype=dtype))
    try:
        return np.dtype(dtype)
    except TypeError:  # The dtype belongs to another library.
        return target.dtype(target.zeros((), dtype=dtype))


def infer_same_spec(call: Call) -> Spec:
    """Return the shape and dtype of the first argument."""
    return get_spec(call.args[0])


def get_spec(value: Value) -> Spec:
    """Return the shape and dtype of a graph value."""
    return value.shape, value.dtype


def make_dummy(shape: Shape, dtype: type[np.generic | bool] = bool) -> NDArray[np.generic]:
    """Return an array with the given shape that uses the memory of one element."""
    return np.broadcast_to(np.zeros((), np.dtype(dtype)), shape)


def _make_ones(target: Functions, arg: Any, shape_of: Callable[[Value], Shape]) -> Array:
    """Replace each graph value in an argument by an array of ones."""
    if isinstance(arg, Value):
        return 1.0 if arg.weak else target.ones(shape_of(arg), dtype=arg.dtype)
    if isinstance(arg, (list, tuple)):
        parts = [_make_ones(target, part, shape_of) for part in cast("list[Any]", arg)]
        return parts if isinstance(arg, list) else tuple(parts)
    # The symbolic size of an exported axis has a special class, which would change the
    # dtype.
    return int(arg) if isinstance(arg, int) and type(arg) is not bool else arg


def _dtype_key(arg: object) -> object:
    """Return a hashable key with all properties of an argument that affect dtypes."""
    if isinstance(arg, Value):
        return (arg.dtype, len(arg.shape), arg.weak)
    if isinstance(arg, (list, tuple)):
        return tuple(_dtype_key(part) for part in cast("list[object]", arg))
    return (type(arg), repr(arg))


# Shape rules that several families use.


def infer_broadcast(call: Call) -> Spec:
    """Return the shape to which all arguments broadcast."""
    shapes = [arg.shape for arg in call.args if hasattr(arg, "shape")]
    return broadcast_shapes(*shapes), find_dtype(call)


def infer_given_shape(call: Call) -> Spec:
    """Return the shape that the last argument specifies."""
    return tuple(call.args[-1]), call.args[0].dtype


def infer_reduced(call: Call) -> Spec:
    """Return the shape without the reduced axes, or with length 1 for each."""
    shape: Shape = call.args[0].shape
    axes = _find_reduced_axes(len(shape), call.options.get("axis"))
    if call.name in _MAX_AND_MIN and 0 in (shape[axis] for axis in axes):
        raise ValueError(f"{call.name} cannot reduce an axis of length 0")
    if call.options.get("keepdims"):
        reduced = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    else:
        reduced = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    return reduced, find_dtype(call)


def _find_reduced_axes(rank: int, axis: int | Sequence[int] | None) -> set[int]:
    """Return the reduced axes; an array without axes may be reduced along axis 0."""
    if axis is None:
        return set(range(rank))
    axes = set(normalize_axis_tuple(axis, max(rank, 1)))
    return axes if rank else set()


def infer_along_axis(call: Call) -> Spec:
    """Return the shape of the first argument; raise if the axis does not exist."""
    target, name, args, options = call
    normalize_axis_index(options.get("axis", -1), max(len(args[0].shape), 1))
    return args[0].shape, find_dtype(Call(target, name, args, {**options, "axis": -1}))


def require_match(fits: bool, left: Shape, right: Shape) -> None:  # noqa: FBT001
    """Raise if the shapes of two factors do not match."""
    if not fits:
        raise ValueError(f"the shapes {left} and {right} do not match")


def find_statistic_dtype(x: Value) -> np.dtype[np.generic]:
    """Return the dtype of a statistic, which has at least the precision of float32."""
    return x.dtype if x.dtype.itemsize >= _FLOAT32.itemsize else _FLOAT32
