"""The Array API standard's namespace over tensors of one backend."""

from seqloom.tensor._namespace._namespace import ArrayNamespace, namespace_of

__all__ = ["ArrayNamespace", "namespace_of"]
