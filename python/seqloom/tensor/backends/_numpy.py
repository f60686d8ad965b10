"""NumPy as a backend: its own functions, and fused Rust kernels where BLAS has none."""

# The kernels' arguments are NumPy arrays of float32 or float64; the backend allocates,
# the kernel fills.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom._key import Key

    Floats = NDArray[Any]

# What is NumPy's own, under the standard's names.
# fmt: off
_FUNCTIONS = [
    "abs", "add", "all", "any", "arange", "argmax", "argmin", "astype", "broadcast_to",
    "clip", "concat", "cos", "divide", "empty", "equal", "exp", "expand_dims", "full",
    "greater", "greater_equal", "isfinite", "less", "less_equal", "log", "log1p",
    "logical_and", "logical_not", "logical_or", "matmul", "matrix_transpose", "max",
    "maximum", "mean", "min", "minimum", "multiply", "negative", "not_equal", "ones",
    "permute_dims", "pow", "reshape", "sign", "sin", "sqrt", "square", "squeeze",
    "stack", "subtract", "sum", "take", "tanh", "where", "zeros",
]
# fmt: on


class NumPyBackend(Backend):
    """NumPy's arrays on the CPU, with Rust kernels where NumPy has none.

    Functions that BLAS does (``matmul``, ``linear``) are NumPy's; convolution, batch norm,
    activations, softmax with cross-entropy, dropout and AdamW are fused kernels in
    float32 and float64.

    Args:
        threads: Threads for the kernels.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy", num_threads=1)
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    name = "numpy"

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __reduce__(self) -> Any:
        """Copies and pickles are the one backend of that number of threads."""
        return _again, (self.threads,)

    def to_numpy(self, x: Any) -> Floats:
        """The array itself."""
        return np.asarray(x)

    def asarray(self, data: Any, dtype: str | None = None) -> Floats:
        """An array of the data; Python's floats become float32."""
        array = np.asarray(data, dtype=dtype)
        if (
            dtype is None
            and array.dtype == np.float64
            and not isinstance(data, (np.ndarray, np.generic))
        ):
            return array.astype(np.float32)
        return array

    def zeros(self, shape: Sequence[int], dtype: str = "float32") -> Floats:
        """Zeros, in float32 unless said otherwise."""
        return np.zeros(shape, dtype)

    def ones(self, shape: Sequence[int], dtype: str = "float32") -> Floats:
        """Ones, in float32 unless said otherwise."""
        return np.ones(shape, dtype)

    def scatter_index(self, values: Floats, key: Any, shape: Sequence[int]) -> Floats:
        """Zeros of `shape` with values added at ``[key]``: the derivative of ``index``."""
        out = np.zeros(shape, values.dtype)
        if _meets_each_place_once(key):
            out[key] = values
        else:
            np.add.at(out, key, values)
        return out

    def accumulate(self, total: Floats, more: Floats) -> Floats:
        """``total + more`` in total's own memory, which the caller owns."""
        return np.add(total, more, out=total)

    def relu(self, x: Floats) -> Floats:
        """``max(x, 0)``."""
        return _fill(_native.relu, x, threads=self.threads)

    def relu_grad(self, grad: Floats, output: Floats) -> Floats:
        """The derivative of ``relu`` from its output."""
        return _fill(_native.relu_grad, grad, output, threads=self.threads)

    def gelu(self, x: Floats) -> Floats:
        """``x * Phi(x)`` with the exact normal distribution (Hendrycks and Gimpel 2016)."""
        return _fill(_native.gelu, x, threads=self.threads)

    def gelu_grad(self, grad: Floats, x: Floats) -> Floats:
        """The derivative of ``gelu`` from its input."""
        return _fill(_native.gelu_grad, grad, x, threads=self.threads)

    def sigmoid(self, x: Floats) -> Floats:
        """``1 / (1 + exp(-x))``."""
        return _fill(_native.sigmoid, x, threads=self.threads)

    def sigmoid_grad(self, grad: Floats, output: Floats) -> Floats:
        """The derivative of ``sigmoid`` from its output."""
        return _fill(_native.sigmoid_grad, grad, output, threads=self.threads)

    def softmax(self, x: Floats) -> Floats:
        """Softmax over the last axis."""
        return _fill_rows(_native.softmax, x, self.threads)

    def log_softmax(self, x: Floats) -> Floats:
        """Logarithm of the softmax over the last axis."""
        return _fill_rows(_native.log_softmax, x, self.threads)

    def cross_entropy(
        self, logits: Floats, labels: NDArray[np.int64], weights: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """The weighted loss of each row ``(n,)`` and its derivative ``(n, k)``."""
        logits = np.ascontiguousarray(logits)
        losses, grad = np.empty(len(logits), logits.dtype), np.empty_like(logits)
        labels = np.ascontiguousarray(labels, np.int64)
        _native.cross_entropy(logits, labels, weights, losses, grad, self.threads)
        return losses, grad

    def linear(self, x: Floats, weight: Floats, bias: Floats | None = None) -> Floats:
        """``x @ weight.T + bias``: ``(..., in)`` to ``(..., out)``."""
        out = np.matmul(x, weight.T)
        if bias is not None:
            out += bias
        return out

    def conv1d(
        self,
        x: Floats,
        weight: Floats,
        bias: Floats | None = None,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
    ) -> Floats:
        """Cross-correlation: ``(n, c, l)`` with ``(o, c, k)`` to ``(n, o, l')``."""
        length = _windows(x.shape[2], weight.shape[2], stride, padding, dilation)
        out = np.empty((x.shape[0], weight.shape[0], length), x.dtype)
        x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
        _native.conv1d(x, weight, bias, out, stride, padding, dilation, self.threads)
        return out

    def conv1d_input_grad(
        self,
        grad: Floats,
        weight: Floats,
        shape: Sequence[int],
        *,
        stride: int,
        padding: int,
        dilation: int,
    ) -> Floats:
        """The derivative of ``conv1d`` by its input, which had `shape`."""
        out = np.empty(shape, grad.dtype)
        grad, weight = np.ascontiguousarray(grad), np.ascontiguousarray(weight)
        _native.conv1d_input_grad(
            grad, weight, out, stride, padding, dilation, self.threads
        )
        return out

    def conv1d_weight_grad(
        self,
        x: Floats,
        grad: Floats,
        shape: Sequence[int],
        *,
        stride: int,
        padding: int,
        dilation: int,
    ) -> tuple[Floats, Floats]:
        """The derivatives of ``conv1d`` by its weight, of `shape`, and by its bias."""
        out, bias = np.empty(shape, grad.dtype), np.empty(shape[0], grad.dtype)
        x, grad = np.ascontiguousarray(x), np.ascontiguousarray(grad)
        _native.conv1d_weight_grad(
            x, grad, out, bias, stride, padding, dilation, self.threads
        )
        return out, bias

    def max_pool1d(
        self, x: Floats, *, kernel: int, stride: int, padding: int = 0
    ) -> tuple[Floats, NDArray[np.int64]]:
        """The largest of each window ``(n, c, l')`` and its place in the row."""
        x = np.ascontiguousarray(x)
        shape = (*x.shape[:2], _windows(x.shape[2], kernel, stride, padding, 1))
        out, places = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        _native.max_pool1d(x, kernel, stride, padding, out, places, self.threads)
        return out, places

    def max_pool1d_grad(
        self, grad: Floats, places: NDArray[np.int64], shape: Sequence[int]
    ) -> Floats:
        """The derivative of ``max_pool1d`` by its input, which had `shape`."""
        out = np.empty(shape, grad.dtype)
        _native.max_pool1d_grad(np.ascontiguousarray(grad), places, out, self.threads)
        return out

    def batch_norm(
        self,
        x: Floats,
        weight: Floats,
        bias: Floats,
        mask: Floats | None = None,
        *,
        eps: float,
    ) -> tuple[Floats, Floats, Floats]:
        """Normalises ``(n, c, l)`` by channel over what the mask ``(n, l)`` keeps.

        Returns:
            The output, 0 at masked places; the means and the biased variances ``(c,)``.
        """
        x = np.ascontiguousarray(x)
        out = np.empty_like(x)
        mean, variance = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
        _native.batch_norm(x, mask, weight, bias, eps, out, mean, variance, self.threads)
        return out, mean, variance

    def batch_norm_grad(
        self,
        grad: Floats,
        x: Floats,
        weight: Floats,
        mask: Floats | None,
        mean: Floats,
        variance: Floats,
        *,
        eps: float,
    ) -> tuple[Floats, Floats, Floats]:
        """The derivatives of ``batch_norm`` by its input, weight and bias."""
        x, grad = np.ascontiguousarray(x), np.ascontiguousarray(grad)
        out = np.empty_like(x), np.empty_like(weight), np.empty_like(weight)
        _native.batch_norm_grad(
            x, grad, mask, weight, mean, variance, eps, *out, self.threads
        )
        return out

    def scale_shift(
        self, x: Floats, scale: Floats, shift: Floats, mask: Floats | None = None
    ) -> Floats:
        """``x * scale + shift`` by channel, 0 where the mask ``(n, l)`` is 0."""
        x = np.ascontiguousarray(x)
        out = np.empty_like(x)
        _native.scale_shift(x, mask, scale, shift, out, self.threads)
        return out

    def dropout(self, x: Floats, key: Key, rate: float) -> Floats:
        """Zeros a share `rate` of the values by the key and scales up the others."""
        return _fill(_native.dropout, x, *key.words, rate, threads=self.threads)

    def adamw(
        self,
        params: list[Floats],
        grads: list[Floats],
        first: list[Floats],
        second: list[Floats],
        decays: list[float],
        *,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        step: int,
    ) -> None:
        """One step of AdamW in place (Loshchilov and Hutter 2019)."""
        grads = [np.ascontiguousarray(grad) for grad in grads]
        _native.adamw(
            params, grads, first, second, lr, *betas, eps, decays, step, self.threads
        )


for _name in _FUNCTIONS:
    if _name not in vars(NumPyBackend):
        setattr(NumPyBackend, _name, staticmethod(getattr(np, _name)))


def _again(threads: int) -> Backend:
    """The backend that a pickle meant."""
    from seqloom.tensor._registry import backend

    return backend("numpy", num_threads=threads)


def _fill(kernel: Any, x: Floats, *rest: Any, threads: int) -> Floats:
    """Runs an elementwise kernel: its output is shaped as its input."""
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    kernel(x.reshape(-1), *(_flat(value) for value in rest), out.reshape(-1), threads)
    return out


def _flat(value: Any) -> Any:
    """A further array as one row; a number as it is."""
    if not isinstance(value, np.ndarray):
        return value
    return np.ascontiguousarray(cast("Floats", value)).reshape(-1)


def _fill_rows(kernel: Any, x: Floats, threads: int) -> Floats:
    """Runs a kernel over the last axis."""
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    rows = (-1, x.shape[-1])
    kernel(x.reshape(rows), out.reshape(rows), threads)
    return out


def _meets_each_place_once(key: Any) -> bool:
    """Whether an index is of numbers and slices alone, so that no place repeats."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return all(part is None or isinstance(part, (int, slice, type(...))) for part in parts)


def _windows(length: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit into a padded row."""
    return (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
