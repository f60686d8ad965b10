"""How a tensor prints: its values, and the facts about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._memory._released import Released

if TYPE_CHECKING:
    from seqloom.tensor._tensor import Tensor

# Larger tensors show only their edges.
_SHOWN = 100


def shown(tensor: Tensor) -> str:
    """The text of a tensor.

    Args:
        tensor: Any tensor, released ones and those of a step that is captured too.

    Returns:
        Values, shape, element type, device and backend.
    """
    if isinstance(tensor.raw, Released):
        return f"Tensor(released, made at {tensor.raw.line})"
    device = "" if tensor.device == "cpu" else f", device={tensor.device}"
    facts = f"shape={tensor.shape}, dtype={tensor.dtype}{device}, backend={tensor.backend}"
    return f"Tensor({_values(tensor)}, {facts})"


def _values(tensor: Tensor) -> str:
    """The values; of a captured tensor there are none yet."""
    import numpy as np

    if getattr(tensor.backend, "records", False):
        return "not yet computed"
    values = tensor.detach().numpy()
    return np.array2string(values, separator=", ", threshold=_SHOWN, prefix="Tensor(")
