"""The source of the function that runs a program: its lines, and the objects they name."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._compile._numpy._aliases import make_view
from seqloom.tensor._graph import Value, flatten

if TYPE_CHECKING:
    from seqloom.tensor._compile._numpy._aliases import Aliases
    from seqloom.tensor._graph import Operation


class SourceText:
    """Lines of source, with names for values, views and other objects."""

    def __init__(self, aliases: Aliases, inputs: set[int], fixed: set[int]) -> None:
        # fixed: numbers of the values whose memory is the same at every call
        self.lines: list[str] = []
        self.views: list[Operation] = []  # of fixed memory: made once, not at every call
        self.scope: dict[str, Any] = {"empty": np.empty, "flatten": flatten}
        self._names: dict[int, str] = {}  # by the object's id
        self._aliases = aliases
        self._fixed = fixed
        self._defined = inputs | fixed  # values whose names are bound to arrays

    def write(self, line: str) -> None:
        """Adds a line to the body of the function."""
        self.lines.append(f"    {line}")

    def define(self, value: Value) -> str:
        """Returns the name of a value that the next line binds to an array."""
        self._defined.add(value.number)
        return f"v{value.number}"

    def name(self, value: Value) -> str:
        """Returns the name of a value; writes a line for a view that is used first here."""
        number = value.number
        if number not in self._defined and number in self._aliases.views:
            operation = self._aliases.views[number]
            source = self.name(operation.args[0])
            if operation.args[0].number in self._fixed:
                self._fixed = self._fixed | {number}
                self._defined.add(number)
                self.views.append(operation)
            else:
                self.write(f"{self.define(value)} = {self._write_view(operation, source)}")
        return f"v{number}"

    def _write_view(self, operation: Operation, source: str) -> str:
        """Returns the source of a view."""
        suffixes = {
            "reshape": f".reshape({operation.outputs[0].shape})",
            "permute_dims": f".transpose({operation.args[-1]})",
            "matrix_transpose": ".mT",
            "stop_gradient": "",
            "astype": "",
        }
        if operation.name in suffixes:
            return source + suffixes[operation.name]
        name = f"view{operation.outputs[0].number}"
        self.scope[name] = partial(make_view, operation)
        return f"{name}({source})"

    def argument(self, arg: object) -> str:
        """Returns the source of an argument."""
        if isinstance(arg, Value):
            return self.name(arg)
        if type(arg) in (list, tuple):
            parts = [f"{self.argument(part)}, " for part in cast("list[object]", arg)]
            inside = "".join(parts)
            return f"[{inside}]" if type(arg) is list else f"({inside})"
        if arg is None or type(arg) in (int, bool, str, float):
            # Python has no literals for NaN and infinity.
            is_special = type(arg) is float and not isfinite(arg)
            return f'float("{arg!r}")' if is_special else repr(arg)
        return self.bind("plain", arg)

    def bind(self, kind: str, thing: object) -> str:
        """Returns a name for an object."""
        name = self._names.setdefault(id(thing), f"{kind}_{len(self.scope)}")
        self.scope[name] = thing  # keeps the object alive, so its id stays its own
        return name

    def call(self, function: str, operation: Operation, *more: str) -> str:
        """Returns the source of a call with an operation's arguments."""
        args = [self.argument(arg) for arg in operation.args]
        args += [f"{key}={self.argument(arg)}" for key, arg in operation.options.items()]
        return f"{function}({', '.join([*args, *more])})"
