"""Graph: a step as a list of operations on numbered values, and as a Python function.

The function calls only the backend's functions, on plain arrays, so that ``torch.compile``
and ``jax.jit`` can trace it. Each array is deleted after its last use.
"""

from __future__ import annotations

import linecache
import weakref
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._key import Key

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._elements import Array


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One array that a graph takes or makes."""

    number: int  # its name within the graph
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    # An input that is a Python number, which takes the type of the other operand.
    weak: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        total = self.dtype.itemsize
        for size in self.shape:
            total *= size
        return total

    def __repr__(self) -> str:
        return f"%{self.number}"

    def declare(self) -> str:
        """Return the name with type and shape, for the text of a graph."""
        kind = "number" if self.weak else f"{self.dtype}{list(self.shape)}"
        return f"%{self.number}: {kind}"


@dataclass(slots=True, eq=False)
class Operation:
    """One call of a backend's function."""

    # A ``scan`` has the arguments ``init``, ``xs`` and ``around`` (lists of values). Its
    # body, the `Graph` in the options, takes the carried values, one slice of each of
    # ``xs``, and the values around it; it returns the carried values and one slice of each
    # result.

    name: str  # of the function
    # Values, plain constants, and lists or tuples of both: the arrays of ``concat``, say.
    args: tuple[Any, ...]
    options: dict[str, Any]  # keyword arguments, all plain
    outputs: tuple[Value, ...]  # more than one if the function returns a tuple
    where: str = ""  # the line of the user's code that called it, as ``file:line``

    def inputs(self) -> list[Value]:
        """Return the values among the arguments, each as often as it occurs."""
        return values_in(self.args)

    def __str__(self) -> str:
        made = ", ".join(value.declare() for value in self.outputs)
        options = [f"{name}={_format(value)}" for name, value in self.options.items()]
        arguments = ", ".join([*map(_format, self.args), *options])
        return f"{made} = {self.name}({arguments})" + (
            f"  # {self.where}" if self.where else ""
        )


@dataclass(slots=True, eq=False)
class Graph:
    """A step as one program: inputs, operations in order, outputs."""

    inputs: list[Value] = field(default_factory=list["Value"])
    # The arrays that are the same at every call, by the value's number.
    constants: dict[int, Array] = field(default_factory=dict[int, "Array"])
    # In order of computation: each after the operations that it depends on.
    operations: list[Operation] = field(default_factory=list["Operation"])
    outputs: list[Value] = field(default_factory=list["Value"])  # one may be an input
    # By input position, the position of the output that may reuse the input's memory,
    # because the caller does not use the input any more.
    donated: dict[int, int] = field(default_factory=dict[int, int])

    def uses(self) -> dict[int, int]:
        """Count how often each value is read, by number; an output is read once."""
        found: dict[int, int] = {}
        for operation in self.operations:
            for value in operation.inputs():
                found[value.number] = found.get(value.number, 0) + 1
        for value in self.outputs:
            found[value.number] = found.get(value.number, 0) + 1
        return found

    def __str__(self) -> str:
        taken = ", ".join(value.declare() for value in self.inputs)
        lines = [f"graph({taken})"]
        for number, array in self.constants.items():
            lines.append(f"  %{number} = constant {array.dtype}{list(array.shape)}")
        lines += [f"  {operation}" for operation in self.operations]
        lines.append(f"  return {', '.join(map(repr, self.outputs))}")
        if self.donated:
            pairs = (f"{i} to {o}" for i, o in self.donated.items())
            lines.append(f"  donated inputs to outputs: {', '.join(pairs)}")
        return "\n".join(lines)


def values_in(tree: Any) -> list[Value]:
    """Return the values within nested lists and tuples."""
    if isinstance(tree, Value):
        return [tree]
    found: list[Value] = []
    if isinstance(tree, (list, tuple)):
        for part in cast("list[Any]", tree):
            if isinstance(part, Value):
                found.append(part)
            elif isinstance(part, (list, tuple)):
                found += values_in(part)
    return found


def map_values(tree: Any, change: Callable[[Value], Any]) -> Any:
    """Replace each value within nested lists and tuples."""
    if isinstance(tree, Value):
        return change(tree)
    if type(tree) in (list, tuple):
        return type(tree)(map_values(part, change) for part in cast("list[Any]", tree))
    return tree


def _format(arg: object) -> str:
    """Format an argument for the text of a graph."""
    if isinstance(arg, Graph):
        return "{" + "; ".join(str(arg).split("\n")) + "}"
    if isinstance(arg, (list, tuple)):
        inside = ", ".join(_format(part) for part in cast("list[Any]", arg))
        return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
    return repr(arg)


_COUNT = count()  # of lowered graphs, which numbers their file names
# Operations that overwrite lists of arrays: the positions of these arguments.
UPDATES: dict[str, tuple[int, ...]] = {"adamw": (0, 2, 3), "sgd": (0, 2)}
# Operations that return lists of arrays, each as long as the argument in that position.
LISTS = UPDATES | {"clip_by_global_norm": (0,)}


