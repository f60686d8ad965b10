"""Lowering: writes a graph as the source of one Python function, and compiles it.

The function calls only the backend's functions, on plain arrays, so that ``torch.compile``
and ``jax.jit`` can trace it. Each array is deleted after its last use.
"""

from __future__ import annotations

import linecache
import weakref
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key
from seqloom.tensor._graph import Graph, Operation, Value, flatten, values_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._families import Array, ArrayFunctions

_COUNT = count()  # of lowered graphs, which numbers their file names
# Operations that return nested lists of arrays, and those that return a tuple even of one.
_NESTED = frozenset({"adamw", "sgd", "clip_by_global_norm", "scan"})
_TUPLES = frozenset({"unstack"})


def lower_graph(graph: Graph, backend: ArrayFunctions) -> Callable[..., tuple[Array, ...]]:
    """Makes the function of a graph: it takes the inputs and returns a tuple of outputs."""
    writer = _Writer(backend)
    writer.store_constants(graph)
    source = "\n".join(writer.write_function("step", graph))
    file, scope = f"<compiled step {next(_COUNT)}>", writer.scope
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    step = scope["step"]
    _keep_source(file, source, step)
    return step


def _keep_source(file: str, source: str, step: Callable[..., Any]) -> None:
    """Gives the source to Python's `linecache`, for as long as the function lives."""
    # Tracebacks show its lines. torch.compile asks too: it compiles one function at most
    # eight times, and takes all functions without a source for one.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    weakref.finalize(step, linecache.cache.pop, file, None)


class _Writer:
    """Writes lines of source; `scope` holds the objects that the lines name."""

    def __init__(self, backend: ArrayFunctions) -> None:
        self._backend = backend
        self.scope: dict[str, Any] = {"flatten": flatten}

    def store_constants(self, graph: Graph) -> None:
        """Stores the constants of a graph under the names of their values."""
        for number, array in graph.constants.items():
            self.scope[f"v{number}"] = array

    def write_function(self, name: str, graph: Graph) -> list[str]:
        """Writes the lines of one function."""
        parameters = ", ".join(_variable(value) for value in graph.inputs)
        lines = [f"def {name}({parameters}):"]
        dead = _find_dead(graph)
        for position, operation in enumerate(graph.operations):
            lines += self._write_operation(operation)
            lines += [f"    del {', '.join(dead[position])}"] if position in dead else []
        returned = "".join(f"{_variable(value)}, " for value in graph.outputs)
        return [*lines, f"    return ({returned})"]

    def _write_operation(self, operation: Operation) -> list[str]:
        """Writes the lines of one operation."""
        if operation.name == "scan":
            return self._write_scan(operation)
        function = self._store(getattr(self._backend, operation.name), operation.name)
        arguments = [self._write_argument(arg) for arg in operation.args]
        arguments += [
            f"{k}={self._write_argument(v)}" for k, v in operation.options.items()
        ]
        call = f"{function}({', '.join(arguments)})"
        return [f"    {_assign(operation, call)}"]

    def _write_scan(self, operation: Operation) -> list[str]:
        """Writes a loop: its body becomes a function inside this one."""
        # The values around the loop are no arguments: the inner function reads the
        # variables of the enclosing one.
        init, xs, _around = operation.args
        body: Graph = operation.options["body"]
        name = f"body{operation.outputs[0].number}"
        lines = self._write_body(name, body, carried=len(init), rows=len(xs))
        options = {k: v for k, v in operation.options.items() if k != "body"}
        arguments = [f"{name}_", self._write_argument(init), self._write_argument(xs)]
        arguments += [f"{k}={v!r}" for k, v in options.items()]
        function = self._store(self._backend.scan, "scan")
        call = f"{function}({', '.join(arguments)})"
        return [f"    {line}" for line in (*lines, _assign(operation, call))]

    def _write_body(self, name: str, body: Graph, *, carried: int, rows: int) -> list[str]:
        """Writes the body of a loop, and ``NAME_``, which takes and returns lists."""
        inputs = body.inputs[: carried + rows]
        inner = Graph(inputs, {}, body.operations, body.outputs, {})
        return [
            *self.write_function(name, inner),
            f"def {name}_(carry, row):",
            f"    made = {name}(*carry, *row)",
            f"    return list(made[:{carried}]), list(made[{carried}:])",
        ]

    def _write_argument(self, arg: object) -> str:
        """Writes an argument: values by name, plain constants as literals."""
        if isinstance(arg, Value):
            return _variable(arg)
        if type(arg) in (list, tuple):
            parts = cast("list[Any]", arg)
            inside = "".join(f"{self._write_argument(part)}, " for part in parts)
            return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
        plain = _plain(arg)
        if plain is None or type(plain) in (int, bool, str):
            return repr(plain)
        if isinstance(plain, Key):  # as a constant array: compilers do not know keys
            plain = self._backend.key_words(plain)
        return self._store(plain, "plain")

    def _store(self, value: object, kind: str) -> str:
        """Stores an object for the source, and returns its name there."""
        name = f"{kind}_" if kind != "plain" else f"plain{len(self.scope)}"
        self.scope[name] = value
        return name


def _plain(arg: object) -> object:
    """Returns the name of a NumPy element type; any other value as it is."""
    # torch.compile of 2.10 and 2.11 cannot look up such a type, but it can look up a name.
    return str(np.dtype(cast("Any", arg))) if _is_numpy_type(arg) else arg


def _is_numpy_type(arg: object) -> bool:
    """Says whether an argument is one of NumPy's element types."""
    is_scalar = isinstance(arg, type) and issubclass(arg, np.generic)
    return is_scalar or isinstance(arg, np.dtype)


def _variable(value: Value) -> str:
    """Returns the variable of a value in the source."""
    return f"v{value.number}"


def _assign(operation: Operation, call: str) -> str:
    """Writes the assignment of a call's results; nested results are flattened."""
    names = [_variable(value) for value in operation.outputs]
    if operation.name in _NESTED:
        return f"{''.join(f'{name}, ' for name in names)} = flatten({call})"
    several = len(names) > 1 or operation.name in _TUPLES
    return f"{', '.join(names)}{',' if several and len(names) == 1 else ''} = {call}"


def _find_dead(graph: Graph) -> dict[int, list[str]]:
    """Returns the variables to delete after each operation: those that it uses last."""
    last_use: dict[int, int] = {}
    for position, operation in enumerate(graph.operations):
        for value in (*operation.outputs, *operation.inputs()):
            last_use[value.number] = position
    deletable = _find_local(graph) - _find_kept(graph)
    dead: dict[int, list[str]] = {}
    for number, position in last_use.items():
        if number in deletable:
            dead.setdefault(position, []).append(f"v{number}")
    return dead


def _find_local(graph: Graph) -> set[int]:
    """Returns the values that the function of a graph takes or makes itself."""
    taken = {value.number for value in graph.inputs}
    return taken | {value.number for op in graph.operations for value in op.outputs}


def _find_kept(graph: Graph) -> set[int]:
    """Returns the values that stay until the end: outputs, constants, those of loops."""
    kept = {value.number for value in graph.outputs} | set(graph.constants)
    # The body of a loop is an inner function, which reads variables of this one.
    loops = [op for op in graph.operations if op.name == "scan"]
    return kept | {value.number for loop in loops for value in values_in(loop.args)}
