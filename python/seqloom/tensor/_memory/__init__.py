"""Memory by purpose: scopes, what is alive, and who holds what should be gone."""

from seqloom.tensor._memory._report import Memory, memory
from seqloom.tensor._memory._scope import scope

__all__ = ["Memory", "memory", "scope"]
