"""Build an ONNX graph with nodes, constants, and sizes that are computed at run time."""

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

    # Type of a function that writes an operation and returns the names of its outputs.
    WriteOperation = Callable[["Builder", Operation], list[str]]


def import_onnx() -> Any:
    """Import onnx, or raise an error with the command that installs it."""
    try:
        return import_module("onnx")
    except ImportError:
        raise MissingExtraError("an export as ONNX needs onnx: pip install onnx") from None


class Builder:
    """Builder that collects the nodes and the value names of an ONNX graph."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.names: dict[int, str] = {}  # value number -> ONNX name
        self.makers: dict[int, Operation] = {}  # number of a result -> operation
        self._known: dict[Any, str] = {}  # names of existing constants and casts
        self._sizes: dict[
            str, tuple[Value, int]
        ] = {}  # size -> a (value, axis) with this length

    # Values
    # -------------------------------------------------------------------------------

    def bind(self, value: Value, name: str) -> None:
        """Set the name of a value; sizes can then be computed from its shape."""
        self.names[value.number] = name
        for axis, size in enumerate(cast("tuple[int | str, ...]", value.shape)):
            if isinstance(size, str):
                self._sizes.setdefault(size, (value, axis))

    def constant(self, array: Any, dtype: Any = None) -> str:
        """Return the name of a constant; equal arrays use the same constant."""
        found = np.asarray(array, dtype)
        key = (found.dtype.str, found.shape, found.tobytes())
        if key not in self._known:
            self._known[key] = name = f"constant_{len(self.constants)}"
            self.constants[name] = found
        return self._known[key]

    def get(self, arg: Any, dtype: Any = None) -> str:
        """Return the name of an argument, which is a value or a number."""
        if isinstance(arg, Value):
            name = self.names[arg.number]
            same = dtype is None or np.dtype(dtype) == arg.dtype
            return name if same else self.cast(name, dtype)
        if isinstance(arg, Size):
            return self.cast(self.node("Squeeze", [self.integers([arg])]), dtype or "int64")
        return self.constant(arg, dtype)

    def cast(self, name: str, dtype: Any) -> str:
        """Add a Cast node, or return the name of an equal earlier cast."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        key = (name, kind)
        if key not in self._known:
            self._known[key] = self.node("Cast", [name], to=kind)
        return self._known[key]

    # Nodes
    # --------------------------------------------------------------------------------

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node with one output."""
        return self.multi_node(kind, inputs, 1, **attributes)[0]

    def multi_node(
        self, kind: str, inputs: Sequence[str], count: int, **attributes: Any
    ) -> list[str]:
        """Add a node with several outputs, and return their names."""
        outputs = [f"{kind.lower()}_{len(self.nodes)}_{number}" for number in range(count)]
        make = self.onnx.helper.make_node
        self.nodes.append(make(kind, list(inputs), outputs, **attributes))
        return outputs

    # Sizes
    # --------------------------------------------------------------------------------

    def integers(self, numbers: Sequence[int | str | Size]) -> str:
        """Return a 1-d tensor of integers that are constants or computed from shapes."""
        if all(isinstance(it, (int, np.integer)) for it in numbers):
            return self.constant(list(numbers), "int64")
        parts = [self._make_integer(it) for it in numbers]
        return parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=0)

    def dimensions(self, value: Value) -> list[int | str]:
        """Return the size of each axis of a value; a dynamic size is a name."""
        return list(cast("tuple[int | str, ...]", value.shape))

    def _make_integer(self, number: int | str | Size) -> str:
        """Return a 1-d tensor with one integer."""
        if isinstance(number, str):
            return self._read_size(number)
        if not isinstance(number, Size):
            return self.constant([number], "int64")
        found = self._read_size(number.of[0])
        for name in number.of[1:]:
            found = self.node("Mul", [found, self._read_size(name)])
        return self._divide_size(found, number)

    def _divide_size(self, product: str, size: Size) -> str:
        """Compute a size with a division that rounds down; ONNX division truncates."""

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
        """Read a size from the shape of a value."""
        key = ("size", name)
        if key not in self._known:
            value, axis = self._sizes[name]
            source = self.names[value.number]
            self._known[key] = self.node("Shape", [source], start=axis, end=axis + 1)
        return self._known[key]


def unsupported_error(operation: Operation, what: str = "") -> ExportError:
    """Return the error for an operation without an ONNX equivalent."""
    return ExportError(
        f"{operation.where}: {operation.name}{what} cannot be exported to ONNX; "
        "sl.export.save supports all operations"
    )


def get_option(
    operation: Operation, name: str, position: int, *, default: Any = None
) -> Any:
    """Return an argument that was passed by keyword or by position."""
    if name in operation.options:
        return operation.options[name]
    return operation.args[position] if len(operation.args) > position else default


def to_list(arg: Any) -> list[Any]:
    """Return one or several arguments as a list."""
    return list(arg) if is_list(arg) else [arg]


def find_axes(operation: Operation) -> list[int]:
    """Return the axes of an operation, or all axes if none are given."""
    axis = get_option(operation, "axis", 1)
    return [] if axis is None else to_list(axis)
