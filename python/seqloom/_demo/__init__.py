"""The demonstration's data: 3,186 primate splice junctions."""

from seqloom._demo._path import path

__all__ = ["path"]
