"""The element types of an exported graph."""

from __future__ import annotations

from seqloom.errors import ExportError

DTYPES = ("bool", "uint8", "int32", "int64", "uint32", "float32", "float64")


def check_dtype(name: object, what: str) -> str:
    """Gives the name of an element type; refuses one that readers do not know."""
    found = str(name)
    if found not in DTYPES:
        raise ExportError(
            f"{what} has the element type {found}; an exported model has "
            f"{', '.join(DTYPES)} only: move the network by "
            'model.to("numpy", "float32") and export it then'
        )
    return found
