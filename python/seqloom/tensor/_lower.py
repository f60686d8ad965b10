"""A graph as the source of one flat Python function over a backend's functions."""

from __future__ import annotations

import linecache
import weakref
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key
from seqloom.tensor._graph import Graph, Operation, Value, values_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._defaults import Array, ArrayFunctions

_COUNT = count()  # of steps, whose names tell them apart


def lower_graph(graph: Graph, backend: ArrayFunctions) -> Callable[..., tuple[Array, ...]]:
    """Makes the function of a graph, from its inputs by position to a tuple of outputs."""
    # It calls only the backend's functions, on plain arrays, so that ``torch.compile`` and
    # ``jax.jit`` can trace it. Each array is deleted after its last use.
    writer = _Writer(backend)
    writer.constants(graph)
    source = "\n".join(writer.function("step", graph))
    file, scope = f"<compiled step {next(_COUNT)}>", writer.scope
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    step = scope["step"]
    _keep_source(file, source, step)
    return step


def _keep_source(file: str, source: str, step: Callable[..., Any]) -> None:
    """Shows the source to who asks for its lines, for as long as the function lives."""
    # A traceback does, and torch.compile: functions without a source share its limit of
    # programs, of which it makes no more than eight.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    weakref.finalize(step, linecache.cache.pop, file, None)


def flat(made: object) -> list[Array]:
    """Returns the arrays of a result, also of nested lists and tuples, as one list."""
    if isinstance(made, (list, tuple)):
        return [array for part in cast("list[Any]", made) for array in flat(part)]
    return [made]


class _Writer:
    """Writes lines of source, and stores the objects that they name."""

    def __init__(self, backend: ArrayFunctions) -> None:
        self._backend = backend
        self.scope: dict[str, Any] = {"flat": flat}

    def constants(self, graph: Graph) -> None:
        """Gives the constants names."""
        for number, array in graph.constants.items():
            self.scope[f"v{number}"] = array

    def function(self, name: str, graph: Graph) -> list[str]:
        """Writes the lines of one function."""
        taken = ", ".join(_variable(value) for value in graph.inputs)
        lines = [f"def {name}({taken}):"]
        dead = _dead_after(graph)
        for position, operation in enumerate(graph.operations):
            lines += self._operation(operation)
            lines += [f"    del {', '.join(dead[position])}"] if position in dead else []
        returned = "".join(f"{_variable(value)}, " for value in graph.outputs)
        return [*lines, f"    return ({returned})"]

    def _operation(self, operation: Operation) -> list[str]:
        """Writes the lines of one operation."""
        if operation.name == "scan":
            return self._scan(operation)
        function = self._name(getattr(self._backend, operation.name), operation.name)
        arguments = [self._argument(arg) for arg in operation.args]
        arguments += [f"{k}={self._argument(v)}" for k, v in operation.options.items()]
        call = f"{function}({', '.join(arguments)})"
        return [f"    {_assign(operation, call)}"]

    def _scan(self, operation: Operation) -> list[str]:
        """Writes a loop: its body becomes a function inside this one."""
        init, xs, around = operation.args
        body: Graph = operation.options["body"]
        name = f"body{operation.outputs[0].number}"
        carried, rows = len(init), len(init) + len(xs)
        inner = Graph(body.inputs[:rows], {}, body.operations, body.outputs, {})
        lines = [f"    {line}" for line in self.function(name, inner)]
        lines += [
            f"    def {name}_(carry, row):",
            f"        made = {name}(*carry, *row)",
            f"        return list(made[:{carried}]), list(made[{carried}:])",
        ]
        del around  # the inner function finds them in the enclosing one
        options = {k: v for k, v in operation.options.items() if k != "body"}
        arguments = [f"{name}_", self._argument(init), self._argument(xs)]
        arguments += [f"{k}={v!r}" for k, v in options.items()]
        function = self._name(self._backend.scan, "scan")
        call = f"{function}({', '.join(arguments)})"
        return [*lines, f"    {_assign(operation, call)}"]

    def _argument(self, arg: object) -> str:
        """Writes an argument: values by name, plain constants as literals."""
        if isinstance(arg, Value):
            return _variable(arg)
        if type(arg) in (list, tuple):
            parts = cast("list[Any]", arg)
            inside = "".join(f"{self._argument(part)}, " for part in parts)
            return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
        plain = _plain(arg)
        if plain is None or type(plain) in (int, bool, str):
            return repr(plain)
        if isinstance(plain, Key):  # as a constant array: compilers do not know keys
            plain = self._backend.key_words(plain)
        return self._name(plain, "plain")

    def _name(self, value: object, kind: str) -> str:
        """Stores an object for the source, and returns its name there."""
        name = f"{kind}_" if kind != "plain" else f"plain{len(self.scope)}"
        self.scope[name] = value
        return name


def _plain(arg: object) -> object:
    """Gives the name of an element type of NumPy's; other values as they are."""
    # torch.compile before 2.15 cannot look up such a type, but its name.
    is_scalar = isinstance(arg, type) and issubclass(arg, np.generic)
    is_type = is_scalar or isinstance(arg, np.dtype)
    return np.dtype(cast("Any", arg)).name if is_type else arg


def _variable(value: Value) -> str:
    """Returns the variable of a value in the source."""
    return f"v{value.number}"


def _assign(operation: Operation, call: str) -> str:
    """Writes a call and the variables of its results; nested results are flattened."""
    names = [_variable(value) for value in operation.outputs]
    if operation.name in _NESTED:
        return f"{''.join(f'{name}, ' for name in names)} = flat({call})"
    several = len(names) > 1 or operation.name in _TUPLES
    return f"{', '.join(names)}{',' if several and len(names) == 1 else ''} = {call}"


# Functions that return lists of arrays, and functions that return a tuple even of one.
_NESTED = frozenset({"adamw", "sgd", "clip_by_global_norm", "scan"})
_TUPLES = frozenset({"unstack"})


def _dead_after(graph: Graph) -> dict[int, list[str]]:
    """Returns the variables to delete after each operation; never those of constants."""
    kept = {value.number for value in graph.outputs} | set(graph.constants)
    last: dict[int, int] = {}
    loops = {
        v.number for op in graph.operations if op.name == "scan" for v in values_in(op.args)
    }
    for position, operation in enumerate(graph.operations):
        for value in (*operation.outputs, *operation.inputs()):
            last[value.number] = position
    mine = {value.number for value in graph.inputs}
    mine |= {value.number for op in graph.operations for value in op.outputs}
    found: dict[int, list[str]] = {}
    for number, position in last.items():
        if number in mine - kept - loops:  # a loop's body closes over its values
            found.setdefault(position, []).append(f"v{number}")
    return found
