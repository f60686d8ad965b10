"""Which shapes and dtypes each function gives, without computing it."""

from seqloom.tensor._compile._shapes._call import Call
from seqloom.tensor._compile._shapes._table import RULES, find_kinds

__all__ = ["RULES", "Call", "find_kinds"]
