"""Products of matrices and vectors."""

from __future__ import annotations

import math
import platform
from string import ascii_letters
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ShapeError
from seqloom.tensor._elements import broadcast_shapes
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import Floats, allocate, in_float32, write_out
from seqloom.tensor._families._numpy_functions import promote_arrays
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    Shape,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    find_dtype,
    fit_grad,
    promote_dtype,
    require_match,
    to_axis_tuple,
)
from seqloom.tensor._families._unary import is_complex

if TYPE_CHECKING:
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options


# Default implementations ---------------------------------------------------------------


def linear(b: Functions, x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Return ``x @ weight.T + bias``: ``(..., in)`` and ``(out, in)`` to ``(..., out)``."""
    require_bias(weight, bias)
    out = b.matmul(x, b.matrix_transpose(weight))
    return out if bias is None else b.add(out, bias)


def require_bias(weight: Array, bias: Array | None) -> None:
    """Raise if a bias does not have one number for each output."""
    if bias is not None and tuple(bias.shape) != tuple(weight.shape[:1]):
        raise ShapeError(
            f"linear: bias: expected shape {list(weight.shape[:1])}, got {list(bias.shape)}"
        )


def require_equal_lengths(name: str, x: Array, y: Array, axes: Any) -> None:
    """Raise if the axes to be summed differ in length; a length of 1 is not broadcast."""
    one, other = tuple(x.shape), tuple(y.shape)
    if isinstance(axes, int):
        pairs = zip(one[len(one) - axes :], other[:axes], strict=False)
    else:
        left, right = ((it,) if isinstance(it, int) else it for it in axes)
        pairs = ((one[i], other[j]) for i, j in zip(left, right, strict=True))
    if any(length != width for length, width in pairs):
        raise ShapeError(
            f"{name}: the axes that are summed over must have the same lengths; got the "
            f"shapes {one} and {other} with axes {axes}"
        )


def vecdot(b: Functions, x: Array, y: Array, *, axis: int = -1) -> Array:
    """Return the sum of products along an axis, with the complex conjugate of `x`."""
    require_equal_lengths("vecdot", x, y, (axis, axis))
    left = b.conj(x) if is_complex(b, x) else x
    products = b.multiply(left, y)
    total = b.sum(products, axis=axis)
    dtype = b.dtype(products)  # The sum of small integers has a wider dtype.
    return b.astype(total, dtype) if dtype.kind in "iu" else total


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def _save_factors(args: Args, out: Array, needs: Needs, options: Options) -> Any:
    """Save each factor if the other factor is tracked; save shapes, dtypes and options."""
    del out
    return (
        args[0] if needs[1] else None,
        args[1] if needs[0] else None,
        keep.get_spec(args[0]),
        keep.get_spec(args[1]),
        options,
    )


@add_grad(GRAD_RULES, "matmul", save=_save_factors)
def _grad_matmul(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
    left, right, (left_shape, left_dtype), (right_shape, right_dtype), _ = saved
    left, right, grad = _add_unit_axes(b, (left, right, grad), left_shape, right_shape)
    by_left = by_right = None
    if needs[0]:
        wide = tuple(left_shape) if len(left_shape) > 1 else (1, *left_shape)
        by_left = b.matmul(grad, b.matrix_transpose(right))
        by_left = b.reshape(fit_grad(b, by_left, (wide, left_dtype)), tuple(left_shape))
    if needs[1]:
        wide = tuple(right_shape) if len(right_shape) > 1 else (*right_shape, 1)
        by_right = b.matmul(b.matrix_transpose(left), grad)
        by_right = b.reshape(fit_grad(b, by_right, (wide, right_dtype)), tuple(right_shape))
    return by_left, by_right


def _add_unit_axes(b: Functions, arrays: Any, left_shape: Any, right_shape: Any) -> Any:
    """Return the factors and the gradient, with vectors reshaped to matrices."""
    left, right, grad = arrays
    if len(left_shape) == 1:
        left = None if left is None else b.expand_dims(left, axis=0)
        grad = b.expand_dims(grad, axis=-2 if len(right_shape) > 1 else -1)
    if len(right_shape) == 1:
        right = None if right is None else b.expand_dims(right, axis=1)
        grad = b.expand_dims(grad, axis=-1)
    return left, right, grad


def _save_linear(args: Args, _out: Array, needs: Needs, _options: Options) -> Any:
    """Save the factors that the gradients of tracked inputs need, and the input shape."""
    x, weight = args[:2]
    kept = x if needs[1] else None, weight if needs[0] else None
    return *kept, tuple(x.shape)


@add_grad(GRAD_RULES, "linear", save=_save_linear)
def _grad_linear(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
    x, weight, shape = saved
    count = math.prod(shape[:-1])
    rows = b.reshape(grad, (count, grad.shape[-1]))
    by_x = by_weight = by_bias = None
    if needs[0]:
        by_x = b.reshape(b.matmul(rows, weight), shape)
    if needs[1]:
        by_weight = b.matmul(b.matrix_transpose(rows), b.reshape(x, (count, shape[-1])))
    if needs[2:] and needs[2]:
        by_bias = b.sum(rows, axis=0)
    return by_x, by_weight, by_bias


@add_grad(GRAD_RULES, "tensordot", save=_save_factors)
def _grad_tensordot(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
    left, right, *likes, options = saved
    sizes = [len(shape) for shape, _ in likes]
    ours, theirs = _find_contracted_axes(options.get("axes", 2), *sizes)
    free, other = (_remaining_axes(ours, sizes[0]), _remaining_axes(theirs, sizes[1]))
    positions = list(range(len(grad.shape)))
    by_left = by_right = None
    if needs[0]:
        by_left = b.tensordot(grad, right, axes=(positions[len(free) :], other))
        by_left = _sort_axes(b, by_left, [*free, *_sort_by_pairs(ours, theirs)])
    if needs[1]:
        by_right = b.tensordot(left, grad, axes=(free, positions[: len(free)]))
        by_right = _sort_axes(b, by_right, [*_sort_by_pairs(theirs, ours), *other])
    return by_left, by_right


def _remaining_axes(axes: list[int], ndim: int) -> list[int]:
    """Return the axes that are not summed over."""
    return [axis for axis in range(ndim) if axis not in axes]


def _sort_by_pairs(axes: list[int], by: list[int]) -> list[int]:
    """Return `axes`, sorted by the axes in `by` with which they are paired."""
    return [axis for _, axis in sorted(zip(by, axes, strict=True))]


def _find_contracted_axes(axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    """Return the axes of the left and of the right factor that are summed over."""
    if isinstance(axes, int):
        return list(range(left - axes, left)), list(range(axes))
    ours, theirs = axes
    return list(to_axis_tuple(ours, left)), list(to_axis_tuple(theirs, right))


def _sort_axes(b: Functions, part: Array, axes: list[int]) -> Array:
    """Return an array with its axes in ascending order; `axes` is their current order."""
    return b.permute_dims(part, tuple(axes.index(axis) for axis in range(len(axes))))


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


@add_shape_rule(SHAPE_RULES, "matmul")
def _shape_matmul(call: Call) -> Spec:
    """Return the shape of a matrix product, whose leading axes broadcast."""
    left, right = call.args[0].shape, call.args[1].shape
    dtype = find_dtype(call._replace(args=call.args[:2]))
    require_match(bool(left and right) and left[-1] == right[-2:][0], left, right)
    if len(right) == 1:
        return left[:-1], dtype
    if len(left) == 1:
        return (*right[:-2], right[-1]), dtype
    return (*broadcast_shapes(left[:-2], right[:-2]), left[-2], right[-1]), dtype


@add_shape_rule(SHAPE_RULES, "linear")
def _shape_linear(call: Call) -> Spec:
    """Return the shape of a linear layer, whose last axis is the number of outputs."""
    x, weight = call.args[:2]
    require_match(x.shape[-1] == weight.shape[1], x.shape, weight.shape)
    dtype = find_dtype(Call(call.target, "add", (x, weight), {}))
    return (*x.shape[:-1], weight.shape[0]), dtype


@add_shape_rule(SHAPE_RULES, "tensordot")
def _shape_tensordot(call: Call) -> Spec:
    """Return the shape of a tensordot: the lengths of the axes that are not summed over."""
    x, y = call.args[:2]
    axes = call.options.get("axes", call.get(2, "axes", 2))
    if isinstance(axes, int):
        axes = list(range(-axes, 0)), list(range(axes))
    left, right = (_drop_axes(v.shape, gone) for v, gone in zip((x, y), axes, strict=True))
    return (*left, *right), promote_dtype(call.target, x, y)


def _drop_axes(shape: Shape, axes: Any) -> list[int]:
    """Return a shape without the given axes."""
    gone = {axis % len(shape) for axis in axes}
    return [size for axis, size in enumerate(shape) if axis not in gone]


# NumPy versions ------------------------------------------------------------------------


# On x86 processors, the Rust kernels are as fast as a BLAS, and run in our threads.
# BLAS threads would compete with our threads for the processor.
_IS_RUST_FAST = platform.machine() in {"x86_64", "AMD64"}
# On other processors, the BLAS of NumPy is faster from this number of multiplications
# on. In smaller products, waking the BLAS threads takes too long.
_MIN_BLAS_PRODUCTS = 1 << 21


@in_float32
def numpy_matmul(
    b: Functions, x: Floats, y: Floats, *, out: Floats | None = None
) -> Floats:
    """Return the product of matrices; leading axes are batches and broadcast."""
    return _multiply_matrices(b, x, y, None, out)


@in_float32
def numpy_linear(
    b: Functions,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """Return ``x @ weight.T + bias``: ``(..., in)`` to ``(..., out)``."""
    require_bias(weight, bias)
    shape = (*x.shape[:-1], weight.shape[0])
    # The size -1 is not possible, because an axis may have length 0.
    count = math.prod(shape[:-1])
    into = None if out is None else out.reshape(count, shape[-1])
    rows = x.reshape(count, x.shape[-1])
    return _multiply_matrices(b, rows, weight.T, bias, into).reshape(shape)


def multiplies_in_rust(b: Functions) -> bool:
    """Return whether large matrices are multiplied by Rust on this machine."""
    return _IS_RUST_FAST or b.deterministic


def _multiply_matrices(
    b: Functions, x: Floats, y: Floats, bias: Floats | None, out: Floats | None
) -> Floats:
    """Return ``x @ y + bias``, computed by Rust or by NumPy."""
    if _has_rust_product(b, x, y) and (bias is None or bias.dtype == x.dtype):
        # The operands are two matrices, or one pair of matrices per index of the
        # leading axes.
        if x.ndim > 2 or y.ndim > 2:  # noqa: PLR2004 - many
            # Compute ``x @ y`` for each pair of matrices.
            batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            shape = (*batch, x.shape[-2], y.shape[-1])
            into = allocate(shape, x.dtype) if out is None or not out.flags.carray else out
            pairs = into.reshape(math.prod(batch), *shape[-2:])
            _native.products(_to_batch(x, batch), _to_batch(y, batch), pairs, b.threads)
            found = into if out is None or out is into else write_out(into, out)
            return found if bias is None else np.add(found, bias, out=found)
        shape = (x.shape[0], y.shape[1])
        into = allocate(shape, x.dtype) if out is None or not out.flags.carray else out
        if not _native.product((x, y), bias, into, b.threads):
            bias = None if bias is None else _to_aligned(bias)
            _native.product((_to_aligned(x), _to_aligned(y)), bias, into, b.threads)
        return into if out is None or out is into else write_out(into, out)
    if x.dtype != y.dtype:
        x, y = promote_arrays((x, y))
        return _multiply_matrices(b, x, y, bias, out)
    if _must_avoid_blas(b, x, y):
        found = write_out(_multiply_as_matrices(b, x, y), out)
    else:
        found = np.matmul(x, y, out=out)
    return found if bias is None else np.add(found, bias, out=found)


@in_float32
def numpy_tensordot(b: Functions, x: Floats, y: Floats, *, axes: Any = 2) -> Floats:
    """Return the sum of products over several axes."""
    require_equal_lengths("tensordot", x, y, axes)
    x, y = promote_arrays((x, y))
    if not multiplies_in_rust(b) or x.dtype.kind != "f":
        return np.tensordot(x, y, axes=axes)
    if isinstance(axes, int):
        axes = range(x.ndim - axes, x.ndim), range(axes)
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for one, other in zip(*axes, strict=True):
        right[other] = left[one]
    kept = [array for array in (*left, *right) if (array in left) != (array in right)]
    names = ("".join(map(ascii_letters.__getitem__, row)) for row in (left, right, kept))
    return b.einsum("{},{}->{}".format(*names), x, y)


def _has_rust_product(b: Functions, x: Floats, y: Floats) -> bool:
    """Return whether both are float matrices for which the Rust kernels are faster."""
    if x.ndim < 2 or y.ndim < 2 or x.dtype != y.dtype or x.dtype.char not in "fd":  # noqa: PLR2004 - matrices
        return False
    if x.shape[-1] != y.shape[-2] or not x.size or not y.size:
        return False
    if multiplies_in_rust(b):
        return True
    is_many = x.ndim > 2 or y.ndim > 2  # noqa: PLR2004 - one pair
    return is_many and x.shape[-2] * x.shape[-1] * y.shape[-1] < _MIN_BLAS_PRODUCTS


def _must_avoid_blas(b: Functions, x: Floats, y: Floats) -> bool:
    """Return whether vectors or mixed float dtypes must be multiplied without a BLAS."""
    are_floats = x.dtype.kind == y.dtype.kind == "f" and 0 not in {x.ndim, y.ndim}
    if not are_floats or not multiplies_in_rust(b):
        return False
    return x.ndim == 1 or y.ndim == 1 or x.dtype != y.dtype


def _multiply_as_matrices(b: Functions, x: Floats, y: Floats) -> Floats:
    """Return a product of vectors or of two float dtypes, computed as a matrix product."""
    dtype = np.result_type(x, y)
    row, column = x.ndim == 1, y.ndim == 1
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    out = b.matmul(x[None] if row else x, y[:, None] if column else y)
    out = out[..., 0] if column else out
    return (out[0] if column else out[..., 0, :]) if row else out


def _to_batch(x: Floats, batch: tuple[int, ...]) -> tuple[Floats, bool]:
    """Return matrices along one batch axis, and whether each is transposed in memory."""
    count = math.prod(batch)
    x = np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(count, *x.shape[-2:])
    transposed = x.mT
    if transposed.flags.c_contiguous and transposed.flags.aligned:
        return transposed, True
    return _to_aligned(x), False


def _to_aligned(x: Floats) -> Floats:
    """Return the array, or a copy if it is not contiguous and aligned."""
    return np.require(x, requirements=["C", "A"])
