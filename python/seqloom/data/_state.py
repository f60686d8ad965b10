"""Saved states of loaders, samplers and streams, checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seqloom._arguments import as_integer, quote
from seqloom.errors import ArgumentError

VERSION = 1


def check_state(state: Any, identity: dict[str, Any], *, owner: str = "loader") -> None:
    """Refuses a state that is incomplete, or that another object has saved."""
    names = ["version", "epoch", "position", *identity]
    if not isinstance(state, Mapping) or any(name not in state for name in names):
        raise ArgumentError(
            f"a {owner}'s state is a dict with {', '.join(names)}, as state_dict() returns "
            f"it; got {quote(state)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    if state["version"] != VERSION:
        raise ArgumentError(
            f"the state has version {state['version']!r}, but this version of seqloom "
            f"reads version {VERSION}"
        )
    for name, value in identity.items():
        if state[name] != value:
            raise ArgumentError(
                f"the state is of a {owner} with {name} {state[name]!r}, but this one has "
                f"{name} {value!r}"
            )
    check_integer("the state's epoch", state["epoch"])
    check_integer("the state's position", state["position"], most=identity.get("size"))


def check_integer(name: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Converts an integer of Python or NumPy, from `least` to `most`, to ``int``."""
    try:
        number = as_integer(name, value, least=least)
    except ArgumentError:
        if most is None:
            raise
        number = None
    if most is not None and (number is None or number > most):
        raise ArgumentError(
            f"{name} must be an integer from {least} to {most}, got {quote(value)}"
        ) from None
    return 0 if number is None else number
