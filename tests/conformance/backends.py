"""The backends that the suite runs over; one that is not installed is skipped, by name."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

import seqloom as sl
from strict_example import strict_backend

CARD = "torch:cuda"
NAMES = ("numpy", "torch", "jax", "strict", CARD)


def backend(name: str) -> sl.tensor.Backend:
    """The backend of that name; "strict" is the example over array_api_strict."""
    if name == "strict":
        return _strict()
    if name == CARD:
        return _card()
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name)


def _strict() -> sl.tensor.Backend:
    pytest.importorskip("array_api_strict")
    return strict_backend()


def _card() -> sl.tensor.Backend:
    """PyTorch on a CUDA device."""
    torch: Any = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device, and this machine has none")
    return sl.tensor.backend(CARD)


def wide(name: str) -> AbstractContextManager[object]:
    """Lets jax have 64-bit numbers, and cuDNN whole float32 ones, while the block lasts."""
    if name == CARD:
        torch: Any = pytest.importorskip("torch")
        return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    if name != "jax":
        return nullcontext()
    jax: Any = pytest.importorskip("jax")
    return jax.enable_x64(True)
