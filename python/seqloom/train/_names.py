"""Names of functions and objects, so that a resumed run can tell another one."""

from typing import Any


def name_of(value: Any) -> str:
    """Gives module and name of a function, or of the class of another object."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{value.__module__}.{name}"
