"""The backends that the suite runs over; one that is not installed is skipped, by name."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

import seqloom as sl
from strict_example import strict_backend

NAMES = ("numpy", "torch", "jax", "strict")


def backend(name: str) -> sl.tensor.Backend:
    """The backend of that name; "strict" is the example over array_api_strict."""
    if name == "strict":
        return _strict()
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name)


def _strict() -> sl.tensor.Backend:
    pytest.importorskip("array_api_strict")
    return strict_backend()


@contextmanager
def wide(name: str) -> Generator[None]:
    """Lets jax have 64-bit numbers for as long as the block lasts."""
    if name != "jax":
        yield
        return
    jax: Any = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield
