"""Trained models for where there is no Python: a folder without code, or ONNX."""

from seqloom.export._save import onnx, save
from seqloom.export._trace import Input

__all__ = ["Input", "onnx", "save"]
