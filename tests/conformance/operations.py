"""The PyTorch samples with which each function of a backend is tested."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import seqloom as sl
from conformance.call import Operation
from conformance.table.elementwise import ELEMENTWISE_OPERATIONS
from conformance.table.indexing import INDEX_OPERATIONS
from conformance.table.layers import LAYER_OPERATIONS
from conformance.table.products import PRODUCT_OPERATIONS
from conformance.table.reductions import REDUCTION_OPERATIONS
from conformance.table.shapes import SHAPE_OPERATIONS
from conformance.table.windows import WINDOW_OPERATIONS
from seqloom.tensor._operations import OPERATIONS

OPERATION_TABLE: dict[str, Operation] = {
    **ELEMENTWISE_OPERATIONS,
    **REDUCTION_OPERATIONS,
    **SHAPE_OPERATIONS,
    **PRODUCT_OPERATIONS,
    **INDEX_OPERATIONS,
    **WINDOW_OPERATIONS,
    **LAYER_OPERATIONS,
}

_SKIP_TABLES = tomllib.loads(Path(__file__).with_name("skips.toml").read_text("utf-8"))
NON_ARRAY_FUNCTIONS: dict[str, str] = _SKIP_TABLES[
    "facts"
]  # functions that do not compute arrays
SKIPPED_OPERATIONS: dict[str, str] = _SKIP_TABLES["operations"]
# Library -> skipped function, data type or "function-dtype" -> reason.
SKIPPED_NAMESPACE_CALLS: dict[str, dict[str, str]] = _SKIP_TABLES["namespace"]
# Library -> skipped function or row of special_values.py -> reason.
SKIPPED_SPECIAL_VALUES: dict[str, dict[str, str]] = _SKIP_TABLES["special"]
SKIPPED_SAMPLES: dict[str, str] = _SKIP_TABLES["samples"]


@cache
def functions() -> list[str]:
    """Return the names of all backend functions that compute arrays."""
    backend: Any = sl.tensor.Backend
    bodies = {name for name in dir(backend) if callable(getattr(backend, name, None))}
    names = {name for name in {*OPERATIONS, *bodies} if not name.startswith("_")}
    return sorted(names - set(NON_ARRAY_FUNCTIONS))
