"""Scopes: which tensors are made inside, who still refers to them, and their release."""

from seqloom.tensor._scope._scope import scope

__all__ = ["scope"]
