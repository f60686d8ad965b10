"""Record a forward call with symbolic sizes, including operations that create arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from seqloom.export._size import (
    Polynomial,
    SymbolicSize,
    evaluate_size,
    fit_size,
    to_plain_numbers,
    to_polynomial,
)
from seqloom.nn import Module, functional
from seqloom.tensor._compile._capture import Capture, GraphRecorder
from seqloom.tensor._compile._symbol import has_symbol
from seqloom.tensor._families import _pooling
from seqloom.tensor._families._windows import to_sizes
from seqloom.tensor._origin import current_line, frame_at, is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from seqloom.export._size import Series
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph, Value


class SourceLine(str):
    """A line of the user's code, and the `sl.nn` layer or function that this line calls."""

    __slots__ = ("function", "layer")
    layer: str
    function: str

    @classmethod
    def current(cls) -> SourceLine:
        """Return the current line of the user's code, and the layer that it calls."""
        found, frame = cls(current_line()), frame_at(1)
        found.layer = found.function = ""
        while not found.layer and is_internal(frame.f_code.co_filename):
            folder, name = frame.f_code.co_filename.split("/")[-2], frame.f_code.co_name
            owner = frame.f_locals.get("self")
            if folder == "nn" and isinstance(owner, Module):
                found.layer = type(owner).__name__
            elif folder == "nn" and name in functional.__all__:
                found.function = f"sl.nn.functional.{name}"
            if frame.f_back is None:
                break
            frame = frame.f_back
        return found


@dataclass(slots=True)
class Probe:
    """A second trace with other sizes of the inputs, and the shape of each value."""

    graph: Graph
    sizes: dict[str, int]  # sizes by name
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])

    def __post_init__(self) -> None:
        made = (value for op in self.graph.operations for value in op.outputs)
        self.shapes = {it.number: it.shape for it in (*self.graph.inputs, *made)}


class ExportCapture(Capture):
    """Recorder of a forward call, including functions that create arrays from shapes.

    An exported graph must create arrays of any shape. A compiled step, in contrast, has
    fixed shapes, so it creates each of these arrays only once.

    Args:
        target: The backend of the network.
        probes: Traces of the same call at other sizes, which show where a constant should
            be a symbol.
    """

    keeps_sizes = True

    def __init__(self, target: Backend, probes: Sequence[Probe] = ()) -> None:
        super().__init__(target)
        self.recorder = _SizeRecorder(target, probes) if probes else GraphRecorder(target)

    @cached_property
    def _scratch(self) -> Capture:
        return ExportCapture(self.target)

    def record(self, name: str, *args: Any, **options: Any) -> Any:
        """Record a call, or compute its result if all its arrays are constants."""
        if name == "max_pool1d" and _is_decomposed(**options):
            return _pooling.max_pool1d(self, *args, **options)
        known = len(self.recorder.graph.operations)
        made = self._record_creation(name, *args, **options)
        for operation in self.recorder.graph.operations[known:]:
            operation.where = SourceLine.current()
        return made

    def _record_creation(self, name: str, *args: Any, **options: Any) -> Any:
        """Record a call as an operation if it creates an array from a size."""
        if has_symbol(args):
            return super().record(name, *args, **options)
        if name not in _ARRAY_CREATORS:
            options = {key: to_plain_numbers(it) for key, it in options.items()}
            return super().record(name, *to_plain_numbers(args), **options)
        written, shape = _ARRAY_CREATORS[name](*args, **options)
        dtype = self._dtype_of(name, args, options)
        kept = {"k": options["k"]} if options.get("k") else {}
        maker = "zeros" if name == "empty" else name
        made = self.recorder.append(
            maker, written, {"dtype": dtype, **kept}, [(shape, dtype)]
        )
        return made[0]

    def _dtype_of(self, name: str, args: tuple[Any, ...], options: Any) -> np.dtype[Any]:
        """Return the dtype of the result, by calling the function with a small array."""
        small = args if name in {"arange", "eye"} else ((), *args[1:])
        small = (1,) if name == "eye" else to_plain_numbers(small)
        return self.target.dtype(getattr(self.target, name)(*small, **options))


class _SizeRecorder(GraphRecorder):
    """Recorder that replaces constant sizes in the shapes of values by symbolic sizes."""

    def __init__(self, target: Backend, probes: Sequence[Probe]) -> None:
        super().__init__(target)
        self._probes = probes
        self._known: dict[Series, Polynomial] = {}

    def new_value(
        self, shape: tuple[int, ...], dtype: np.dtype[Any] | str, *, weak: bool = False
    ) -> Value:
        """Create a new value, and restore symbols in its shape."""
        value = super().new_value(shape, dtype, weak=weak)
        others = [probe.shapes.get(value.number, ()) for probe in self._probes]
        if any(len(other) != len(shape) for other in others):
            return value
        rows = zip(value.shape, *others, strict=True)
        sizes = [self._new_symbol(f"{value.number}.{at}", it) for at, it in enumerate(rows)]
        return replace(value, shape=tuple(sizes))

    def _new_symbol(self, name: str, row: Series) -> int:
        """Return a new symbol for a size that cannot be computed from earlier sizes."""
        size, *others = row
        polynomial = to_polynomial(size)
        if [evaluate_size(polynomial, it.sizes) for it in self._probes] != others:
            for probe, other in zip(self._probes, others, strict=True):
                probe.sizes[name] = other
            polynomial = fit_size((int(size), *others), self._known) or {(name,): 1}
            size = SymbolicSize(int(size), polynomial)
        if isinstance(size, SymbolicSize):
            self._known.setdefault((int(size), *others), polynomial)
        return size


def _is_decomposed(dilation: Any = 1, *, ceil_mode: bool = False, **_: Any) -> bool:
    """Return whether a pooling with these options is recorded as several operations."""
    return ceil_mode or to_sizes(dilation, 1) != (1,)


def _read_shape_argument(
    shape: Any, *rest: Any, **_: Any
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the argument of zeros and ones, which is the shape."""
    del rest
    is_one = not isinstance(shape, (tuple, list))
    sizes = tuple((shape,) if is_one else cast("Any", shape))
    return (sizes,), sizes


def _full_args(shape: Any, value: Any, **_: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the arguments of full, which are the shape and the value."""
    sizes = _read_shape_argument(shape)[1]
    return (sizes, value), sizes


def _range_args(
    start: Any, stop: Any = None, step: Any = 1, **_: Any
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the arguments of arange, which are start, stop and step."""
    start, stop = (0, start) if stop is None else (start, stop)
    return (start, stop, step), (max(0, math.ceil((stop - start) / step)),)


def _eye_args(
    rows: int, columns: int | None = None, **_: Any
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the arguments of eye, which are the numbers of rows and columns."""
    shape = (rows, rows if columns is None else columns)
    return shape, shape


_ARRAY_CREATORS: dict[str, Callable[..., tuple[tuple[Any, ...], tuple[int, ...]]]] = {
    "arange": _range_args,
    "empty": _read_shape_argument,
    "eye": _eye_args,
    "full": _full_args,
    "ones": _read_shape_argument,
    "zeros": _read_shape_argument,
}
