"""What a loader goes on from, checked before it does."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from seqloom.errors import ArgumentError

VERSION = 1


def check_state(state: Any, identity: dict[str, Any]) -> None:
    """Refuses a state that is not whole, or of another loader."""
    wanted = ["version", "epoch", "position", *identity]
    if not isinstance(state, Mapping) or any(name not in state for name in wanted):
        raise ArgumentError(
            f"a loader's state is a dict with {', '.join(wanted)}, as state_dict() gives "
            f"it; got {state!r}"
        )
    if state["version"] != VERSION:
        raise ArgumentError(
            f"the state has version {state['version']!r}, this seqloom reads {VERSION}"
        )
    _check_identity(state, identity)
    whole_number("the state's epoch", state["epoch"])
    whole_number("the state's position", state["position"], most=identity.get("size"))


def _check_identity(state: Any, identity: dict[str, Any]) -> None:
    """Refuses a state of other data, another seed or another order."""
    for name, value in identity.items():
        if state[name] != value:
            raise ArgumentError(
                f"the state is of a loader with {name} {state[name]!r}, "
                f"this one has {value!r}"
            )


def whole_number(name: str, value: Any, *, least: int = 0, most: int | None = None) -> None:
    """Refuses what is no whole number in a range."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool) or (most is not None and number > most):
        upper = "at least" if most is None else f"at most {most} and at least"
        raise ArgumentError(
            f"{name} must be a whole number, {upper} {least}; got {value!r}"
        )
