"""Run exported models without Python, compared with ONNX Runtime."""

from benchmarks.run._story import main

__all__ = ["main"]
