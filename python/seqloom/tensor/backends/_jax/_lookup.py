"""Indexing, ``x.at`` updates, and range checks of indices.

JAX would clamp, wrap or ignore indices and labels that are out of range, so they are
checked before the operation. During tracing, values cannot be checked: lookups out of
range return NaN, and a compiled step checks its inputs instead. Most indices are
inputs, or computed from inputs in a few integer operations; NumPy repeats these
operations for the check.
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
from seqloom.tensor._elements import to_key_tuple
from seqloom.tensor._families._scattering import require_source_covers
from seqloom.tensor._graph import Value, map_values, values_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile import Graph


def index(x: Array, key: Any) -> Array:
    """Return ``x[key]``, with NumPy's basic and integer-array indexing."""
    check_indices("index", x, key)
    is_traced = any(isinstance(part, Tracer) for part in to_key_tuple(key))
    return x.at[key].get(mode="fill") if is_traced else x[key]


def take(x: Array, indices: Array, *, axis: int | None = None) -> Array:
    """Return the slices of an axis at the given indices."""
    check_indices("take", x, indices, axis=axis)
    return jnp.take(x, indices, axis, mode="fill")


def take_along_axis(x: Array, indices: Array, axis: int = -1) -> Array:
    """Return the values at the indices along an axis."""
    check_indices("take_along_axis", x, indices, axis)
    return jnp.take_along_axis(x, indices, axis, mode="fill")


def scatter_add(x: Array, index: Array, src: Array, *, axis: int) -> Array:
    """Add values at indices along an axis, like ``torch.scatter_add``."""
    require_source_covers(index, src)
    check_indices("scatter_add", x, index, axis=axis)
    positions = list(jnp.ogrid[tuple(slice(0, size) for size in index.shape)])
    positions[normalize_axis_index(axis, index.ndim)] = index
    part = src[tuple(slice(0, size) for size in index.shape)]
    return x.at[tuple(positions)].add(part)


def scatter_index(values: Array, key: Any, shape: Sequence[int]) -> Array:
    """Return an array of zeros with `shape`, to which values are added at ``[key]``."""
    check_indices("scatter_index", values, key, shape)
    return jnp.zeros(tuple(shape), values.dtype).at[key].add(values)


def slice_update(x: Array, key: Any, values: Array | float) -> Array:
    """Return `x` with ``x[key]`` replaced by `values`."""
    check_indices("slice_update", x, key)
    return x.at[key].set(values)


def slice_add(x: Array, key: Any, values: Array | float) -> Array:
    """Return `x` with `values` added at ``x[key]``."""
    check_indices("slice_add", x, key)
    return x.at[key].add(values)


def put_along_axis(x: Array, indices: Array, values: Array | float, *, axis: int) -> Array:
    """Return `x` with values replaced at indices along an axis."""
    check_indices("put_along_axis", x, indices, axis=axis)
    return jnp.put_along_axis(x, indices, values, axis, inplace=False)


def embedding(weight: Array, ids: Array) -> Array:
    """Return the row of `weight` for each id."""
    check_indices("embedding", weight, ids)
    if not isinstance(ids, Tracer):
        return weight[ids]
    # Ids that are out of range return rows of NaN, also negative ids, which JAX would
    # count from the end.
    rows = jnp.where(ids < 0, weight.shape[0], ids)
    return weight.at[rows].get(mode="fill")


def embedding_grad(grad: Array, ids: Array, *, rows: int) -> Array:
    """Return the gradient of ``embedding`` with respect to its table of `rows` rows."""
    check_indices("embedding_grad", grad, ids, rows=rows)
    return jnp.zeros((rows, grad.shape[-1]), grad.dtype).at[ids].add(grad)


def one_hot(b: Backend, x: Array, num_classes: int, *, dtype: Any = None) -> Array:
    """Return the one-hot encoding of integers, along a new last axis."""
    hits = jnp.asarray(x)[..., None] == jnp.arange(num_classes)
    return b.astype(hits, int if dtype in {None, "int64"} else dtype)


