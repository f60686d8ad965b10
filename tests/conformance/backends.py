"""Backends of the conformance tests; tests skip each library that is not installed."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

import cuda_device
import seqloom as sl
from strict_example import strict_backend

BACKEND_NAMES = ("numpy", "torch", "jax", "strict", *cuda_device.BACKEND_NAMES)


def backend(name: str) -> sl.tensor.Backend:
    """Return a backend by name; "strict" is an example backend over array_api_strict."""
    if name == "strict":
        return _strict()
    if name in cuda_device.BACKEND_NAMES:
        return cuda_device.backend(name)
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name)


def _strict() -> sl.tensor.Backend:
    pytest.importorskip("array_api_strict")
    return strict_backend()


@contextmanager
def wide(name: str) -> Generator[None]:
    """Enable 64-bit types in JAX, and disable TF32 on a CUDA device, within the block."""
    with ExitStack() as stack:
        if name in cuda_device.BACKEND_NAMES:
            stack.enter_context(cuda_device.whole_float32(name))
        if name.startswith("jax"):
            jax: Any = pytest.importorskip("jax")
            stack.enter_context(jax.enable_x64(True))
        yield
