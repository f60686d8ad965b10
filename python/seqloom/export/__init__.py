"""Trained models for where there is no Python: a folder without code, or ONNX."""

from seqloom.export._calls import Input
from seqloom.export._save import onnx, save

__all__ = ["Input", "onnx", "save"]
