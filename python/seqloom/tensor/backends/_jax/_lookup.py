"""Reading and writing chosen positions, by ``x.at``, and checks that they are in range.

jax would clamp, wrap or drop indices and labels that are out of range. Arrays are checked
before the operation. While jax traces there are no numbers to check: what is read is then
NaN, and a compiled step checks the indices that it is given. Indices nearly always are
arguments, or follow from them in a few steps over integers; these steps are done once more,
by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from numpy.lib.array_utils import normalize_axis_index

from seqloom.errors import ArgumentError, OutOfRangeError
from seqloom.tensor._backend import backend
from seqloom.tensor._elements import key_parts
from seqloom.tensor._families._scattering import require_covered
from seqloom.tensor._graph import Value, map_values, values_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile import Graph


def index(x: Array, key: Any) -> Array:
    """``x[key]``, with NumPy's basic and integer-array indexing."""
    require_positions("index", x, key)
    is_traced = any(isinstance(part, Tracer) for part in key_parts(key))
    return x.at[key].get(mode="fill") if is_traced else x[key]


def take(x: Array, indices: Array, *, axis: int | None = None) -> Array:
    """Return the parts of an axis that the indices name."""
    require_positions("take", x, indices, axis=axis)
    return jnp.take(x, indices, axis, mode="fill")


def take_along_axis(x: Array, indices: Array, axis: int = -1) -> Array:
    """Return the values at the indices along an axis."""
    require_positions("take_along_axis", x, indices, axis)
    return jnp.take_along_axis(x, indices, axis, mode="fill")


def scatter_add(x: Array, index: Array, src: Array, *, axis: int) -> Array:
    """``out[index[i], j] = x[...] + src[i, j]`` along an axis."""
    require_covered(index, src)
    require_positions("scatter_add", x, index, axis=axis)
    positions = list(jnp.ogrid[tuple(slice(0, size) for size in index.shape)])
    positions[normalize_axis_index(axis, index.ndim)] = index
    part = src[tuple(slice(0, size) for size in index.shape)]
    return x.at[tuple(positions)].add(part)


def scatter_index(values: Array, key: Any, shape: Sequence[int]) -> Array:
    """Zeros of `shape` with values added at ``[key]``."""
    require_positions("scatter_index", values, key, shape)
    return jnp.zeros(tuple(shape), values.dtype).at[key].add(values)


def slice_update(x: Array, key: Any, values: Array | float) -> Array:
    """`x` with ``x[key]`` replaced by `values`."""
    require_positions("slice_update", x, key)
    return x.at[key].set(values)


def slice_add(x: Array, key: Any, values: Array | float) -> Array:
    """`x` with `values` added at ``x[key]``."""
    require_positions("slice_add", x, key)
    return x.at[key].add(values)


def put_along_axis(x: Array, indices: Array, values: Array | float, *, axis: int) -> Array:
    """`x` with the values along an axis put at the indices."""
    require_positions("put_along_axis", x, indices, axis=axis)
    return jnp.put_along_axis(x, indices, values, axis, inplace=False)


def embedding(weight: Array, ids: Array) -> Array:
    """Return the row of `weight` for each id."""
    require_positions("embedding", weight, ids)
    if not isinstance(ids, Tracer):
        return weight[ids]
    # A row that is none is NaN; below 0, too, where jax would count from the end.
    rows = jnp.where(ids < 0, weight.shape[0], ids)
    return weight.at[rows].get(mode="fill")


def embedding_grad(grad: Array, ids: Array, *, rows: int) -> Array:
    """Return the derivative of ``embedding`` by its weight, which has `rows` rows."""
    require_positions("embedding_grad", grad, ids, rows=rows)
    return jnp.zeros((rows, grad.shape[-1]), grad.dtype).at[ids].add(grad)


def one_hot(b: Backend, x: Array, num_classes: int, *, dtype: Any = None) -> Array:
    """1 at each integer's place of a new last axis, 0 elsewhere."""
    hits = jnp.asarray(x)[..., None] == jnp.arange(num_classes)
    return b.astype(hits, int if dtype in {None, "int64"} else dtype)


