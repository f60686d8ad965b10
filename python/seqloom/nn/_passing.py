"""Passes arguments on to the parts of a container, by the signature of each part."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from seqloom.errors import ArgumentError
from seqloom.nn._module import Module
from seqloom.nn._parts import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Takes:
    """The arguments that a part takes."""

    positional: tuple[str, ...]  # names, without `key`, which the container gives
    required: tuple[str, ...]  # names without a default
    keywords: frozenset[str]
    many: bool = False  # whether it takes any number of positional arguments
    others: bool = False  # whether it takes keywords of any name
    text: str = "(x)"  # the signature, for messages
    needs_one: bool = True  # whether it can be called with one positional argument

    def has(self, name: str) -> bool:
        """Return whether the part takes a keyword."""
        return self.others or name in self.keywords

    def with_key(self, options: Mapping[str, Any], key: Any) -> Mapping[str, Any]:
        """Return keywords with a key, if there is one or the part does not go without."""
        is_given = key is not None or "key" in self.required
        return {**options, "key": key} if is_given else options

    def takes_several(self) -> bool:
        """Return whether a tuple is spread over the positional arguments."""
        return self.many or len(self.positional) > 1


# Of a function of C that does not say what it takes.
_UNKNOWN = Takes(("x",), ("x",), frozenset())
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


# What modules of a class take, unless they are containers.
_classes: dict[type[Any], Takes] = {}


# What functions take, without and with a first argument that is the object of a method.
_known: tuple[WeakKeyDictionary[Any, Takes], ...] = (
    WeakKeyDictionary(),
    WeakKeyDictionary(),
)


def takes_of(part: Any) -> Takes:
    """Return what a part takes; a container takes what its own parts take."""
    return _classes.get(part.__class__) or _find_takes(part)


def _find_takes(part: Any) -> Takes:
    """Return what a function takes, a container, or a module of a class not met yet."""
    if isinstance(part, Module):
        return _of_module(part, type(part))
    if isinstance(part, FunctionType):
        return _of_function(part, 0)
    if isinstance(part, MethodType) and isinstance(part.__func__, FunctionType):
        return _of_function(part.__func__, 1)
    return _inspect(part, 0)


def _of_module(module: Any, kind: Any) -> Takes:
    """Return what a module takes: by ``__call__``, or by ``forward``."""
    function = kind.__call__
    if function in CONTAINERS:
        return CONTAINERS[function](module)
    if function is Module.__call__:
        function = getattr(kind, "forward", function)
    _classes[kind] = _inspect(function, 1)
    return _classes[kind]


def _of_function(function: FunctionType, skip: int) -> Takes:
    """Return what a function takes; it is examined once."""
    known = _known[skip]
    found = known.get(function)
    if found is None:
        found = known[function] = _inspect(function, skip)
    return found


def _inspect(function: Any, skip: int) -> Takes:
    """Return what a function takes after the first arguments, from its signature."""
    try:
        every = list(inspect.signature(function).parameters.values())[skip:]
    except (ValueError, TypeError):  # a C function without a signature
        return _UNKNOWN
    named = [each for each in every if each.kind not in _VARIADIC]
    by_place = [each.name for each in named if each.kind != each.KEYWORD_ONLY]
    by_name = [each.name for each in named if each.kind != each.POSITIONAL_ONLY]
    plain = [each.replace(annotation=each.empty) for each in every]
    places = tuple(name for name in by_place if name != "key")
    required = tuple(each.name for each in named if each.default is each.empty)
    return Takes(
        places,
        required,
        frozenset(by_name),
        any(each.kind == each.VAR_POSITIONAL for each in every),
        any(each.kind == each.VAR_KEYWORD for each in every),
        str(inspect.Signature(plain)),
        required == places[:1],
    )


def spread(output: object, takes: Takes) -> tuple[Any, ...]:
    """Return a part's output as the positional arguments of the next part."""
    if type(output) is not tuple or not takes.takes_several():
        return (cast("Any", output),)
    return cast("tuple[Any, ...]", output)


def call_part(
    part: Any,
    place: tuple[str, object],
    takes: Takes,
    values: Sequence[Any],
    given: Mapping[str, Any],
) -> Any:
    """Call a part with what it takes; an error of its gets a line that names the part."""
    options = {name: given[name] for name in given if takes.has(name)}
    if refusal := _find_refusal(takes, values, options):
        raise ArgumentError(f"{_name(part, place)} {refusal}")
    # Gives each value its argument; those after one that is a keyword go by name.
    free = [name for name in takes.positional if name not in options]
    taken = [at for at, name in enumerate(takes.positional) if name in options]
    count = min([*taken, len(values)])  # of values that go by position
    by_name = zip(free[count:], values[count:], strict=False)
    values, options = values[:count], {**dict(by_name), **options}
    try:
        return part(*values, **options)
    except Exception as error:
        add_place(error, part, place)
        raise


def _find_refusal(
    takes: Takes, values: Sequence[Any], options: Mapping[str, Any]
) -> str | None:
    """Say which arguments a part lacks, or that it gets too many."""
    free = [name for name in takes.positional if name not in options]
    filled = {*free[: len(values)], *options}
    missing = [name for name in takes.required if name not in filled]
    if missing:
        return (
            f"also needs {' and '.join(missing)}; pass {missing[0]}=... in the call, or "
            "let the part before return a tuple"
        )
    has_place = takes.many and len(free) == len(takes.positional)
    if len(values) <= len(free) or has_place:
        return None
    return (
        f"takes {len(free)} positional arguments here, got {len(values)}; let the part "
        "before return fewer, or put a function between them that chooses"
    )


def add_place(error: Exception, part: Any, place: tuple[str, object]) -> None:
    """Add a line to an error that a part raised: which part it was."""
    error.add_note(f"in {_name(part, place)}")


def _name(part: Any, place: tuple[str, object]) -> str:
    """Name a part, such as ``layer 1 of Sequential (Linear(x))``."""
    where, name = place
    return f"{where.format(name)} ({describe(part)}{takes_of(part).text})"


def describe(part: Any) -> str:
    """Return the name of a function, or of the class of a module."""
    return getattr(part, "__name__", type(part).__name__)
