"""How each operation is differentiated: what it keeps, and how a gradient goes back."""

from seqloom.tensor._rules._all import RULES, Rule

__all__ = ["RULES", "Rule"]
