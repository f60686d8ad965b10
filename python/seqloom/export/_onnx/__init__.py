"""An exported graph in the operators of ONNX."""
