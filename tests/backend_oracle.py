"""Compare functions of backends with PyTorch on given inputs and options."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest
import torch

from seqloom.tensor import backend
from strict_example import strict_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

BACKEND_NAMES = ["strict", "numpy", "torch", "jax"]
FLOAT_DTYPES = ["float32", "float64"]


def found(name: str) -> Any:
    """Return a backend by name; "strict" is the example backend over array_api_strict."""
    return strict_backend() if name == "strict" else backend(name, num_threads=1)


@contextmanager
def wide(name: str, dtype: str) -> Generator[None]:
    """Enable 64-bit types in JAX if the dtype needs them."""
    if name != "jax":
        yield
        return
    with jax.enable_x64(dtype == "float64"):
        yield


@dataclass(frozen=True)
class Case:
    """One call of a backend function.

    Attributes:
        name: Name of the function.
        shapes: Shapes of random float arrays, or arrays with fixed values.
        oracle: The same function in PyTorch, on float64 tensors, with the same options.
        options: Keyword arguments.
        label: Name that distinguishes this call from other calls of the same function.
    """

    name: str
    shapes: tuple[Any, ...]
    oracle: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    label: str = ""

    def arrays(self, dtype: str) -> list[Any]:
        """Return the arguments as NumPy arrays."""
        rng = np.random.default_rng(7)
        return [made(rng, shape, dtype) for shape in self.shapes]


def made(rng: np.random.Generator, shape: Any, dtype: str) -> Any:
    """Return normally distributed numbers of a shape; return other values unchanged."""
    if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape):
        return rng.standard_normal(shape).astype(dtype)
    return shape


def given(b: Any, arg: Any) -> Any:
    """Convert arrays to arrays of the backend."""
    if isinstance(arg, np.ndarray):
        whole = arg.dtype == np.int64 and b.name == "jax"
        return b.asarray(arg.astype(np.int32) if whole else arg)
    return [given(b, each) for each in arg] if isinstance(arg, list) else arg


def wanted(arg: Any) -> Any:
    """Convert NumPy arrays to PyTorch tensors; keep other values."""
    if isinstance(arg, np.ndarray):
        tensor = torch.from_numpy(arg.copy())
        return tensor.double() if tensor.is_floating_point() else tensor
    return [wanted(each) for each in arg] if isinstance(arg, list) else arg


def flat(out: Any) -> list[Any]:
    """Return all arrays of a nested result as a list."""
    return (
        [a for each in out for a in flat(each)] if isinstance(out, (list, tuple)) else [out]
    )


def assert_agrees(b: Any, case: Case, dtype: str) -> None:
    """Call the backend and PyTorch, and compare values and float dtypes of the results."""
    arrays = case.arrays(dtype)
    out = flat(getattr(b, case.name)(*(given(b, each) for each in arrays), **case.options))
    expected = flat(case.oracle(*(wanted(each) for each in arrays), **case.options))
    for got, truth in zip(out, expected, strict=False):
        if truth is None:
            continue
        values, theirs = np.asarray(b.to_numpy(got)), truth.detach().numpy()
        assert values.shape == theirs.shape
        if values.dtype.kind == "f":
            assert values.dtype == np.dtype(dtype)
        tolerance = 2e-5 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(values, theirs, rtol=tolerance, atol=tolerance)


def pulled(
    forward: Callable[..., Any], *, skip: int = 1, by: int | None = None
) -> Callable[..., Any]:
    """Return PyTorch's gradient function; its first argument is the output's gradient."""

    def call(grad: Any, *args: Any, **options: Any) -> Any:
        leaves = [
            each.clone().requires_grad_()
            if isinstance(each, torch.Tensor) and each.is_floating_point()
            else each
            for each in args
        ]
        out = forward(*leaves, **options)
        follow = [
            each for each in leaves if isinstance(each, torch.Tensor) and each.requires_grad
        ]
        return torch.autograd.grad(out, follow[:by], grad, allow_unused=True)

    return call


everywhere = pytest.mark.parametrize("name", BACKEND_NAMES)
in_both = pytest.mark.parametrize("dtype", FLOAT_DTYPES)
