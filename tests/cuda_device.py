"""Device of the CUDA tests: a CUDA device, or the CPU as a replacement.

``SEQLOOM_TEST_DEVICE=cpu`` runs these tests on the CPU, to find errors in the tests
without a CUDA device. Tests that need CUDA are skipped on the CPU.
"""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest

import seqloom as sl

DEVICE_NAME = os.environ.get("SEQLOOM_TEST_DEVICE", "cuda")
if DEVICE_NAME not in {"cuda", "cpu"}:
    raise ValueError(f"SEQLOOM_TEST_DEVICE must be cuda or cpu, got {DEVICE_NAME!r}")

TORCH, JAX = f"torch:{DEVICE_NAME}", f"jax:{DEVICE_NAME}"
BACKEND_NAMES = (TORCH, JAX)
NO_DEVICE_REASON = "needs a CUDA device, and this machine has none"
CUDA_ONLY_REASON = "needs a CUDA device, and SEQLOOM_TEST_DEVICE is cpu"


@cache
def find_reason(name: str) -> str:
    """Return why a backend cannot be used here; empty if it can."""
    library = name.partition(":")[0]
    if find_spec(library) is None:
        return f"{library} is not installed"
    try:
        sl.tensor.backend(name)
    except sl.errors.BackendError:
        return (
            NO_DEVICE_REASON
            if library == "torch"
            else f"{NO_DEVICE_REASON} that jax can use"
        )
    return ""


def backend(name: str) -> sl.tensor.Backend:
    """Return the backend on the device; skip the test if it cannot be used here."""
    if reason := find_reason(name):
        pytest.skip(reason)
    return sl.tensor.backend(name)


@contextmanager
def whole_float32(name: str) -> Generator[None]:
    """Compute products and convolutions in full float32; a GPU may otherwise use TF32."""
    with ExitStack() as stack:
        if name.startswith("torch"):
            torch: Any = pytest.importorskip("torch")
            # The attribute cannot be set after PyTorch's test samples were imported.
            stack.enter_context(torch.backends.cudnn.flags(enabled=True, allow_tf32=False))
        if name.startswith("jax"):
            jax: Any = pytest.importorskip("jax")
            stack.enter_context(jax.default_matmul_precision("highest"))
        yield


_reason = find_reason(TORCH)
on_device = pytest.mark.skipif(bool(_reason), reason=_reason or NO_DEVICE_REASON)
on_cuda = pytest.mark.skipif(
    DEVICE_NAME == "cpu" or bool(_reason),
    reason=CUDA_ONLY_REASON if DEVICE_NAME == "cpu" else NO_DEVICE_REASON,
)
# Runs a test on both libraries. The function `backend` imports jax only if a test needs
# it.
in_both_libraries = pytest.mark.parametrize("name", BACKEND_NAMES)
