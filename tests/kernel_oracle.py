"""Helpers of the kernel tests: random arrays, and PyTorch in float64 as reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Array = NDArray[Any]

FLOAT_DTYPES = [np.float32, np.float64]
TOLERANCE_OF_DTYPE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-13}

both_dtypes = pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=["float32", "float64"])
both_threads = pytest.mark.parametrize("threads", [1, 2])


def normal(shape: tuple[int, ...], dtype: type, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def leaf(array: Array) -> torch.Tensor:
    """Convert to float64, because the reference must be more precise than the kernel."""
    import torch  # other tests run without torch

    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


def assert_close(found: Array, expected: torch.Tensor | None) -> None:
    expected_array = expected.detach().numpy()
    assert found.shape == expected_array.shape
    if not found.size:
        return
    scale = max(1.0, float(np.abs(expected_array).max()))
    error = float(np.abs(found - expected_array).max())
    assert error <= TOLERANCE_OF_DTYPE[found.dtype] * scale
