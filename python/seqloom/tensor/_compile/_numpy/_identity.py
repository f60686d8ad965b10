"""What makes two graphs equal, in this process or in another."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._graph import Graph, Value

if TYPE_CHECKING:
    from seqloom.tensor._graph import Operation

_PLAIN = frozenset({int, float, complex, bool, str, type(None), slice, type(...)})

_NUMBERS: tuple[type, ...] = (np.generic, int, float)


class Identity:
    """A graph as one text, in which values are numbered as they first appear.

    Equal texts mean equal operations, arguments, shapes and types. Of constants the shape
    and the type are in it, their numbers are not: a layout does not depend on them.

    Attributes:
        names: The number of each value in the text.

    Args:
        graph: The graph.

    Raises:
        TypeError: An argument is of a type that is not known here.
    """

    def __init__(self, graph: Graph) -> None:
        self.names: dict[int, int] = {}
        self._kinds: dict[np.dtype[Any], str] = {}
        self._words: list[str] = []
        self._graph(graph)

    def digest(self, *around: str) -> str:
        """A name for the graph and for what else its plan depends on.

        Args:
            *around: Versions and the like.

        Returns:
            32 hexadecimal digits.
        """
        text = "\n".join((*around, *self._words))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _graph(self, graph: Graph) -> None:
        """Adds a graph: of a step, or of the body of a loop."""
        self._words.append(f"inputs {self._text(graph.inputs)}")
        for operation in graph.operations:
            self._operation(operation)
        outputs, donated = self._text(graph.outputs), sorted(graph.donated.items())
        self._words.append(f"outputs {outputs} {donated}")

    def _operation(self, operation: Operation) -> None:
        """Adds one operation."""
        given = self._text(operation.args)
        options = "".join(f" {k}={self._text(v)}" for k, v in operation.options.items())
        made = self._text(operation.outputs)
        self._words.append(f"{operation.name} {given}{options} gives {made}")

    def _text(self, arg: Any) -> str:
        """One argument, with its type: 1, 1.0 and True make different plans."""
        kind = cast("type[Any]", type(arg))
        if kind is Value:
            return self._value(arg)
        if kind is list:
            return f"[{','.join([self._text(each) for each in arg])}]"
        if kind is tuple:
            return f"({','.join([self._text(each) for each in arg])})"
        if kind is Graph:
            self._graph(arg)
        return repr(arg) if kind in _PLAIN else _unusual(arg)

    def _value(self, value: Value) -> str:
        """A value: with its type where it first appears."""
        name = self.names.get(value.number)
        if name is not None:
            return f"%{name}"
        name = self.names[value.number] = len(self.names)
        kind = self._kinds.get(value.dtype)
        if kind is None:
            kind = self._kinds[value.dtype] = f"{value.dtype.name}{value.dtype.str}"
        return f"%{name}:{kind}{value.shape}{value.weak}"


def _unusual(arg: Any) -> str:
    """An argument that is neither a value nor plain."""
    if isinstance(arg, Graph):
        return "the graph above"
    if isinstance(arg, np.dtype):
        return f"dtype {cast('Any', arg).name} {arg.str}"
    if isinstance(arg, np.generic):
        return f"number {cast('Any', arg)!r} {cast('Any', arg).dtype.str}"
    if isinstance(arg, type) and issubclass(arg, _NUMBERS):
        return f"type {cast('Any', arg).__qualname__}"
    raise TypeError(f"no text for {type(arg).__name__}")
