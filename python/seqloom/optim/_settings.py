"""Settings of optimisers: their checks, and groups of parameters with other settings."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from seqloom.errors import ArgumentError
from seqloom.tensor._leaves import make_hashable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend


class HasSettings(Protocol):
    """An optimiser, for a file that `Optimizer` imports."""

    states: tuple[str, ...]

    def list_settings(self) -> list[Any]:
        """Returns the values of all settings."""
        ...


Rule = TypeVar("Rule", bound=HasSettings)


@dataclass(frozen=True, eq=False)
class ParameterGroup:
    """Patterns of paths, with an optimiser that has the settings of these parameters."""

    patterns: tuple[str, ...]
    lr_factor: float
    rule: Any  # an optimiser; its own states and counts stay empty

    def matches(self, path: str) -> bool:
        """Returns True if the path of a parameter matches one of the patterns."""
        return matches_any(path, self.patterns)

    def scale(self, lr: Any, backend: Backend) -> Any:
        """Returns the learning rate of the group: a number, or an array without axes."""
        if isinstance(lr, (int, float)):
            return lr * self.lr_factor
        return backend.multiply(lr, self.lr_factor)

    def describe(self) -> tuple[Any, ...]:
        """Returns what decides the program of a compiled step, as a hashable value."""
        return self.patterns, self.lr_factor, make_hashable(self.rule.list_settings())


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    """Returns True if the path of a parameter matches one of the patterns."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def make_variant(optimizer: Rule, settings: dict[str, Any]) -> Rule:
    """Makes an optimiser of the same class with some other settings."""
    kind = type(optimizer)
    names = [
        name for name in inspect.signature(kind).parameters if hasattr(optimizer, name)
    ]
    if unknown := sorted(settings.keys() - names):
        raise ArgumentError(
            f"{kind.__name__} has no setting {unknown[0]!r} for a group; expected one of "
            f"{', '.join(['lr_factor', *names])}"
        )
    return kind(**{name: getattr(optimizer, name) for name in names} | settings)


def require_matches(groups: Sequence[ParameterGroup], paths: list[str]) -> None:
    """Refuses a pattern that matches no parameter, which would be a misspelt one."""
    for pattern in (pattern for group in groups for pattern in group.patterns):
        if not any(fnmatchcase(path, pattern) for path in paths):
            raise ArgumentError(
                f"the group {pattern!r} matches no parameter of the model; its "
                f"parameters are {', '.join(paths[:8])}" + (", ..." if paths[8:] else "")
            )


def as_patterns(name: str, value: Any) -> tuple[str, ...]:
    """Returns patterns of paths; a string would count as one pattern for each letter."""
    is_list = isinstance(value, (tuple, list))
    if not is_list or not all(isinstance(part, str) for part in cast("Any", value)):
        raise ArgumentError(
            f'{name} must be a tuple of paths, such as ("*.bias",), got {value!r}'
        )
    return tuple(cast("Any", value))


def is_number(value: object, least: float = 0, below: float = math.inf) -> bool:
    """Returns True for a number in [least, below); NaN is not in it."""
    return isinstance(value, Real) and least <= float(value) < below


def require_setting(
    name: str, value: Any, *, above: float = -1, below: float = math.inf, count: int = 0
) -> Any:
    """Returns a setting; refuses a value that is not a number within the limits."""
    values: list[Any] = [value]
    if count and isinstance(value, (tuple, list)):
        values = [*cast("tuple[Any, ...]", value)]
    is_valid = all(is_number(v, below=below) and v > above for v in values)
    if not is_valid or len(values) != (count or 1):
        least = f"above {above}" if above >= 0 else "from 0 up"
        limit = "" if below == math.inf else f", below {below}"
        what = f"{count} numbers" if count else "a number"
        raise ArgumentError(f"{name} must be {what} {least}{limit}, got {value!r}")
    return tuple(values) if count else values[0]
