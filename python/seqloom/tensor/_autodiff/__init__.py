"""A backend that follows what is computed on another one, and gives its gradients."""

from seqloom.tensor._autodiff._backward import backward, pull_back
from seqloom.tensor._autodiff._level import Autodiff
from seqloom.tensor._autodiff._node import Node, Traced, newest, record

__all__ = ["Autodiff", "Node", "Traced", "backward", "newest", "pull_back", "record"]