def topk(x: Array, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """Return the k largest values along an axis, largest first, and their indices."""
    values, positions = lax.top_k(jnp.moveaxis(x, axis, -1), k)
    return jnp.moveaxis(values, -1, axis), jnp.moveaxis(positions, -1, axis)


def pad(x: Array, widths: Sequence[tuple[int, int]], *, value: float = 0) -> Array:
    """Return `x` padded with `value` on each axis; a negative width crops instead."""
    number = jnp.asarray(value, x.dtype)
    return lax.pad(x, number, [(before, after, 0) for before, after in widths])


def spaced(x: Array, axis: int, *, start: int, step: int, length: int) -> Array:
    """Spread the values of an axis to ``start, start + step, …``, with zeros between."""
    widths = [(0, 0, 0)] * x.ndim
    reach = start + max(x.shape[axis] - 1, 0) * step + min(x.shape[axis], 1)
    widths[axis] = (start, length - reach, step - 1)
    return lax.pad(x, jnp.zeros((), x.dtype), widths)


class IndexCheck(NamedTuple):
    """Indices along an axis, with their valid range."""

    name: str
    array: Any  # a JAX array, or a `Value` of a graph
    size: int
    from_end: bool  # True if index -1 means the last element

    def require(self, values: NDArray[np.generic]) -> None:
        """Raise if an index is out of range."""
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


def check_indices(name: str, *args: Any, **options: Any) -> None:
    """Raise if an operation's index is out of range, unless JAX is tracing."""
    for position in find_indices(name, args, options):
        if not isinstance(position.array, Tracer):
            position.require(np.asarray(position.array))


def require_bounds(
    cu_seqlens: Array | NDArray[np.generic], total: int, longest: int
) -> None:
    """Raise unless sequence bounds rise from 0 to `total` in steps up to `longest`."""
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
            f"cu_seqlens: expected increasing numbers from 0 to {total}, the number of "
            f"positions, got {ends.tolist()}"
        )
    if max(lengths, default=0) > longest:
        raise ArgumentError(
            f"max_seqlen is {longest}, but a sequence has {max(lengths)} positions"
        )


def find_indices(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> list[IndexCheck]:
    """Return the arguments of an operation that are indices, with their valid ranges."""
    find = _INDEX_FINDERS.get(name)
    found = () if find is None else find(args, options)
    return [IndexCheck(name, *position) for position in found]


IndexTuples = Iterator[tuple[Array, int, bool]]


def _indices_along_axis(args: tuple[Any, ...], options: dict[str, Any]) -> IndexTuples:
    """Yield the indices of an operation that indexes along one axis."""
    x, indices, *rest = args
    axis = options.get("axis", rest[0] if rest else -1)
    sizes = x.shape
    if axis is None:
        yield indices, int(np.prod(sizes)), True
    else:
        yield indices, sizes[normalize_axis_index(axis, len(sizes))], True


def _indices_in_key(key: Any, shape: tuple[int, ...]) -> IndexTuples:
    """Yield the integer arrays in a key, each with the length of its axis."""
    parts = to_key_tuple(key)
    if not any(hasattr(part, "shape") for part in parts):
        return
    axis, taken = 0, sum(map(_count_axes, parts))
    for part in parts:
        if hasattr(part, "shape") and part.dtype != bool:
            yield part, shape[axis], True
        axis += len(shape) - taken if part is ... else _count_axes(part)


def _count_axes(part: Any) -> int:
    """Return the number of axes that an element of an index key indexes."""
    if part is None or part is ... or isinstance(part, bool):
        return 0
    is_truths = hasattr(part, "shape") and part.dtype == bool
    return len(part.shape) if is_truths else 1


_INDEX_FINDERS: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], IndexTuples]] = {
    "embedding": lambda args, _: iter([(args[1], args[0].shape[0], False)]),
    "embedding_grad": lambda args, options: iter([(args[1], options["rows"], False)]),
    "cross_entropy": lambda args, _: iter([(args[1], args[0].shape[-1], False)]),
    "take": _indices_along_axis,
    "take_along_axis": _indices_along_axis,
    "put_along_axis": lambda args, options: _indices_along_axis(args[:2], options),
    "scatter_add": lambda args, options: _indices_along_axis(args[:2], options),
    "index": lambda args, _: _indices_in_key(args[1], args[0].shape),
    "slice_update": lambda args, _: _indices_in_key(args[1], args[0].shape),
    "slice_add": lambda args, _: _indices_in_key(args[1], args[0].shape),
    "scatter_index": lambda args, _: _indices_in_key(args[1], args[2]),
}


