"""The backends that the suite runs over; one that is not installed is skipped, by name."""

from collections.abc import Generator
from contextlib import contextmanager
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
    """PyTorch on a CUDA device, with whole float32 products as on a processor."""
    torch: Any = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device, and this machine has none")
    torch.backends.cudnn.allow_tf32 = False
    return sl.tensor.backend(CARD)


@contextmanager
def wide(name: str) -> Generator[None]:
    """Lets jax have 64-bit numbers for as long as the block lasts."""
    if name != "jax":
        yield
        return
    jax: Any = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield
