"""Example data: 3,186 primate splice junctions, and simulated genotypes."""

from seqloom._demo._path import example_path

__all__ = ["example_path"]
