"""What a backend is: a table of plain functions over one array library's arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from seqloom.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom._key import Key
    from seqloom.tensor._tensor import Tensor

# An array of whichever library the backend is over: opaque to everything above it.
Array = Any


class Backend(ABC):
    """A table of plain functions over one library's arrays.

    The names of the first group are those of the Array API standard and mean the same;
    the second group is what deep learning needs beyond it. Each function takes and
    returns that library's own arrays, never tensors. `Autodiff` wraps a backend in
    another with the same names.

    Attributes:
        name: What `backend` calls it.
        threads: How many threads its kernels may use.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.add(B.asarray([1.0, 2.0]), 1.0).tolist()
        [2.0, 3.0]
    """

    name: str
    threads: int
    differentiable: Backend  # the one `Autodiff` over it that modules use, once made

    # The standard's names.
    asarray: Any
    empty: Any
    zeros: Any
    ones: Any
    full: Any
    arange: Any
    astype: Any
    negative: Any
    abs: Any
    sign: Any
    exp: Any
    log: Any
    log1p: Any
    sqrt: Any
    square: Any
    sin: Any
    cos: Any
    tanh: Any
    isfinite: Any
    logical_not: Any
    add: Any
    subtract: Any
    multiply: Any
    divide: Any
    pow: Any
    maximum: Any
    minimum: Any
    equal: Any
    not_equal: Any
    less: Any
    less_equal: Any
    greater: Any
    greater_equal: Any
    logical_and: Any
    logical_or: Any
    where: Any
    clip: Any
    sum: Any
    mean: Any
    max: Any
    min: Any
    any: Any
    all: Any
    argmax: Any
    argmin: Any
    matmul: Any
    matrix_transpose: Any
    permute_dims: Any
    reshape: Any
    broadcast_to: Any
    expand_dims: Any
    squeeze: Any
    concat: Any
    stack: Any
    take: Any

    def index(self, x: Array, key: Any) -> Array:
        """``x[key]``, with NumPy's basic and integer-array indexing.

        Args:
            x: An array.
            key: Integers, slices, ``None``, ``...`` or arrays of integers.

        Returns:
            The selected part.

        Examples:
            >>> from seqloom.tensor import backend
            >>> B = backend("numpy")
            >>> B.index(B.asarray([1.0, 2.0]), 1).item()
            2.0
        """
        return x[key]

    # Beyond the standard; the backends document shapes at each function.
    scatter_index: Any
    accumulate: Any
    relu: Any
    relu_grad: Any
    gelu: Any
    gelu_grad: Any
    sigmoid: Any
    sigmoid_grad: Any
    softmax: Any
    log_softmax: Any
    cross_entropy: Any
    linear: Any
    conv1d: Any
    conv1d_input_grad: Any
    conv1d_weight_grad: Any
    max_pool1d: Any
    max_pool1d_grad: Any
    batch_norm: Any
    batch_norm_grad: Any
    scale_shift: Any
    dropout: Any
    adamw: Any

    @abstractmethod
    def to_numpy(self, x: Array) -> Any:
        """The array as NumPy's, sharing memory where it can.

        Args:
            x: An array of this backend.

        Returns:
            A ``numpy.ndarray``.

        Examples:
            >>> from seqloom.tensor import backend
            >>> B = backend("numpy")
            >>> B.to_numpy(B.zeros((2,))).tolist()
            [0.0, 0.0]
        """

    def uniform(self, key: Key, shape: Sequence[int], *, dtype: str = "float32") -> Array:
        """Numbers in [0, 1) that depend on the key alone, equal on every backend.

        Args:
            key: Where the numbers come from.
            shape: The shape of the array.
            dtype: ``"float32"`` or ``"float64"``.

        Returns:
            A new array of that shape.

        Examples:
            >>> import seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> B.uniform(sl.Key(0), (2, 3)).shape
            (2, 3)
        """
        count = 1
        for size in shape:
            count *= size
        return self.reshape(self.asarray(key.uniform(count), dtype=dtype), tuple(shape))

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Makes a tensor on this backend.

        Args:
            data: Numbers, nested lists, or an array; an array is not copied where its
                type stays. Python's floats become float32.
            dtype: The name of the element type; default: that of the data.
            requires_grad: Follow it, so that ``backward`` gives its gradient; only on
                an `Autodiff` backend.

        Returns:
            A tensor.

        Raises:
            BackendError: ``requires_grad`` on a backend that records nothing.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]])
            Tensor([[1., 2.]], shape=(1, 2), dtype=float32, backend=numpy)
        """
        from seqloom.tensor._tensor import Tensor

        if requires_grad:
            raise BackendError(
                f"{self.name} records nothing; make the tensor on "
                f'sl.tensor.Autodiff(sl.tensor.backend("{self.name}"))'
            )
        return Tensor(self.asarray(data, dtype=dtype), self)

    def __repr__(self) -> str:
        return self.name
