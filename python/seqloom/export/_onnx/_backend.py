"""The backend that a network is traced for: few functions, which ONNX has operators for."""

from __future__ import annotations

from seqloom.tensor import Backend
from seqloom.tensor._operations import OPERATIONS
from seqloom.tensor.backends._numpy import NumPyBackend

# All others but the standard's are recorded as the parts of their default bodies.
_KEPT = frozenset(
    {
        *("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "max_pool1d"),
        *("embedding", "gelu", "gru", "layer_norm", "linear", "log_softmax", "logsumexp"),
        *("erf", "lstm", "relu", "sigmoid", "softmax"),
    }
)


class PrimitiveBackend(NumPyBackend):
    """NumPy's backend with the default bodies of what ONNX has no operator for."""


def _reset() -> None:
    """Gives the backend these bodies."""
    for name, files in OPERATIONS.items():
        if files.has_default and name != "index" and name not in _KEPT:
            setattr(PrimitiveBackend, name, getattr(Backend, name))


_reset()
