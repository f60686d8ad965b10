"""Store a captured step as a graph of operations, and convert graphs to Python functions.

The generated Python function calls only backend functions on arrays, so ``torch.compile``
and ``jax.jit`` can trace it. The function deletes each array after its last use.
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
    """Variable of a graph: an input, or an array that an operation returns."""

    number: int  # unique in the graph
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    # True for an input that is a Python number, which is converted to the dtype of
    # other operands.
    weak: bool = False

    @property
    def nbytes(self) -> int:
        """Size of the array in bytes."""
        total = self.dtype.itemsize
        for size in self.shape:
            total *= size
        return total

    def __repr__(self) -> str:
        return f"%{self.number}"

    def declare(self) -> str:
        """Return the name, dtype and shape, for the text of a graph."""
        kind = "number" if self.weak else f"{self.dtype}{list(self.shape)}"
        return f"%{self.number}: {kind}"


@dataclass(slots=True, eq=False)
class Operation:
    """Operation of a graph: a call of a backend function."""

    # The loop operation ``scan`` has the arguments ``init``, ``xs`` and ``around``,
    # which are lists of values. The option ``body`` is the `Graph` of one step. Inputs
    # of the body are the carried values, one slice of each of ``xs``, and the outer
    # values in ``around``. Outputs of the body are the carried values and one slice of
    # each result.

    name: str
    # Arguments are `Value` objects, Python constants, and lists or tuples of these, as
    # for ``concat``.
    args: tuple[Any, ...]
    options: dict[str, Any]  # keyword arguments, without any `Value`
    outputs: tuple[Value, ...]  # one `Value` for each array that the function returns
    where: str = ""  # line of user code with the call, as ``file:line``

    def inputs(self) -> list[Value]:
        """Return all `Value` objects in the arguments; an argument may occur twice."""
        return values_in(self.args)

    def __str__(self) -> str:
        made = ", ".join(value.declare() for value in self.outputs)
        options = [f"{name}={_format_arg(value)}" for name, value in self.options.items()]
        arguments = ", ".join([*map(_format_arg, self.args), *options])
        return f"{made} = {self.name}({arguments})" + (
            f"  # {self.where}" if self.where else ""
        )


@dataclass(slots=True, eq=False)
class Graph:
    """Captured step: its inputs, its operations in order, and its outputs."""

    inputs: list[Value] = field(default_factory=list["Value"])
    # Arrays that are the same in every call, by the number of their `Value`.
    constants: dict[int, Array] = field(default_factory=dict[int, "Array"])
    # Each operation is listed after all operations on which it depends.
    operations: list[Operation] = field(default_factory=list["Operation"])
    # An output may also be an input.
    outputs: list[Value] = field(default_factory=list["Value"])
    # Maps the index of an input that the caller no longer needs to the index of the
    # output that may reuse the input's memory.
    donated: dict[int, int] = field(default_factory=dict[int, int])

    def uses(self) -> dict[int, int]:
        """Count the operations and outputs that use each value, by the value's number."""
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
    """Return all `Value` objects in nested lists and tuples."""
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
    """Replace each `Value` in nested lists and tuples."""
    if isinstance(tree, Value):
        return change(tree)
    if type(tree) in (list, tuple):
        return type(tree)(map_values(part, change) for part in cast("list[Any]", tree))
    return tree


def _format_arg(arg: object) -> str:
    """Format an argument for the text of a graph."""
    if isinstance(arg, Graph):
        return "{" + "; ".join(str(arg).split("\n")) + "}"
    if isinstance(arg, (list, tuple)):
        inside = ", ".join(_format_arg(part) for part in cast("list[Any]", arg))
        return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
    return repr(arg)


_step_numbers = count()  # Numbers for the file names of generated source.
# Operations that overwrite lists of arrays, with the positions of these lists among the
# arguments.
OVERWRITES: dict[str, tuple[int, ...]] = {"adamw": (0, 2, 3), "sgd": (0, 2)}
# Operations that return lists of arrays, with the positions of the arguments that are
# lists of the same length.
LIST_RESULTS = OVERWRITES | {"clip_by_global_norm": (0,)}


def lower_graph(graph: Graph, backend: Any) -> Callable[..., tuple[Array, ...]]:
    """Generate a Python function that runs a graph on arrays."""
    writer = _SourceWriter(backend)
    writer.scope.update((f"v{number}", x) for number, x in graph.constants.items())
    source = "\n".join(writer.write_function("step", graph))
    file, scope = f"<compiled step {next(_step_numbers)}>", writer.scope
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    step = scope["step"]
    # `linecache` stores the source while the function exists, so tracebacks show its
    # lines. torch.compile also needs the source. Without source, torch.compile treats
    # all generated functions as one function, which it compiles at most eight times.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    weakref.finalize(step, linecache.cache.pop, file, None)
    return step


