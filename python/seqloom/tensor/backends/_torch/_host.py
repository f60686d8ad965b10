"""The NumPy backend's kernels on torch's memory: what both need, and nothing is copied."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from seqloom.tensor._backend import backend
from seqloom.tensor.backends._torch._dtype import to_numpy


def host() -> Any:
    """The backend that computes."""
    return backend("numpy", num_threads=torch.get_num_threads())


def array_of(x: Tensor) -> Any:
    """An array of torch's as NumPy's, on the same memory."""
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.int16).numpy().view(to_numpy(x.dtype))
    return x.detach().numpy()


def tensor_of(array: Any) -> Tensor:
    """An array of NumPy's as torch's, on the same memory."""
    if array.dtype == to_numpy(torch.bfloat16):
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)
