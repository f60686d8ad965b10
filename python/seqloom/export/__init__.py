"""Export trained models for use without Python, as a folder without code or as ONNX."""

from seqloom.export._save import onnx, save
from seqloom.export._trace import Input

__all__ = ["Input", "onnx", "save"]
