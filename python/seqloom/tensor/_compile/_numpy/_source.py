"""The source of the function that runs a plan: one line for each call."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._compile._numpy._views import viewed
from seqloom.tensor._graph import Value
from seqloom.tensor._lower import flat

if TYPE_CHECKING:
    from seqloom.tensor._compile._numpy._memory import Memory
    from seqloom.tensor._graph import Operation


class Source:
    """Lines of source, and the objects that they name.

    Attributes:
        lines: What is written so far.
        scope: The objects, by name.
        views: The views of fixed memory, which need not be made again at each call.

    Args:
        memory: Which values share memory.
        given: Numbers of the values that each call gives.
        fixed: Numbers of the values whose memory stays.
    """

    def __init__(self, memory: Memory, given: set[int], fixed: set[int]) -> None:
        self.lines: list[str] = []
        self.views: list[Operation] = []
        self.scope: dict[str, Any] = {"empty": np.empty, "flat": flat}
        self._names: dict[int, str] = {}  # by the object's id
        self._memory = memory
        self._fixed = fixed
        self._known = given | fixed  # values whose names stand for arrays

    def write(self, line: str) -> None:
        """Writes a line."""
        self.lines.append(f"    {line}")

    def defines(self, value: Value) -> str:
        """The name of a value that has an array from here on."""
        self._known.add(value.number)
        return f"v{value.number}"

    def name(self, value: Value) -> str:
        """The name of a value; a view is made where it is first needed."""
        if value.number not in self._known and value.number in self._memory.views:
            operation = self._memory.views[value.number]
            of = self.name(operation.args[0])
            if operation.args[0].number in self._fixed:
                self._fixed = self._fixed | {value.number}
                self._known.add(value.number)
                self.views.append(operation)
            else:
                self.write(f"{self.defines(value)} = {self._view(operation, of)}")
        return f"v{value.number}"

    def _view(self, operation: Operation, of: str) -> str:
        """The source of a view."""
        written = {
            "reshape": f".reshape({operation.outputs[0].shape})",
            "permute_dims": f".transpose({operation.args[-1]})",
            "matrix_transpose": ".mT",
            "stop_gradient": "",
            "astype": "",
        }
        if operation.name in written:
            return of + written[operation.name]
        name = f"view{operation.outputs[0].number}"
        self.scope[name] = partial(viewed, operation)
        return f"{name}({of})"

    def argument(self, arg: Any) -> str:
        """An argument: values by name, plain constants as they are written."""
        if isinstance(arg, Value):
            return self.name(arg)
        if type(arg) in (list, tuple):
            inside = "".join(f"{self.argument(each)}, " for each in cast("list[Any]", arg))
            return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
        if arg is None or type(arg) in (int, bool, str, float):
            named = type(arg) is float and not isfinite(arg)  # no literals of Python's
            return f'float("{arg!r}")' if named else repr(arg)
        return self.thing("plain", arg)

    def thing(self, kind: str, thing: Any) -> str:
        """A name for an object."""
        name = self._names.setdefault(id(thing), f"{kind}_{len(self.scope)}")
        self.scope[name] = thing  # which keeps it alive, and its id its own
        return name

    def function(self, name: str, function: Any) -> str:
        """A name for a function of the backend."""
        self.scope[f"{name}_"] = function
        return f"{name}_"

    def call(self, function: str, operation: Operation, *more: str) -> str:
        """A call of a function with an operation's arguments."""
        given = [self.argument(arg) for arg in operation.args]
        given += [f"{key}={self.argument(arg)}" for key, arg in operation.options.items()]
        return f"{function}({', '.join([*given, *more])})"
