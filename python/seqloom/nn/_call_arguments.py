"""Selection of the arguments that a container passes to each of its layers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from seqloom.errors import ArgumentError
from seqloom.nn._module import Module
from seqloom.nn._submodules import ARGUMENT_FINDERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class AcceptedArguments:
    """Arguments that a layer or function accepts."""

    positional: tuple[str, ...]  # argument names, except `key`, which the container passes
    required: tuple[str, ...]  # names of arguments without a default
    keywords: frozenset[str]
    has_var_positional: bool = False  # True if *args are accepted
    has_var_keyword: bool = False  # True if keywords of any name are accepted
    signature: str = "(x)"  # text of the signature for messages
    accepts_single: bool = True  # True if one positional argument is enough

    def accepts(self, name: str) -> bool:
        """Return whether the layer accepts a keyword."""
        return self.has_var_keyword or name in self.keywords

    def add_random_key(self, options: Mapping[str, Any], key: Any) -> Mapping[str, Any]:
        """Add the random key to the arguments, if a key exists or the layer needs a key."""
        needs_key = key is not None or "key" in self.required
        return {**options, "key": key} if needs_key else options

    def unpacks_tuples(self) -> bool:
        """Return whether a tuple is unpacked into the layer's positional arguments."""
        return self.has_var_positional or len(self.positional) > 1


# Assumed arguments of C functions without a signature.
_SINGLE_ARGUMENT = AcceptedArguments(("x",), ("x",), frozenset())
VARIADIC_PARAMETER_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


# Signatures by class of module; containers are excluded.
_accepted_arguments_by_class: dict[type[Any], AcceptedArguments] = {}


# Signatures of plain functions (index 0), and of methods without `self` (index 1).
_accepted_arguments_by_function: tuple[WeakKeyDictionary[Any, AcceptedArguments], ...] = (
    WeakKeyDictionary(),
    WeakKeyDictionary(),
)


def find_accepted_args(layer: Any) -> AcceptedArguments:
    """Return the arguments that a layer, or any layer of a container, accepts."""
    return _accepted_arguments_by_class.get(layer.__class__) or _inspect_callable(layer)


def _inspect_callable(layer: Any) -> AcceptedArguments:
    """Inspect a function, a container, or a module of a new class."""
    if isinstance(layer, Module):
        return _inspect_module(layer, type(layer))
    if isinstance(layer, FunctionType):
        return _inspect_function(layer, 0)
    if isinstance(layer, MethodType) and isinstance(layer.__func__, FunctionType):
        return _inspect_function(layer.__func__, 1)
    return _read_signature(layer, 0)


def _inspect_module(module: Any, kind: Any) -> AcceptedArguments:
    """Return the arguments that a module accepts in ``__call__`` or ``forward``."""
    function = kind.__call__
    if function in ARGUMENT_FINDERS:
        return ARGUMENT_FINDERS[function](module)
    if function is Module.__call__:
        function = getattr(kind, "forward", function)
    _accepted_arguments_by_class[kind] = _read_signature(function, 1)
    return _accepted_arguments_by_class[kind]


def _inspect_function(function: FunctionType, skip: int) -> AcceptedArguments:
    """Return the arguments that a function accepts, from the cache if possible."""
    cache = _accepted_arguments_by_function[skip]
    accepted = cache.get(function)
    if accepted is None:
        accepted = cache[function] = _read_signature(function, skip)
    return accepted


def _read_signature(function: Any, skip: int) -> AcceptedArguments:
    """Read a function's arguments, except the first `skip`, from its signature."""
    try:
        args = list(inspect.signature(function).parameters.values())[skip:]
    except (ValueError, TypeError):  # a C function may have no signature
        return _SINGLE_ARGUMENT
    named = [arg for arg in args if arg.kind not in VARIADIC_PARAMETER_KINDS]
    by_index = [arg.name for arg in named if arg.kind != arg.KEYWORD_ONLY]
    by_name = [arg.name for arg in named if arg.kind != arg.POSITIONAL_ONLY]
    unannotated = [arg.replace(annotation=arg.empty) for arg in args]
    positional = tuple(name for name in by_index if name != "key")
    required = tuple(arg.name for arg in named if arg.default is arg.empty)
    return AcceptedArguments(
        positional,
        required,
        frozenset(by_name),
        any(arg.kind == arg.VAR_POSITIONAL for arg in args),
        any(arg.kind == arg.VAR_KEYWORD for arg in args),
        str(inspect.Signature(unannotated)),
        required == positional[:1],
    )


def unpack_output(output: object, accepted: AcceptedArguments) -> tuple[Any, ...]:
    """Unpack a layer's output into the positional arguments of the next layer."""
    if type(output) is not tuple or not accepted.unpacks_tuples():
        return (cast("Any", output),)
    return cast("tuple[Any, ...]", output)


def call_layer(
    layer: Any,
    label: tuple[str, object],
    accepted: AcceptedArguments,
    values: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Any:
    """Call a layer with the arguments that it accepts; errors name the layer."""
    options = {name: keywords[name] for name in keywords if accepted.accepts(name)}
    if problem := _find_argument_error(accepted, values, options):
        raise ArgumentError(f"{_format_layer(layer, label)} {problem}")
    # All values that follow a keyword argument must be passed by keyword, too.
    free = [name for name in accepted.positional if name not in options]
    taken = [at for at, name in enumerate(accepted.positional) if name in options]
    count = min([*taken, len(values)])  # number of positional values
    keyword_names = zip(free[count:], values[count:], strict=False)
    values, options = values[:count], {**dict(keyword_names), **options}
    try:
        return layer(*values, **options)
    except Exception as error:
        add_layer_note(error, layer, label)
        raise


def _find_argument_error(
    accepted: AcceptedArguments, values: Sequence[Any], options: Mapping[str, Any]
) -> str | None:
    """Return a message if arguments are missing or too many; otherwise None."""
    free = [name for name in accepted.positional if name not in options]
    filled = {*free[: len(values)], *options}
    missing = [name for name in accepted.required if name not in filled]
    if missing:
        return (
            f"also needs {' and '.join(missing)}; pass {missing[0]}=... in the call, or "
            "let the previous layer return a tuple"
        )
    takes_rest = accepted.has_var_positional and len(free) == len(accepted.positional)
    if len(values) <= len(free) or takes_rest:
        return None
    return (
        f"takes {len(free)} positional arguments here, got {len(values)}; let the layer "
        "before it return fewer, or insert a function that selects some"
    )


def add_layer_note(error: Exception, layer: Any, label: tuple[str, object]) -> None:
    """Add a note to an error: the layer that raised the error."""
    error.add_note(f"in {_format_layer(layer, label)}")


def _format_layer(layer: Any, label: tuple[str, object]) -> str:
    """Return a label for a layer, such as ``layer 1 of Sequential (Linear(x))``."""
    where, name = label
    signature = find_accepted_args(layer).signature
    return f"{where.format(name)} ({get_layer_name(layer)}{signature})"


def get_layer_name(layer: Any) -> str:
    """Return the name of a function, or of the class of a module."""
    return getattr(layer, "__name__", type(layer).__name__)
