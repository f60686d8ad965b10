"""The values outside of a step that the step can reach.

The values are compared before each call; after a change, a new program is compiled. A value
that cannot be compared raises an error during capture.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial
from itertools import count
from operator import is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from seqloom.errors import CaptureError
from seqloom.tensor._compile._code import (
    NoValue,
    Snapshot,
    describe_function,
    find_generators,
    find_names,
    global_generators,
    is_in_library,
)
from seqloom.tensor._compile._contents import SIMPLE_TYPES, describe, list_objects
from seqloom.tensor._compile._symbol import Symbol
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._compile._program import Program

_MAX_VISITED = 10_000
_ADVICE = "Pass it as an argument of the step, or pass the values that the step needs"
_ARRAY_ADVICE = (
    "Pass it as an argument of the step; if it belongs to a module, use an sl.nn.Buffer"
)
_ITERATOR_ADVICE = "Call next() before the step and pass the value as an argument"
_EMPTY_CODE = compile("", "", "exec")
_VISIT_SEPARATOR = object()  # Separates the contents of one object from those of the next.


class OutsideValues:
    """The values outside of a step, and the compiled program for each set of values."""

    def __init__(self, function: object, key: object) -> None:
        self._function, self._key = function, key
        # The number of each known state of the outside values.
        self._numbers: dict[object, int] = {}
        self._next = count()
        self.programs: dict[int, Program] = {}  # Compiled programs by state number.
        self._last = self._walk()

    def find_state(self) -> int:
        """Return the number of the current state of the outside values."""
        walk, number = self._last
        if not walk.is_current():
            self._last = _, number = self._walk()
        return number

    def _walk(self) -> tuple[ValueVisitor, int]:
        """Visit all outside values; return the visit and the number of their state."""
        walk = ValueVisitor(self._function, self._key)
        form = tuple(walk.items)
        if form not in self._numbers:
            self._numbers[form] = next(self._next)
        return walk, self._numbers[form]

    def describe(self) -> object:
        """Return the path and description of each outside value."""
        return tuple(self._last[0].items)

    def drop_program(self, state: int) -> None:
        """Drop the program of a state, and forget all states without a program."""
        self.programs.pop(state, None)
        numbers = self._numbers.items()
        self._numbers = {form: n for form, n in numbers if n in self.programs}

    def find_generators(self) -> list[tuple[object, object]]:
        """Return the random generators that the step may use, with their states."""
        return find_generators(self._last[0].list_generators())

    def require_comparable(self, executed: set[CodeType] | None = None) -> None:
        """Raise if code that was executed may read a value that cannot be compared."""
        # Before the step runs, only the code of the step itself is treated as executed.
        if executed is None:
            executed = {getattr(self._function, "__code__", _EMPTY_CODE)}
        if problems := ValueVisitor(self._function, self._key, executed).problems:
            raise CaptureError(problems[0])

    def require_unchanged(self) -> None:
        """Raise if the step has changed a value outside of the step."""
        before = self._last[0].items
        self.find_state()
        self._last[0].require_no_symbol()
        after: dict[str, list[object]] = defaultdict(list)
        for path, form in self._last[0].items:
            after[path].append(form)
        for path, form in before:
            if not any(_is_same_or_extended(form, other) for other in after[path]):
                raise CaptureError(
                    f"the compiled step reads and changes {path.strip()}, a variable "
                    "outside of it; the change would happen once instead of at every call. "
                    "Pass it as an argument, and change it outside of the step"
                )


def _is_same_or_extended(before: Any, after: Any) -> bool:
    """Return True if the descriptions are equal, or `after` only has additional parts."""
    # An additional part, such as a cached property, causes a new compilation at the
    # next call.
    if before == after or isinstance(before, RepeatedObject):
        return True
    if type(before) is not tuple or type(after) is not tuple:
        return False
    one, other = cast("tuple[Any, ...]", before), cast("tuple[Any, ...]", after)
    is_longer = one[:1] == other[:1] == (list,) and one[1] < other[1]
    return bool(is_longer or set(one) < set(other))


class RepeatedObject(NamedTuple):
    """A further occurrence of an object that was already visited."""

    number: int


class ValueVisitor:
    """Visits each value that a step can reach, and records it for comparisons."""

    def __init__(
        self, function: object, key: object, executed: set[CodeType] | None = None
    ) -> None:
        # Code objects of the user functions to visit; None visits all user functions.
        self._executed = executed
        # The path and description of each visited value; together they are the state.
        self.items: list[tuple[str, object]] = []
        self.problems: list[str] = []  # Messages about values that cannot be compared.
        # The number of each visited object, by the id of the object.
        self._places: dict[int, int] = {}
        # Keeps the objects alive, so that their ids remain unique.
        self._objects: list[tuple[str, object]] = []
        self._reads: list[tuple[Callable[[Any], list[Any]], Any]] = []
        # The results of all functions in `_reads`, concatenated.
        self._values: list[Any] = []
        self._digests: list[tuple[Callable[[Any], object], Any, object]] = []
        self._names: set[str] = set()
        self._modules: list[tuple[ModuleType, set[str]]] = []
        self._waiting: deque[tuple[str, Any]] = deque()
        if isinstance(function, MethodType):
            owner = function.__self__
            self._waiting.append((type(owner).__name__, owner))
            function = function.__func__
        if isinstance(function, FunctionType) and not is_in_library(function):
            self._add("", function, describe_function(function, with_defaults=False))
        else:
            self._waiting.append(("the step", function))
        self._waiting.extend(list_objects(key))
        while self._waiting or self._add_module_names():
            self._visit(*self._waiting.popleft())

    def is_current(self) -> bool:
        """Return True if every outside value is the same object as during the visit."""
        now: list[Any] = []
        for read, owner in self._reads:
            now += read(owner)
            now.append(_VISIT_SEPARATOR)
        before = self._values
        if len(now) != len(before) or not all(map(is_, now, before)):
            return False
        return all(digest(owner) == value for digest, owner, value in self._digests)

    def list_generators(self) -> list[object]:
        """Return all visited objects, and the global random generators."""
        return [*(value for _, value in self._objects), *global_generators(self._names)]

    def require_no_symbol(self) -> None:
        """Raise if the step has stored one of its tensors outside of the step."""
        for path, value in self._objects:
            raw: Any = value.raw if isinstance(value, Tensor) else None
            while hasattr(raw, "node"):  # a value in a gradient computation
                raw = raw.value
            if isinstance(raw, Symbol):
                raise CaptureError(
                    f"the compiled step stores a tensor in {path}, outside of it; return "
                    "the tensor, and store it outside of the step"
                )

    def _visit(self, path: str, value: Any) -> None:
        """Visit one value, and queue its contents."""
        kind = cast("Any", type(value))
        if kind in SIMPLE_TYPES or value is NoValue:
            self.items.append((path, (kind, value)))
        elif (number := self._places.get(id(value))) is not None:
            self.items.append((path, RepeatedObject(number)))
        else:
            self._add(path, value, describe(value))

    def _add(self, path: str, value: Any, node: Snapshot) -> None:
        """Record a value with its description."""
        self._places[id(value)] = len(self._places)
        self._objects.append((path, value))
        self.items.append((path, node.description))
        if node.problem:
            self._report(node.problem.format(path), _choose_advice(value))
        has_code = isinstance(value, (FunctionType, ModuleType))
        if has_code and not is_in_library(value) and not self._collect_names(value):
            return
        if node.read is not None:
            self._reads.append((node.read, value))
            self._values += [*node.read(value), _VISIT_SEPARATOR]
        if node.digest is not None:
            digest = node.digest(value)
            self._digests.append((node.digest, value, digest))
            self.items.append((f"{path} ", digest))
        if len(self.items) + len(self._waiting) + len(node.parts) > _MAX_VISITED:
            self._report(f"more than {_MAX_VISITED:,} values, the last of them in {path},")
            return
        # The variables of a function are listed with their full names.
        is_function = isinstance(value, FunctionType)
        parts = ((name if is_function else path + name, part) for name, part in node.parts)
        self._waiting.extend(parts)

    def _collect_names(self, value: FunctionType | ModuleType) -> bool:
        """Collect the names in the code of a function; return False if it was not run."""
        if isinstance(value, ModuleType):
            self._modules.append((value, set()))
        elif self._executed and value.__code__ not in self._executed:
            return False
        else:
            self._names |= find_names(value.__code__)
        return True

    def _report(self, what: str, remedy: str = _ADVICE) -> None:
        """Add the error message for a value that cannot be compared."""
        self.problems.append(
            f"the compiled step reads {what} outside of the step, where it may change; the "
            f"program would repeat its first value at every call. {remedy}"
        )

    def _add_module_names(self) -> bool:
        """Queue the values in user modules whose names occur in the code visited so far."""
        for module, known in self._modules:
            new = sorted((self._names & vars(module).keys()) - known)
            known.update(new)
            if new:
                self._reads.append((partial(_read_names, new), module))
                self._values += [*_read_names(new, module), _VISIT_SEPARATOR]
            own = vars(module)
            self._waiting.extend((f"{module.__name__}.{name}", own[name]) for name in new)
        return bool(self._waiting)


def _choose_advice(value: Any) -> str:
    """Return the advice for a value that cannot be compared."""
    if isinstance(value, np.ndarray):
        return _ARRAY_ADVICE
    return _ITERATOR_ADVICE if hasattr(cast("Any", type(value)), "__next__") else _ADVICE


def _read_names(names: list[str], module: ModuleType) -> list[Any]:
    """Return the values of the given names of a module."""
    return [vars(module).get(name, NoValue) for name in names]
