"""Operations: default implementations, gradient rules, shape rules and NumPy versions."""

from seqloom.tensor._elements import Array
from seqloom.tensor._families._rule import ALL, ArrayFunctions, Functions, Rule
from seqloom.tensor._families._table import EXTENSION, REQUIRED, RULES

__all__ = [
    "ALL",
    "EXTENSION",
    "REQUIRED",
    "RULES",
    "Array",
    "ArrayFunctions",
    "Functions",
    "Rule",
]
