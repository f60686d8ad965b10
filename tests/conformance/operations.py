"""The PyTorch samples with which each function of a backend is tested."""

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
FACTS: dict[str, str] = _SKIPS["facts"]  # functions without computed arrays
WITHOUT_SAMPLES: dict[str, str] = _SKIPS["operations"]
# Library -> skipped function, data type or "function-dtype" -> reason.
NAMESPACE: dict[str, dict[str, str]] = _SKIPS["namespace"]
# Library -> skipped function or row of special_values.py -> reason.
SPECIAL: dict[str, dict[str, str]] = _SKIPS["special"]
REASONS: dict[str, str] = _SKIPS["samples"]


@cache
def functions() -> list[str]:
    """Return the names of all backend functions that compute arrays."""
    backend: Any = sl.tensor.Backend
    bodies = {name for name in dir(backend) if callable(getattr(backend, name, None))}
    names = {name for name in {*OPERATIONS, *bodies} if not name.startswith("_")}
    return sorted(names - set(FACTS))
