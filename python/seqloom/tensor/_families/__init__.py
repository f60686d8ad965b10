"""Operations: default implementations, gradient rules, shape rules and NumPy versions."""

from seqloom.tensor._elements import Array
from seqloom.tensor._families._rule import ALL_RESULTS, ArrayFunctions, Functions, Rule
from seqloom.tensor._families._table import EXTENSION_OPS, GRAD_RULES, REQUIRED_OPS

__all__ = [
    "ALL_RESULTS",
    "EXTENSION_OPS",
    "GRAD_RULES",
    "REQUIRED_OPS",
    "Array",
    "ArrayFunctions",
    "Functions",
    "Rule",
]
