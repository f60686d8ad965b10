"""Exported models without Python, beside ONNX Runtime: `make bench SUITE=run`."""

from benchmarks.run._story import main

__all__ = ["main"]
