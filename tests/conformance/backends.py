"""The backends that the suite runs over; one that is not installed is skipped, by name."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

import cuda_device
import seqloom as sl
from strict_example import strict_backend

NAMES = ("numpy", "torch", "jax", "strict", *cuda_device.NAMES)


def backend(name: str) -> sl.tensor.Backend:
    """Return the backend of that name; "strict" is the example over array_api_strict."""
    if name == "strict":
        return _strict()
    if name in cuda_device.NAMES:
        return cuda_device.backend(name)
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name)


def _strict() -> sl.tensor.Backend:
    pytest.importorskip("array_api_strict")
    return strict_backend()


@contextmanager
def wide(name: str) -> Generator[None]:
    """Allow 64-bit numbers in jax, and whole float32 on a device, within the block."""
    with ExitStack() as stack:
        if name in cuda_device.NAMES:
            stack.enter_context(cuda_device.whole_float32(name))
        if name.startswith("jax"):
            jax: Any = pytest.importorskip("jax")
            stack.enter_context(jax.enable_x64(True))
        yield
