"""Records of modules and optimisers, and their files."""

from seqloom.record._record import Record, load
from seqloom.record._safetensors import LazyArray, Safetensors

__all__ = ["LazyArray", "Record", "Safetensors", "load"]