def lower_graph(graph: Graph, backend: Any) -> Callable[..., tuple[Array, ...]]:
    """Make the function of a graph: it takes the inputs and returns a tuple of outputs."""
    writer = _Writer(backend)
    writer.scope.update((f"v{number}", x) for number, x in graph.constants.items())
    source = "\n".join(writer.write_function("step", graph))
    file, scope = f"<compiled step {next(_COUNT)}>", writer.scope
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    step = scope["step"]
    # `linecache` has the source for as long as the function lives. Tracebacks show its
    # lines. torch.compile asks too: it compiles one function at most eight times, and takes
    # all functions without a source for one.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    weakref.finalize(step, linecache.cache.pop, file, None)
    return step


def flatten(made: object) -> list[Array]:
    """Return the arrays of a result, also of nested lists and tuples, as one list."""
    if isinstance(made, (list, tuple)):
        return [array for part in cast("list[Any]", made) for array in flatten(part)]
    return [made]


class _Writer:
    """Writes lines of source; `scope` holds the objects that the lines name."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.scope: dict[str, Any] = {"flatten": flatten}

    def write_function(self, name: str, graph: Graph) -> list[str]:
        """Write the lines of one function."""
        parameters = ", ".join(_variable(value) for value in graph.inputs)
        lines = [f"def {name}({parameters}):"]
        last_use: dict[int, int] = {}
        for position, operation in enumerate(graph.operations):
            for value in (*operation.outputs, *operation.inputs()):
                last_use[value.number] = position
        # Outputs and constants stay until the end. The body of a loop is an inner function,
        # which reads variables of this one.
        loops = [op for op in graph.operations if op.name == "scan"]
        kept = {value.number for loop in loops for value in values_in(loop.args)}
        kept |= {value.number for value in graph.outputs} | set(graph.constants)
        taken = {value.number for value in graph.inputs}
        made = {value.number for op in graph.operations for value in op.outputs}
        deletable = (taken | made) - kept
        dead: dict[int, list[str]] = {}
        for number, position in last_use.items():
            if number in deletable:
                dead.setdefault(position, []).append(f"v{number}")
        for position, operation in enumerate(graph.operations):
            lines += self._write_operation(operation)
            lines += [f"    del {', '.join(dead[position])}"] if position in dead else []
        returned = "".join(f"{_variable(value)}, " for value in graph.outputs)
        return [*lines, f"    return ({returned})"]

    def _write_operation(self, operation: Operation) -> list[str]:
        """Write the lines of one operation."""
        if operation.name == "scan":
            # Writes a loop: its body becomes a function inside this one.
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
        function = self._store(getattr(self._backend, operation.name), operation.name)
        arguments = [self._write_argument(arg) for arg in operation.args]
        arguments += [
            f"{k}={self._write_argument(v)}" for k, v in operation.options.items()
        ]
        call = f"{function}({', '.join(arguments)})"
        return [f"    {_assign(operation, call)}"]

    def _write_body(self, name: str, body: Graph, *, carried: int, rows: int) -> list[str]:
        """Write the body of a loop, and ``NAME_``, which takes and returns lists."""
        inputs = body.inputs[: carried + rows]
        inner = Graph(inputs, {}, body.operations, body.outputs, {})
        return [
            *self.write_function(name, inner),
            f"def {name}_(carry, row):",
            f"    made = {name}(*carry, *row)",
            f"    return list(made[:{carried}]), list(made[{carried}:])",
        ]

    def _write_argument(self, arg: object) -> str:
        """Write an argument: values by name, plain constants as literals."""
        if isinstance(arg, Value):
            return _variable(arg)
        if type(arg) in (list, tuple):
            parts = cast("list[Any]", arg)
            inside = "".join(f"{self._write_argument(part)}, " for part in parts)
            return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
        if _is_numpy_type(arg):
            # torch.compile of 2.10 and 2.11 cannot look up such a type, but its name.
            arg = str(np.dtype(cast("Any", arg)))
        if isinstance(arg, Key):  # as a constant array: compilers do not know keys
            arg = self._backend.key_words(arg)
        is_literal = arg is None or type(arg) in (int, bool, str)
        return repr(arg) if is_literal else self._store(arg, "plain")

    def _store(self, value: object, kind: str) -> str:
        """Store an object for the source, and return its name there."""
        name = f"{kind}_" if kind != "plain" else f"plain{len(self.scope)}"
        self.scope[name] = value
        return name


def _is_numpy_type(arg: object) -> bool:
    """Return whether an argument is one of NumPy's element types."""
    is_scalar = isinstance(arg, type) and issubclass(arg, np.generic)
    return is_scalar or isinstance(arg, np.dtype)


def _variable(value: Value) -> str:
    """Return the variable of a value in the source."""
    return f"v{value.number}"


def _assign(operation: Operation, call: str) -> str:
    """Write the assignment of a call's results; nested results are flattened."""
    names = [_variable(value) for value in operation.outputs]
    if operation.name in LISTS or operation.name == "scan":
        return f"{''.join(f'{name}, ' for name in names)} = flatten({call})"
    comma = "," if operation.name == "unstack" and len(names) == 1 else ""
    return f"{', '.join(names)}{comma} = {call}"
