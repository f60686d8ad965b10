"""JAX as a backend."""

from seqloom.tensor.backends._jax._backend import JaxBackend

__all__ = ["JaxBackend"]
