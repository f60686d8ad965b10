"""Builds a graph of ONNX: nodes, constants, and sizes that are known when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import is_list
from seqloom.errors import ExportError, MissingExtraError
from seqloom.export._size import Size
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Operation

    # Writes an operation; returns the names of its outputs.
    Write = Callable[["Builder", Operation], list[str]]


def import_onnx() -> Any:
    """Import the library; an error says how to install it."""
    try:
        return import_module("onnx")
    except ImportError:
        raise MissingExtraError("an export as ONNX needs onnx: pip install onnx") from None


class Builder:
    """Collects nodes; values of the traced graph have the names that it gave them."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.names: dict[int, str] = {}  # by the value's number
        self.makers: dict[int, Operation] = {}  # what made a value, by its number
        self._known: dict[Any, str] = {}  # names of constants and of casts
        self._sizes: dict[str, tuple[Value, int]] = {}  # where a size can be read

    # Values -------------------------------------------------------------------------------

    def bind(self, value: Value, name: str) -> None:
        """Give a value a name; its sizes can be read from then on."""
        self.names[value.number] = name
        for axis, size in enumerate(cast("tuple[int | str, ...]", value.shape)):
            if isinstance(size, str):
                self._sizes.setdefault(size, (value, axis))

    def constant(self, array: Any, dtype: Any = None) -> str:
        """Return the name of a constant, of which there is one for equal arrays."""
        found = np.asarray(array, dtype)
        key = (found.dtype.str, found.shape, found.tobytes())
        if key not in self._known:
            self._known[key] = name = f"constant_{len(self.constants)}"
            self.constants[name] = found
        return self._known[key]

    def get(self, arg: Any, dtype: Any = None) -> str:
        """Return the name of an argument: a value, or a number of a dtype."""
        if isinstance(arg, Value):
            name = self.names[arg.number]
            same = dtype is None or np.dtype(dtype) == arg.dtype
            return name if same else self.cast(name, dtype)
        if isinstance(arg, Size):
            return self.cast(self.node("Squeeze", [self.integers([arg])]), dtype or "int64")
        return self.constant(arg, dtype)

    def cast(self, name: str, dtype: Any) -> str:
        """Cast an array."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        key = (name, kind)
        if key not in self._known:
            self._known[key] = self.node("Cast", [name], to=kind)
        return self._known[key]

    # Nodes --------------------------------------------------------------------------------

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node of one output."""
        return self.several(kind, inputs, 1, **attributes)[0]

    def several(
        self, kind: str, inputs: Sequence[str], count: int, **attributes: Any
    ) -> list[str]:
        """Add a node of several outputs."""
        outputs = [f"{kind.lower()}_{len(self.nodes)}_{number}" for number in range(count)]
        make = self.onnx.helper.make_node
        self.nodes.append(make(kind, list(inputs), outputs, **attributes))
        return outputs

    # Sizes --------------------------------------------------------------------------------

    def integers(self, numbers: Sequence[int | str | Size]) -> str:
        """Return a row of integers, each known now or read from a shape."""
        if all(isinstance(it, (int, np.integer)) for it in numbers):
            return self.constant(list(numbers), "int64")
        parts = [self._integer(it) for it in numbers]
        return parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=0)

    def dimensions(self, value: Value) -> list[int | str]:
        """Return the sizes of a value's axes, or their names."""
        return list(cast("tuple[int | str, ...]", value.shape))

    def _integer(self, number: int | str | Size) -> str:
        """Return a row of one integer."""
        if isinstance(number, str):
            return self._read_size(number)
        if not isinstance(number, Size):
            return self.constant([number], "int64")
        found = self._read_size(number.of[0])
        for name in number.of[1:]:
            found = self.node("Mul", [found, self._read_size(name)])
        return self._scale(found, number)

    def _scale(self, product: str, size: Size) -> str:
        """Multiplies, divides and adds; ONNX divides towards 0, we round down."""

        def number(value: int) -> str:
            return self.constant([value], "int64")

        found = product
        if abs(size.times) != 1:
            found = self.node("Mul", [found, number(abs(size.times))])
        if size.over != 1:
            up = size.over - 1 - size.shift if size.times < 0 else size.shift
            found = self.node("Add", [found, number(up)]) if up else found
            found = self.node("Div", [found, number(size.over)])
        if size.times < 0:
            found = self.node("Neg", [found])
        return self.node("Add", [found, number(size.plus)]) if size.plus else found

    def _read_size(self, name: str) -> str:
        """Read a size from the shape of a value that has it."""
        key = ("size", name)
        if key not in self._known:
            value, axis = self._sizes[name]
            source = self.names[value.number]
            self._known[key] = self.node("Shape", [source], start=axis, end=axis + 1)
        return self._known[key]


def refuse(operation: Operation, what: str = "") -> ExportError:
    """Make the error of an operation that has no form in ONNX."""
    return ExportError(
        f"{operation.where}: {operation.name}{what} cannot be written as ONNX; "
        "sl.export.save writes the network with all its operations"
    )


def option(operation: Operation, name: str, position: int, *, default: Any = None) -> Any:
    """Return an argument that may be passed by name or by position."""
    if name in operation.options:
        return operation.options[name]
    return operation.args[position] if len(operation.args) > position else default


def as_list(arg: Any) -> list[Any]:
    """Return one or several arguments as a list."""
    return list(arg) if is_list(arg) else [arg]


def axes_of(operation: Operation) -> list[int]:
    """List the axes of an operation; none of them: all."""
    axis = option(operation, "axis", 1)
    return [] if axis is None else as_list(axis)
