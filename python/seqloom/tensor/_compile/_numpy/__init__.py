"""A graph as a NumPy program: graph -> groups -> layout -> program."""

from seqloom.tensor._compile._numpy._program import NumPyProgram

__all__ = ["NumPyProgram"]
