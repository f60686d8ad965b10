"""Convert exported graphs to ONNX operators."""
