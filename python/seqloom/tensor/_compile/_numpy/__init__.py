"""Graphs on NumPy's arrays: fused groups, memory laid out before, no allocation."""

from seqloom.tensor._compile._numpy._plan import plan

__all__ = ["plan"]
