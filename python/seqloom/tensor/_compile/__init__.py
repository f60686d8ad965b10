"""Compiles a training step: captures it once, and runs its program many times."""

from seqloom.tensor._graph import Graph, Operation, Value

__all__ = ["Graph", "Operation", "Value"]
