"""A step as one program: captured once, planned, run many times."""

from seqloom.tensor._graph import Graph, Operation, Value

__all__ = ["Graph", "Operation", "Value"]
