"""A backend that records what is computed on another one, and computes gradients."""

from seqloom.tensor._autodiff._backward import pull_back
from seqloom.tensor._autodiff._level import Autodiff

__all__ = ["Autodiff", "pull_back"]
