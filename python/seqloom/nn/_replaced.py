"""Refuses values that would take the place of a parameter or a buffer."""

from __future__ import annotations

from seqloom.errors import ArgumentError
from seqloom.nn._hidden import list_declared
from seqloom.nn._parts import is_module, list_own
from seqloom.nn._stored import Param, Stored


def require_part_again(owner: object, name: str, value: object) -> None:
    """Refuses plain data where a part was; None, another part or a module may come."""
    before = list_own(owner).get(name)
    if not isinstance(before, Stored) or value is None:
        return
    is_part = isinstance(value, Stored) or is_module(value)
    if is_part or type(value).__name__ in list_declared(type(owner), name):
        return
    kind = "Param" if isinstance(before, Param) else "Buffer"
    lost = "neither trained nor saved" if kind == "Param" else "not saved"
    raise ArgumentError(
        f"{type(owner).__name__}.{name} is a {kind}; a {type(value).__name__} in its place "
        f"would be {lost}. Set its values: module.{name}.assign(values); or assign another "
        f"sl.nn.{kind}, or None to remove it"
    )
