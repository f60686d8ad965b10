"""A text that two graphs share if, in any process, they have the same layout."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._graph import Graph, Value

if TYPE_CHECKING:
    from seqloom.tensor._graph import Operation

_PLAIN = frozenset({int, float, complex, bool, str, type(None), slice, type(...)})

_NUMBERS: tuple[type, ...] = (np.generic, int, float)


class GraphText:
    """A graph as one text, in which values are numbered in order of their appearance.

    Equal texts mean equal operations, arguments, shapes and types. The text has the shapes
    and types of constants, but not their elements: a layout does not depend on these.
    """

    def __init__(self, graph: Graph) -> None:
        # Raises TypeError for an argument that has no text.
        self.names: dict[int, int] = {}  # a value's number in the graph: in the text
        self._kinds: dict[np.dtype[Any], str] = {}
        self._words: list[str] = []
        self._add_graph(graph)

    def digest(self, *dependencies: str) -> str:
        """Returns 32 hexadecimal digits for the graph and the other dependencies."""
        text = "\n".join((*dependencies, *self._words))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _add_graph(self, graph: Graph) -> None:
        """Adds the graph of a step, or of the body of a loop."""
        self._words.append(f"inputs {self._describe(graph.inputs)}")
        for operation in graph.operations:
            self._add_operation(operation)
        outputs, donated = self._describe(graph.outputs), sorted(graph.donated.items())
        self._words.append(f"outputs {outputs} {donated}")

    def _add_operation(self, operation: Operation) -> None:
        """Adds one operation."""
        args = self._describe(operation.args)
        options = "".join(f" {k}={self._describe(v)}" for k, v in operation.options.items())
        outputs = self._describe(operation.outputs)
        self._words.append(f"{operation.name} {args}{options} gives {outputs}")

    def _describe(self, arg: Any) -> str:
        """Describes an argument with its type: 1, 1.0 and True make different layouts."""
        kind = cast("type[Any]", type(arg))
        if kind is Value:
            return self._describe_value(arg)
        if kind is list:
            return f"[{','.join([self._describe(part) for part in arg])}]"
        if kind is tuple:
            return f"({','.join([self._describe(part) for part in arg])})"
        if kind is Graph:
            self._add_graph(arg)
        return repr(arg) if kind in _PLAIN else _describe_other(arg)

    def _describe_value(self, value: Value) -> str:
        """Describes a value, with shape and type where it first appears."""
        name = self.names.get(value.number)
        if name is not None:
            return f"%{name}"
        name = self.names[value.number] = len(self.names)
        kind = self._kinds.get(value.dtype)
        if kind is None:
            kind = self._kinds[value.dtype] = f"{value.dtype.name}{value.dtype.str}"
        return f"%{name}:{kind}{value.shape}{value.weak}"


def _describe_other(arg: object) -> str:
    """Describes a dtype, a number of NumPy, a type or a graph."""
    if isinstance(arg, Graph):
        return "the graph above"
    if isinstance(arg, np.dtype):
        return f"dtype {cast('Any', arg).name} {arg.str}"
    if isinstance(arg, np.generic):
        return f"number {cast('Any', arg)!r} {cast('Any', arg).dtype.str}"
    if isinstance(arg, type) and issubclass(arg, _NUMBERS):
        return f"type {cast('Any', arg).__qualname__}"
    raise TypeError(f"no text for {type(arg).__name__}")