def flatten(made: object) -> list[Array]:
    """Return all arrays in nested lists and tuples, as one list."""
    if isinstance(made, (list, tuple)):
        return [array for part in cast("list[Any]", made) for array in flatten(part)]
    return [made]


class _SourceWriter:
    """Writes the source of Python functions; `scope` contains their global names."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.scope: dict[str, Any] = {"flatten": flatten}

    def write_function(self, name: str, graph: Graph) -> list[str]:
        """Return the source lines of a Python function that runs a graph."""
        parameters = ", ".join(_name_variable(value) for value in graph.inputs)
        lines = [f"def {name}({parameters}):"]
        last_use: dict[int, int] = {}
        for position, operation in enumerate(graph.operations):
            for value in (*operation.outputs, *operation.inputs()):
                last_use[value.number] = position
        # Variables are deleted after their last use, except outputs, constants, and
        # variables that the inner function of a loop reads.
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
        returned = "".join(f"{_name_variable(value)}, " for value in graph.outputs)
        return [*lines, f"    return ({returned})"]

    def _write_operation(self, operation: Operation) -> list[str]:
        """Return the source lines that run one operation."""
        if operation.name == "scan":
            # The body of a loop becomes an inner function, which reads outer values
            # from the enclosing function instead of arguments.
            init, xs, _around = operation.args
            body: Graph = operation.options["body"]
            name = f"body{operation.outputs[0].number}"
            lines = self._write_body(name, body, carried=len(init), rows=len(xs))
            options = {k: v for k, v in operation.options.items() if k != "body"}
            arguments = [f"{name}_", self._write_argument(init), self._write_argument(xs)]
            arguments += [f"{k}={v!r}" for k, v in options.items()]
            function = self._add_global(self._backend.scan, "scan")
            call = f"{function}({', '.join(arguments)})"
            return [f"    {line}" for line in (*lines, _write_assignment(operation, call))]
        function = self._add_global(getattr(self._backend, operation.name), operation.name)
        arguments = [self._write_argument(arg) for arg in operation.args]
        arguments += [
            f"{k}={self._write_argument(v)}" for k, v in operation.options.items()
        ]
        call = f"{function}({', '.join(arguments)})"
        return [f"    {_write_assignment(operation, call)}"]

    def _write_body(self, name: str, body: Graph, *, carried: int, rows: int) -> list[str]:
        """Return the source of a loop's body, and of ``NAME_``, its wrapper for lists."""
        inputs = body.inputs[: carried + rows]
        inner = Graph(inputs, {}, body.operations, body.outputs, {})
        return [
            *self.write_function(name, inner),
            f"def {name}_(carry, row):",
            f"    made = {name}(*carry, *row)",
            f"    return list(made[:{carried}]), list(made[{carried}:])",
        ]

    def _write_argument(self, arg: object) -> str:
        """Return an argument as source: a variable, a literal, or a global name."""
        if isinstance(arg, Value):
            return _name_variable(arg)
        if type(arg) in (list, tuple):
            parts = cast("list[Any]", arg)
            inside = "".join(f"{self._write_argument(part)}, " for part in parts)
            return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
        if _is_numpy_type(arg):
            # torch.compile 2.10 and 2.11 cannot trace a dtype object, but accept its
            # name.
            arg = str(np.dtype(cast("Any", arg)))
        if isinstance(arg, Key):  # compilers do not support `Key` objects
            arg = self._backend.key_words(arg)
        is_literal = arg is None or type(arg) in (int, bool, str)
        return repr(arg) if is_literal else self._add_global(arg, "plain")

    def _add_global(self, value: object, kind: str) -> str:
        """Store an object as a global of the generated source, and return its name."""
        name = f"{kind}_" if kind != "plain" else f"plain{len(self.scope)}"
        self.scope[name] = value
        return name


def _is_numpy_type(arg: object) -> bool:
    """Return whether an argument is a NumPy dtype or scalar type."""
    is_scalar = isinstance(arg, type) and issubclass(arg, np.generic)
    return is_scalar or isinstance(arg, np.dtype)


def _name_variable(value: Value) -> str:
    return f"v{value.number}"


def _write_assignment(operation: Operation, call: str) -> str:
    """Return a line of source that assigns the results of a call to variables."""
    names = [_name_variable(value) for value in operation.outputs]
    if operation.name in LIST_RESULTS or operation.name == "scan":
        return f"{''.join(f'{name}, ' for name in names)} = flatten({call})"
    comma = "," if operation.name == "unstack" and len(names) == 1 else ""
    return f"{', '.join(names)}{comma} = {call}"
