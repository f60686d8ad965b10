"""Keys of ``x[key]`` in which numbers and arrays stand apart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


def numbers_to_arrays(parts: list[Any]) -> list[Any]:
    """Numbers beside arrays as arrays, where slices stand between them.

    To NumPy a number is an array there, and the axes of arrays that stand apart come
    first in the result; torch takes numbers away before it looks for arrays.

    Args:
        parts: The parts of a key, as torch takes them.

    Returns:
        Parts that mean to torch what the given ones mean to NumPy.
    """
    arrays = [part for part in parts if isinstance(part, Tensor)]
    if not arrays or not any(type(part) is int for part in parts):
        return parts
    places = [at for at, each in enumerate(parts) if isinstance(each, (int, Tensor))]
    if all(after == before + 1 for before, after in pairwise(places)):
        return parts
    device = arrays[0].device
    return [
        torch.tensor([part], device=device) if type(part) is int else part for part in parts
    ]
