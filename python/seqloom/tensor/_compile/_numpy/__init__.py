"""Conversion of a graph to a NumPy program, in three steps: groups, layout, program."""

from seqloom.tensor._compile._numpy._program import NumPyProgram

__all__ = ["NumPyProgram"]
