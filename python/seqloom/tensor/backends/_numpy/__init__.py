"""NumPy as a backend."""

from seqloom.tensor.backends._numpy._backend import NumPyBackend

__all__ = ["NumPyBackend"]
