"""How each operation is differentiated: what it keeps, and how a gradient goes back."""

from seqloom.tensor._rules._rule import ALL, Rule
from seqloom.tensor._rules._table import RULES

__all__ = ["ALL", "RULES", "Rule"]
