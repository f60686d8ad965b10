"""The operations, family by family: default bodies, gradients, shapes, NumPy's kernels."""

from seqloom.tensor._element_types import Array
from seqloom.tensor._families._functions import ArrayFunctions
from seqloom.tensor._families._rule import ALL, Rule
from seqloom.tensor._families._table import EXTENSION, REQUIRED, RULES

__all__ = [
    "ALL",
    "EXTENSION",
    "REQUIRED",
    "RULES",
    "Array",
    "ArrayFunctions",
    "Rule",
]
