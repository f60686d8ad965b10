"""Groups: settings of an optimiser for the parameters that a pattern matches."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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