def topk(x: Array, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """Return the k largest values along an axis, the largest first, and their positions."""
    values, positions = lax.top_k(jnp.moveaxis(x, axis, -1), k)
    return jnp.moveaxis(values, -1, axis), jnp.moveaxis(positions, -1, axis)


def pad(x: Array, widths: Sequence[tuple[int, int]], *, value: float = 0) -> Array:
    """`value` before and after each axis; a negative width cuts instead."""
    number = jnp.asarray(value, x.dtype)
    return lax.pad(x, number, [(before, after, 0) for before, after in widths])


def spaced(x: Array, axis: int, *, start: int, step: int, length: int) -> Array:
    """Zeros of that length with an axis' values at ``start, start + step, …``."""
    widths = [(0, 0, 0)] * x.ndim
    reach = start + max(x.shape[axis] - 1, 0) * step + min(x.shape[axis], 1)
    widths[axis] = (start, length - reach, step - 1)
    return lax.pad(x, jnp.zeros((), x.dtype), widths)


class JaxPositions(NamedTuple):
    """Integers that name positions of an axis."""

    name: str
    array: Any  # of jax, or a value of a graph
    size: int
    from_end: bool  # whether -1 is the last

    def require(self, values: NDArray[np.generic]) -> None:
        """Refuse numbers that name no place."""
        if not values.size:
            return
        low = -self.size if self.from_end else 0
        least, most = values.min(), values.max()
        if least < low or most >= self.size:
            found = least if least < low else most
            raise OutOfRangeError(
                f"{self.name}: expected numbers from {low} to {self.size} (excluded), got "
                f"{found}"
            )


def require_positions(name: str, *args: Any, **options: Any) -> None:
    """Refuse an operation's indices that name no place, unless jax traces it."""
    for position in find_positions(name, args, options):
        if not isinstance(position.array, Tracer):
            position.require(np.asarray(position.array))


def require_bounds(
    cu_seqlens: Array | NDArray[np.generic], total: int, longest: int
) -> None:
    """Refuse bounds of sequences that do not rise to the total by `longest` at most."""
    if isinstance(cu_seqlens, Tracer):
        return
    ends = np.asarray(cu_seqlens)
    lengths = np.diff(ends)
    if (
        ends.ndim != 1
        or not ends.size
        or ends[0]
        or ends[-1] != total
        or (lengths < 0).any()
    ):
        raise ArgumentError(
            f"cu_seqlens: expected numbers that rise from 0 to the {total} positions, got "
            f"{ends.tolist()}"
        )
    if max(lengths, default=0) > longest:
        raise ArgumentError(
            f"max_seqlen is {longest}, but a sequence has {max(lengths)} positions"
        )


def find_positions(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> list[JaxPositions]:
    """Return the indices among an operation's arguments, arrays or values of a graph."""
    find = _FINDERS.get(name)
    found = () if find is None else find(args, options)
    return [JaxPositions(name, *position) for position in found]


Found = Iterator[tuple[Array, int, bool]]


def _along(args: tuple[Any, ...], options: dict[str, Any]) -> Found:
    """Of what takes an axis and indices along it."""
    x, indices, *rest = args
    axis = options.get("axis", rest[0] if rest else -1)
    sizes = x.shape
    if axis is None:
        yield indices, int(np.prod(sizes)), True
    else:
        yield indices, sizes[normalize_axis_index(axis, len(sizes))], True


def _in_key(key: Any, shape: tuple[int, ...]) -> Found:
    """Return the arrays of integers in a key, each with the length of its axis."""
    parts = key_parts(key)
    if not any(hasattr(part, "shape") for part in parts):
        return
    axis, taken = 0, sum(map(_axes_of, parts))
    for part in parts:
        if hasattr(part, "shape") and part.dtype != bool:
            yield part, shape[axis], True
        axis += len(shape) - taken if part is ... else _axes_of(part)


def _axes_of(part: Any) -> int:
    """How many axes a part of a key takes."""
    if part is None or part is ... or isinstance(part, bool):
        return 0
    is_truths = hasattr(part, "shape") and part.dtype == bool
    return len(part.shape) if is_truths else 1


_FINDERS: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], Found]] = {
    "embedding": lambda args, _: iter([(args[1], args[0].shape[0], False)]),
    "embedding_grad": lambda args, options: iter([(args[1], options["rows"], False)]),
    "cross_entropy": lambda args, _: iter([(args[1], args[0].shape[-1], False)]),
    "take": _along,
    "take_along_axis": _along,
    "put_along_axis": lambda args, options: _along(args[:2], options),  # and values
    "scatter_add": lambda args, options: _along(args[:2], options),  # and values
    "index": lambda args, _: _in_key(args[1], args[0].shape),
    "slice_update": lambda args, _: _in_key(args[1], args[0].shape),
    "slice_add": lambda args, _: _in_key(args[1], args[0].shape),
    "scatter_index": lambda args, _: _in_key(args[1], args[2]),
}


