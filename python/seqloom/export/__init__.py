"""Trained models for where there is no Python: a folder without code, or ONNX."""

from seqloom.export._inputs import Input
from seqloom.export._save import save
from seqloom.export._save_onnx import onnx

__all__ = ["Input", "onnx", "save"]