# Integer operations that compute indices. Repeating these operations is cheap compared
# with the lookup.
# fmt: off
_INDEX_OPERATIONS = frozenset({
    "abs", "add", "astype", "broadcast_to", "clip", "concat", "equal", "expand_dims",
    "flip", "floor_divide", "greater", "greater_equal", "index", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "maximum", "minimum", "moveaxis",
    "multiply", "negative", "not_equal", "permute_dims", "remainder", "reshape", "squeeze",
    "stack", "stop_gradient", "subtract", "take", "where",
})
# fmt: on
_INTEGER_KINDS = "biu"  # dtype kinds of integers and booleans


class InputIndexChecks:
    """Checks the indices of a graph that can be computed from the graph's inputs.

    Args:
        graph: Graph of a captured step.
    """

    def __init__(self, graph: Graph) -> None:
        self._operations = {v.number: op for op in graph.operations for v in op.outputs}
        self._constants = {
            number: np.asarray(array)
            for number, array in graph.constants.items()
            if np.dtype(array.dtype).kind in _INTEGER_KINDS
        }
        # Outputs are not checked, because the check would wait for their computation.
        self._inputs = {
            value.number: position
            for position, value in enumerate(graph.inputs)
            if position not in graph.donated and _is_integer(value)
        }
        self._readable: dict[int, bool] = {}
        # Indices that can be computed from the inputs, without duplicates.
        found: dict[Any, IndexCheck] = {}
        for operation in graph.operations:
            for position in find_indices(operation.name, operation.args, operation.options):
                if isinstance(position.array, Value) and self._can_read(position.array):
                    where = f"{operation.where}: " if operation.where else ""
                    name = where + position.name
                    key = position.array.number, position.size, position.from_end
                    found.setdefault(key, position._replace(name=name))
        self._positions = list(found.values())
        # Packed attention operations whose sequence bounds can be computed from the
        # inputs.
        packed = [op for op in graph.operations if op.name == "attention_varlen"]
        self._bounds = [op for op in packed if self._can_read(op.args[-1])]

    def require(self, arrays: Sequence[Array]) -> None:
        """Raise if an index that is computed from these inputs is out of range.

        Raises:
            OutOfRangeError: An index, or a label, is out of range.
            ArgumentError: The bounds of packed sequences are invalid.
        """
        known = dict(self._constants)
        for position in self._positions:
            position.require(self._read_values(position.array, known, arrays))
        for operation in self._bounds:
            bounds = self._read_values(operation.args[-1], known, arrays)
            longest = operation.options["max_seqlen"]
            require_bounds(bounds, operation.args[0].shape[0], longest)

    def _can_read(self, value: Value) -> bool:
        """Return whether a `Value` is computed from inputs by a few integer operations."""
        number = value.number
        if number in self._inputs:
            return True
        if number in self._constants or number not in self._operations:
            return number in self._constants
        if number not in self._readable:
            operation = self._operations[number]
            steps = operation.name in _INDEX_OPERATIONS and _is_integer(value)
            self._readable[number] = steps and all(map(self._can_read, operation.inputs()))
        return self._readable[number]

    def _read_values(
        self, value: Value, known: dict[int, NDArray[np.generic]], arrays: Sequence[Array]
    ) -> NDArray[np.generic]:
        """Compute the NumPy array of a `Value` from the inputs."""
        number = value.number
        if number not in known and number in self._inputs:
            known[number] = np.asarray(arrays[self._inputs[number]])
        if number not in known:
            operation = self._operations[number]
            for each in values_in(operation.args):
                self._read_values(each, known, arrays)
            args = map_values(operation.args, lambda value: known[value.number])
            step: Any = getattr(backend("numpy"), operation.name)
            known[number] = step(*args, **operation.options)
        return known[number]


def _is_integer(value: Value) -> bool:
    """Return whether an array contains integers or booleans."""
    return not value.weak and value.dtype.kind in _INTEGER_KINDS
