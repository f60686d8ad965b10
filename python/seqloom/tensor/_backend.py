"""What a backend is: a table of plain functions over one array library's arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import ArgumentError, BackendError
from seqloom.tensor._defaults import EXTENSION, REQUIRED, Array, ArrayFunctions
from seqloom.tensor._integer_range import require_in_range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._graph import Graph
    from seqloom.tensor._tensor import Tensor

_WHOLE = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))

__all__ = ["EXTENSION", "REQUIRED", "Array", "Backend", "array_of", "overrides"]


class Backend(ArrayFunctions, ABC):
    """A table of plain functions over one library's arrays.

    A backend must have the functions that `Standard` names, which are those of the Array
    API standard. What deep learning needs beyond it has default bodies in terms of them;
    a backend overrides what it does better. Each function takes and returns that
    library's own arrays, never tensors: arrays by position, what is fixed by keyword.
    `Autodiff` wraps a backend in another with the same names.

    Attributes:
        name: What `backend` calls it.
        device: Where its arrays are.
        threads: How many threads its functions may use.
        float_dtype: What Python's floats become.
        defers: Whether a function may return before it has read its arguments.
        required: The names of the functions that a backend must have.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.add(B.asarray([1.0, 2.0]), 1.0).tolist()
        [2.0, 3.0]
    """

    name: str
    device: str = "cpu"
    threads: int = 1
    float_dtype: str = "float32"
    defers: bool = False
    required = REQUIRED - {"index"}  # which has a body
    differentiable: Backend  # the one `Autodiff` over it that modules use, once made

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

    def adopt(self, x: Array, source: Backend) -> Array:
        """An array of another backend as one of this backend.

        Args:
            x: An array of `source`.
            source: The backend that it is of.

        Returns:
            An array of the same type and values.

        Examples:
            >>> from seqloom.tensor import backend
            >>> one, two = backend("numpy", num_threads=1), backend("numpy", num_threads=2)
            >>> two.adopt(one.ones((2,)), one).tolist()
            [1.0, 1.0]
        """
        return self.asarray(source.to_numpy(x), dtype=source.dtype(x))

    def sync(self) -> None:
        """Waits until all that was asked for is computed.

        Examples:
            >>> from seqloom.tensor import backend
            >>> backend("numpy").sync()
        """

    def nbytes(self, x: Array) -> int:
        """The memory of an array.

        Args:
            x: An array.

        Returns:
            Bytes.

        Examples:
            >>> from seqloom.tensor import backend
            >>> B = backend("numpy")
            >>> B.nbytes(B.zeros((2, 3)))
            24
        """
        count = self.dtype(x).itemsize
        for size in x.shape:
            count *= size
        return count

    def to_full_precision(self, x: Array) -> Array:
        """Half precision as float32; anything else as it is.

        Args:
            x: An array.

        Returns:
            An array of float32 or more, or of no floats at all.

        Examples:
            >>> from seqloom.tensor import backend
            >>> B = backend("numpy")
            >>> B.to_full_precision(B.zeros((2,), dtype="bfloat16")).dtype
            dtype('float32')
        """
        narrow = self.dtype(x).name in {"float16", "bfloat16"}
        return self.astype(x, "float32") if narrow else x

    def program(self, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
        """Makes a captured step ready to run; by default, one function after the other.

        Args:
            graph: The step. Its inputs that are ``weak`` come as Python numbers.

        Returns:
            A function from the arrays of its inputs to those of its outputs.

        Examples:
            >>> from seqloom.tensor import backend
            >>> from seqloom.tensor._graph import Graph, Value
            >>> B = backend("numpy")
            >>> x = Value(0, (1,), B.dtype(B.zeros((1,))))
            >>> B.program(Graph([x], outputs=[x]))([B.zeros((1,))])[0].tolist()
            [0.0]
        """
        from seqloom.tensor._lower import lowered

        function = lowered(graph, self)
        return lambda arrays: function(*arrays)

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Makes a tensor on this backend, of numbers of its own.

        Args:
            data: Numbers, nested lists, or an array, which is copied: whoever writes it
                later does not change the tensor. Python's floats become float32.
            dtype: The name of the element type; default: that of the data.
            requires_grad: Follow it, so that ``backward`` gives its gradient; only on
                an `Autodiff` backend.

        Returns:
            A tensor.

        Raises:
            BackendError: ``requires_grad`` on a backend that records nothing.
            DTypeError: The data are no numbers.
            ShapeError: Lists of several lengths.

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
        return Tensor(array_of(data, dtype, self), self)

    def from_numpy(self, array: Any) -> Tensor:
        """Makes a tensor that shares the memory of a NumPy array where it can.

        Nothing is copied on ``numpy`` and on ``torch`` (CPU) where the numbers are in the
        machine's order of bytes; ``jax`` shares memory that is aligned as it needs, and
        copies other memory; a GPU has a copy. The array must not be written for as long as
        the tensor, or what was computed from it, is in use: results and gradients would
        change without a word. `tensor` copies.

        Args:
            array: A NumPy array of numbers or truths.

        Returns:
            A tensor of the array's type and shape.

        Raises:
            ArgumentError: It is no NumPy array.
            DTypeError: It holds no numbers.

        Examples:
            >>> import numpy as np
            >>> import seqloom as sl
            >>> array = np.zeros(2)
            >>> x = sl.tensor.backend("numpy").from_numpy(array)
            >>> np.shares_memory(x.numpy(), array)
            True
        """
        from seqloom.tensor._tensor import Tensor

        if not isinstance(array, np.ndarray):
            raise ArgumentError(
                f"from_numpy takes a NumPy array, this is a {type(array).__name__}; "
                f"backend.tensor(...) takes numbers, lists and other libraries' arrays"
            )
        return Tensor(array_of(array, None, self, copy=None), self)

    def __repr__(self) -> str:
        return self.name


def array_of(data: Any, dtype: Any, backend: Backend, *, copy: bool | None = True) -> Array:
    """The array that data become on a backend.

    Args:
        data: Numbers, nested lists, or an array.
        dtype: The element type, or None for that of the data.
        backend: Whose array.
        copy: True for memory that nobody else writes, None where it may be shared.

    Returns:
        An array.

    Raises:
        SeqloomError: The library cannot make one; it names the type of the data.

    Examples:
        >>> from seqloom.tensor import backend
        >>> array_of([1, 2], None, backend("numpy")).tolist()
        [1, 2]
    """
    try:
        _require_room(data, dtype)
        return backend.asarray(data, dtype=dtype, copy=copy)
    except Exception as error:
        from seqloom.tensor._native_error import unusable

        if (ours := unusable(error, data, backend)) is error:
            raise
        raise ours from error


def _require_room(data: Any, dtype: Any) -> None:
    """Refuses whole numbers of Python's that the type lacks; an array's are cast."""
    if str(dtype) not in _WHOLE or not isinstance(data, (int, list, tuple)):
        return
    numbers: np.ndarray[Any, Any] = np.asarray(cast("Any", data))
    if numbers.size and numbers.dtype.kind in "iu":
        for each in (numbers.min(), numbers.max()):
            require_in_range(int(each), np.dtype(str(dtype)))


def overrides(backend: Backend, name: str) -> bool:
    """Whether a backend has a function of its own in place of the default body.

    Args:
        backend: A backend.
        name: A function of the extension set.

    Returns:
        False where the default body serves.

    Examples:
        >>> from seqloom.tensor import backend
        >>> overrides(backend("numpy"), "sigmoid"), overrides(backend("numpy"), "erfc")
        (True, False)
    """
    return getattr(type(backend), name) is not getattr(Backend, name)