# What makes indices of integers, and costs little beside the operation that reads.
# fmt: off
_STEPS = frozenset({
    "abs", "add", "astype", "broadcast_to", "clip", "concat", "equal", "expand_dims",
    "flip", "floor_divide", "greater", "greater_equal", "index", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "maximum", "minimum", "moveaxis",
    "multiply", "negative", "not_equal", "permute_dims", "remainder", "reshape", "squeeze",
    "stack", "stop_gradient", "subtract", "take", "where",
})
# fmt: on
_WHOLE = "biu"  # kinds of integers and booleans


class GivenPositions:
    """The indices of a graph that its inputs tell.

    Args:
        graph: A step.
    """

    def __init__(self, graph: Graph) -> None:
        self._made = {v.number: op for op in graph.operations for v in op.outputs}
        self._known = {
            number: np.asarray(array)
            for number, array in graph.constants.items()
            if np.dtype(array.dtype).kind in _WHOLE
        }
        # What the step writes may still be computed: to look at it would be to wait.
        self._inputs = {
            value.number: position
            for position, value in enumerate(graph.inputs)
            if position not in graph.donated and _is_whole(value)
        }
        self._told: dict[int, bool] = {}
        # The indices that can be told, each once.
        found: dict[Any, JaxPositions] = {}
        for operation in graph.operations:
            for position in find_positions(
                operation.name, operation.args, operation.options
            ):
                if isinstance(position.array, Value) and self._tells(position.array):
                    where = f"{operation.where}: " if operation.where else ""
                    name = where + position.name
                    key = position.array.number, position.size, position.from_end
                    found.setdefault(key, position._replace(name=name))
        self._positions = list(found.values())
        # Attention over packed sequences whose bounds can be told.
        packed = [op for op in graph.operations if op.name == "attention_varlen"]
        self._bounds = [op for op in packed if self._tells(op.args[-1])]

    def require(self, arrays: Sequence[Array]) -> None:
        """Refuse inputs by which an index names no place.

        Raises:
            OutOfRangeError: An index, or a label, is out of range.
            ArgumentError: Bounds of packed sequences do not fit.
        """
        known = dict(self._known)
        for position in self._positions:
            position.require(self._values(position.array, known, arrays))
        for operation in self._bounds:
            bounds = self._values(operation.args[-1], known, arrays)
            longest = operation.options["max_seqlen"]
            require_bounds(bounds, operation.args[0].shape[0], longest)

    def _tells(self, value: Value) -> bool:
        """Return whether a value follows from the inputs by a few steps over integers."""
        number = value.number
        if number in self._inputs:
            return True
        if number in self._known or number not in self._made:
            return number in self._known
        if number not in self._told:
            operation = self._made[number]
            steps = operation.name in _STEPS and _is_whole(value)
            self._told[number] = steps and all(map(self._tells, operation.inputs()))
        return self._told[number]

    def _values(
        self, value: Value, known: dict[int, NDArray[np.generic]], arrays: Sequence[Array]
    ) -> NDArray[np.generic]:
        """Return the numbers of a value that can be told."""
        number = value.number
        if number not in known and number in self._inputs:
            known[number] = np.asarray(arrays[self._inputs[number]])
        if number not in known:
            operation = self._made[number]
            for each in values_in(operation.args):
                self._values(each, known, arrays)
            args = map_values(operation.args, lambda value: known[value.number])
            step: Any = getattr(backend("numpy"), operation.name)
            known[number] = step(*args, **operation.options)
        return known[number]


def _is_whole(value: Value) -> bool:
    """Return whether a value is of integers or booleans."""
    return not value.weak and value.dtype.kind in _WHOLE
