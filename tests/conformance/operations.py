"""Every function of a backend beside torch's of the same meaning."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import seqloom as sl
from conformance.call import Operation
from conformance.table.elementwise import ELEMENTWISE
from conformance.table.layers import LAYERS
from conformance.table.places import PLACES
from conformance.table.products import PRODUCTS
from conformance.table.reductions import REDUCTIONS
from conformance.table.shapes import SHAPES
from conformance.table.windows import WINDOWS
from seqloom.tensor._operations import OPERATIONS

TABLE: dict[str, Operation] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPES,
    **PRODUCTS,
    **PLACES,
    **WINDOWS,
    **LAYERS,
}

_SKIPS = tomllib.loads(Path(__file__).with_name("skips.toml").read_text("utf-8"))
FACTS: dict[str, str] = _SKIPS["facts"]  # no arrays are computed
WITHOUT_SAMPLES: dict[str, str] = _SKIPS["operations"]
# By library: a function, an element type, or both with a hyphen; and why it is left out.
NAMESPACE: dict[str, dict[str, str]] = _SKIPS["namespace"]
# By library: a function, or a function and a row of special_values.py; and why.
SPECIAL: dict[str, dict[str, str]] = _SKIPS["special"]
REASONS: dict[str, str] = _SKIPS["samples"]


@cache
def functions() -> list[str]:
    """Return the names of all functions of a backend's table that compute arrays."""
    backend: Any = sl.tensor.Backend
    bodies = {name for name in dir(backend) if callable(getattr(backend, name, None))}
    names = {name for name in {*OPERATIONS, *bodies} if not name.startswith("_")}
    return sorted(names - set(FACTS))
