"""Convolutions, as blocks of matrix products in Rust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._product import filled
from seqloom.tensor.backends._numpy._window import Geometry, flat, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]
    Size = int | Sequence[int]


def conv1d(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    out: Floats | None = None,
    **options: Any,
) -> Floats:
    """Cross-correlation: ``(n, c, l)``, ``(o, c / groups, k)`` to ``(n, o, l')``."""
    return _convolve(b, x, weight, bias, out=out, **options)


def conv2d(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    out: Floats | None = None,
    **options: Any,
) -> Floats:
    """The same along two axes: ``(n, c, h, w)`` to ``(n, o, h', w')``."""
    return _convolve(b, x, weight, bias, out=out, **options)


def conv1d_input_grad(
    b: Backend,
    grad: Floats,
    weight: Floats,
    shape: Sequence[int],
    *,
    out: Floats | None = None,
    **options: Any,
) -> Floats:
    """The derivative of ``conv1d`` by its input, which had `shape`."""
    return _input_grad(b, grad, weight, shape, out=out, **options)


def conv2d_input_grad(
    b: Backend,
    grad: Floats,
    weight: Floats,
    shape: Sequence[int],
    *,
    out: Floats | None = None,
    **options: Any,
) -> Floats:
    """The derivative of ``conv2d`` by its input, which had `shape`."""
    return _input_grad(b, grad, weight, shape, out=out, **options)


def conv1d_weight_grad(
    b: Backend,
    x: Floats,
    grad: Floats,
    shape: Sequence[int],
    *,
    out: tuple[Floats, Floats] | None = None,
    **options: Any,
) -> tuple[Floats, Floats]:
    """The derivatives of ``conv1d`` by its weight, of `shape`, and by its bias."""
    return _weight_grad(b, x, grad, shape, out=out, **options)


def conv2d_weight_grad(
    b: Backend,
    x: Floats,
    grad: Floats,
    shape: Sequence[int],
    *,
    out: tuple[Floats, Floats] | None = None,
    **options: Any,
) -> tuple[Floats, Floats]:
    """The derivatives of ``conv2d`` by its weight, of `shape`, and by its bias."""
    return _weight_grad(b, x, grad, shape, out=out, **options)


def conv_transpose1d(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    out: Floats | None = None,
    **options: Any,
) -> Floats:
    """Torch's ``conv_transpose1d``: weight ``(c, o / groups, k)``."""
    return _transposed(b, x, weight, bias, out=out, **options)


def conv_transpose2d(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    out: Floats | None = None,
    **options: Any,
) -> Floats:
    """Torch's ``conv_transpose2d``: weight ``(c, o / groups, kh, kw)``."""
    return _transposed(b, x, weight, bias, out=out, **options)


def _convolve(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None,
    *,
    groups: int = 1,
    out: Floats | None = None,
    **steps: Size,
) -> Floats:
    """Runs the kernel into a new array, or into `out`."""
    geometry = Geometry.of(x.ndim - 2, **steps)
    if out is None:
        places = geometry.windows(x.shape[2:], weight.shape[2:])
        out = fresh((x.shape[0], weight.shape[0], *places), x.dtype)
    args = flat(x), flat(weight), bias, flat(out), geometry.steps, groups
    _native.conv2d(*args, b.threads)
    return out


def _input_grad(
    b: Backend,
    grad: Floats,
    weight: Floats,
    shape: Sequence[int],
    *,
    groups: int = 1,
    out: Floats | None = None,
    **steps: Size,
) -> Floats:
    """Adds each window's gradient where the window stands."""
    geometry = Geometry.of(grad.ndim - 2, **steps)
    out = fresh(tuple(shape), grad.dtype) if out is None else out
    args = flat(grad), flat(weight), flat(out), geometry.steps, groups
    _native.conv2d_input_grad(*args, b.threads)
    return out


def _weight_grad(
    b: Backend,
    x: Floats,
    grad: Floats,
    shape: Sequence[int],
    *,
    groups: int = 1,
    out: tuple[Floats, Floats] | None = None,
    **steps: Size,
) -> tuple[Floats, Floats]:
    """Sums over samples and windows."""
    geometry = Geometry.of(grad.ndim - 2, **steps)
    if out is None:
        out = fresh(tuple(shape), grad.dtype), np.empty(shape[0], grad.dtype)
    args = flat(x), flat(grad), flat(out[0]), out[1], geometry.steps, groups
    _native.conv2d_weight_grad(*args, b.threads)
    return out


def _transposed(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None,
    *,
    output_padding: Size = 0,
    groups: int = 1,
    out: Floats | None = None,
    **steps: Size,
) -> Floats:
    """The derivative of a convolution by its input, used as a layer."""
    geometry = Geometry.of(x.ndim - 2, **steps)
    extra = pair(output_padding, x.ndim - 2)
    if any(more >= step for more, step in zip(extra, geometry.stride, strict=True)):
        steps |= {"output_padding": extra, "groups": groups}
        return _beyond(b, x, weight, bias, out, **steps)
    places = geometry.lengths(x.shape[2:], weight.shape[2:], extra)
    shape = (x.shape[0], weight.shape[1] * groups, *places)
    out = _input_grad(b, x, weight, shape, groups=groups, out=out, **steps)
    if bias is not None:
        out += bias.reshape(-1, *(1 for _ in places))
    return out


def _beyond(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None,
    out: Floats | None,
    **options: Any,
) -> Floats:
    """The same where it is longer than any convolution's input: by the default body."""
    body = Backend.conv_transpose1d if x.ndim == 3 else Backend.conv_transpose2d  # noqa: PLR2004 - (n, c, l)
    return filled(body(b, x, weight, bias, **options), out)
