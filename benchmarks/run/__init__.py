"""Run exported models without Python, compared with ONNX Runtime."""

from benchmarks.run._suite import main

__all__ = ["main"]
