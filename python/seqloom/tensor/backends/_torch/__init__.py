"""PyTorch as a backend."""

from seqloom.tensor.backends._torch._backend import TorchBackend

__all__ = ["TorchBackend"]
