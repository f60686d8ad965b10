"""ONNX files as modules."""
