"""Trained models for where there is no Python: a folder without code, or ONNX."""

from seqloom.export._inputs import Input
from seqloom.export._save import save

__all__ = ["Input", "save"]
