"""A graph as the source of one flat Python function over a backend's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom._key import Key
from seqloom.tensor._graph import Graph, Operation, Value, values_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._defaults import Array, ArrayFunctions


def lowered(graph: Graph, backend: ArrayFunctions) -> Callable[..., tuple[Array, ...]]:
    """The function of the graph: it takes the inputs by position, and gives the outputs.

    It calls the backend's functions on plain arrays and nothing else, so that
    ``torch.compile`` and ``jax.jit`` can follow it. Each array is dropped after its last
    use.

    Args:
        graph: What to compute.
        backend: Whose functions.

    Returns:
        A function of as many arguments as the graph has inputs.
    """
    writer = _Writer(backend)
    writer.constants(graph)
    lines = writer.function("step", graph)
    scope = writer.scope
    exec(compile("\n".join(lines), "<compiled step>", "exec"), scope)  # noqa: S102
    return scope["step"]


def flat(made: Any) -> list[Array]:
    """A result's arrays, one after the other."""
    if isinstance(made, (list, tuple)):
        return [array for part in cast("list[Any]", made) for array in flat(part)]
    return [made]


class _Writer:
    """Writes lines of source, and keeps the objects that they name."""

    def __init__(self, backend: ArrayFunctions) -> None:
        self._backend = backend
        self.scope: dict[str, Any] = {"flat": flat}

    def constants(self, graph: Graph) -> None:
        """Names the constants."""
        for number, array in graph.constants.items():
            self.scope[f"v{number}"] = array

    def function(self, name: str, graph: Graph) -> list[str]:
        """The lines of one function."""
        taken = ", ".join(_name(value) for value in graph.inputs)
        lines = [f"def {name}({taken}):"]
        dead = _dead_after(graph)
        for place, operation in enumerate(graph.operations):
            lines += self._operation(operation)
            lines += [f"    del {', '.join(dead[place])}"] if place in dead else []
        returned = "".join(f"{_name(value)}, " for value in graph.outputs)
        return [*lines, f"    return ({returned})"]

    def _operation(self, operation: Operation) -> list[str]:
        """The lines of one operation."""
        if operation.name == "scan":
            return self._scan(operation)
        function = self._named(getattr(self._backend, operation.name), operation.name)
        given = [self._argument(each) for each in operation.args]
        given += [f"{k}={self._argument(v)}" for k, v in operation.options.items()]
        call = f"{function}({', '.join(given)})"
        return [f"    {_assigned(operation, call)}"]

    def _scan(self, operation: Operation) -> list[str]:
        """A loop: its body becomes a function of its own, within this one."""
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
        del around  # the body's function finds them in the one around it
        options = {k: v for k, v in operation.options.items() if k != "body"}
        given = [f"{name}_", self._argument(init), self._argument(xs)]
        given += [f"{k}={v!r}" for k, v in options.items()]
        function = self._named(self._backend.scan, "scan")
        call = f"{function}({', '.join(given)})"
        return [*lines, f"    {_assigned(operation, call)}"]

    def _argument(self, arg: Any) -> str:
        """An argument as source: values by name, plain constants as they are written."""
        if isinstance(arg, Value):
            return _name(arg)
        if type(arg) in (list, tuple):
            inside = "".join(f"{self._argument(each)}, " for each in cast("list[Any]", arg))
            return f"[{inside}]" if isinstance(arg, list) else f"({inside})"
        if arg is None or type(arg) in (int, bool, str):
            return repr(arg)
        if isinstance(arg, Key):  # as a constant array: compilers know no keys
            arg = self._backend.key_words(arg)
        return self._named(arg, "plain")

    def _named(self, thing: Any, kind: str) -> str:
        """A name under which the source finds an object."""
        name = f"{kind}_" if kind != "plain" else f"plain{len(self.scope)}"
        self.scope[name] = thing
        return name


def _name(value: Value) -> str:
    """The name of a value in the source."""
    return f"v{value.number}"


def _assigned(operation: Operation, call: str) -> str:
    """A call whose results get their names; what it nests is laid out flat."""
    names = [_name(value) for value in operation.outputs]
    if operation.name in _NESTED:
        return f"{''.join(f'{name}, ' for name in names)} = flat({call})"
    several = len(names) > 1 or operation.name in _TUPLES
    return f"{', '.join(names)}{',' if several and len(names) == 1 else ''} = {call}"


# Functions that give lists of arrays, and functions that give a tuple even of one.
_NESTED = frozenset({"adamw", "sgd", "clip_by_global_norm", "scan"})
_TUPLES = frozenset({"unstack"})


def _dead_after(graph: Graph) -> dict[int, list[str]]:
    """The names to drop after each operation; never those of constants."""
    kept = {value.number for value in graph.outputs} | set(graph.constants)
    last: dict[int, int] = {}
    loops = {
        v.number for op in graph.operations if op.name == "scan" for v in values_in(op.args)
    }
    for place, operation in enumerate(graph.operations):
        for value in (*operation.outputs, *operation.inputs()):
            last[value.number] = place
    mine = {value.number for value in graph.inputs}
    mine |= {value.number for op in graph.operations for value in op.outputs}
    found: dict[int, list[str]] = {}
    for number, place in last.items():
        if number in mine - kept - loops:  # a loop's body closes over its values
            found.setdefault(place, []).append(f"v{number}")
    return found
