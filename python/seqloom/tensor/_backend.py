"""The `Backend` class: the functions of one array library, and tensor creation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import isfunction, unwrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import check_not_masked
from seqloom.errors import ArgumentError, BackendError, InternalError
from seqloom.tensor._dispatch import find_backend, translate_data_error
from seqloom.tensor._elements import require_representable
from seqloom.tensor._families import EXTENSION_OPS, REQUIRED_OPS, Array, ArrayFunctions
from seqloom.tensor._operations import OPERATIONS
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from seqloom.tensor._graph import Graph
    from seqloom.tensor._namespace import ArrayNamespace


_INT_NAMES = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


__all__ = ["EXTENSION_OPS", "REQUIRED_OPS", "Array", "Backend", "backend", "make_array"]


class Backend(ArrayFunctions, ABC):
    """Base class of backends: functions on the arrays of one library.

    A backend must define the functions in `required`, which are those of the Array API
    standard. Functions for deep learning have default implementations, which a backend
    overrides if its library is faster. Each function takes and returns arrays of the
    library, never tensors. Arrays are positional arguments, and options are keyword
    arguments. `Autodiff` wraps a backend in another backend with the same functions.

    Attributes:
        name: Name of the backend, as passed to `sl.tensor.backend`.
        device: Device of the backend's arrays.
        threads: Number of threads that the backend's functions may use.
        float_dtype: Dtype to which Python floats are converted.
        defers: True if functions may return before they have read their arguments.
        required: Names of the functions that a backend must define.

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
    required = REQUIRED_OPS - {"index"}  # `index` has a default implementation
    differentiable: Backend  # The `Autodiff` that wraps this backend, if one was created.

    @abstractmethod
    def to_numpy(self, x: Array) -> Any:
        """Convert an array to a NumPy array, sharing memory if possible.

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
        """Convert an array of another backend to an array of this backend.

        Args:
            x: An array of `source`.
            source: The backend of `x`.

        Returns:
            An array with the same dtype and values.

        Examples:
            >>> from seqloom.tensor import backend
            >>> one, two = backend("numpy", num_threads=1), backend("numpy", num_threads=2)
            >>> two.adopt(one.ones((2,)), one).tolist()
            [1.0, 1.0]
        """
        return self.asarray(source.to_numpy(x), dtype=source.dtype(x))

    def sync(self) -> None:
        """Wait until the device has finished all earlier function calls.

        Examples:
            >>> from seqloom.tensor import backend
            >>> backend("numpy").sync()
        """

    def nbytes(self, x: Array) -> int:
        """Return the number of bytes of an array in memory.

        Args:
            x: An array.

        Returns:
            The number of bytes.

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
        """Convert half precision to float32; return any other array unchanged.

        Args:
            x: An array.

        Returns:
            An array of float32, or of the dtype of `x`.

        Examples:
            >>> from seqloom.tensor import backend
            >>> B = backend("numpy")
            >>> B.to_full_precision(B.zeros((2,), dtype="bfloat16")).dtype
            dtype('float32')
        """
        narrow = self.dtype(x).name in {"float16", "bfloat16"}
        return self.astype(x, "float32") if narrow else x

    def program(self, graph: Graph) -> Callable[[Sequence[Array]], Sequence[Array]]:
        """Return a function that runs a captured step.

        The default implementation runs the operations one by one.

        Args:
            graph: Graph of the step. Inputs marked ``weak`` are Python numbers.

        Returns:
            A function from the input arrays to the output arrays.

        Examples:
            >>> from seqloom.tensor import backend
            >>> from seqloom.tensor._graph import Graph, Value
            >>> B = backend("numpy")
            >>> x = Value(0, (1,), B.dtype(B.zeros((1,))))
            >>> B.program(Graph([x], outputs=[x]))([B.zeros((1,))])[0].tolist()
            [0.0]
        """
        from seqloom.tensor._graph import lower_graph

        function = lower_graph(graph, self)
        return lambda arrays: function(*arrays)

    def tensor(
        self, data: Any, *, dtype: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        """Create a tensor on this backend from a copy of the data.

        Args:
            data: Numbers, nested lists, or an array. Later writes to the array do not
                change the tensor. Python floats become float32.
            dtype: Name of the dtype; default: the dtype of the data.
            requires_grad: If True, record operations on the tensor, so that
                ``backward`` computes its gradient; allowed only on an `Autodiff`
                backend.

        Returns:
            A tensor.

        Raises:
            BackendError: `requires_grad` is True, but the backend does not record
                gradients.
            DTypeError: The data are not numbers.
            ShapeError: Nested lists of the same level differ in length.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]])
            Tensor([[1., 2.]], shape=(1, 2), dtype=float32, backend=numpy)
        """
        if requires_grad:
            raise BackendError(
                f"the backend {self.name} does not record gradients; create the tensor on "
                f'sl.tensor.Autodiff(sl.tensor.backend("{self.name}"))'
            )
        return Tensor(make_array(data, dtype, self), self)

    def from_numpy(self, array: Any) -> Tensor:
        """Create a tensor that shares the memory of a NumPy array if possible.

        ``numpy`` and ``torch`` (CPU) share memory with arrays in native byte order.
        ``jax`` shares aligned memory and copies other memory. A GPU always copies. Do not
        write to the array while the tensor or a result computed from it is in use: results
        and gradients would silently change. Use the method `tensor` to copy the array.

        Args:
            array: A NumPy array of numbers or booleans.

        Returns:
            A tensor with the dtype and shape of the array.

        Raises:
            ArgumentError: `array` is not a NumPy array.
            DTypeError: `array` does not contain numbers.

        Examples:
            >>> import numpy as np
            >>> import seqloom as sl
            >>> array = np.zeros(2)
            >>> x = sl.tensor.backend("numpy").from_numpy(array)
            >>> np.shares_memory(x.numpy(), array)
            True
        """
        if not isinstance(array, np.ndarray):
            raise ArgumentError(
                f"from_numpy needs a NumPy array, got {type(array).__name__}; "
                f"backend.tensor(...) takes numbers, lists and other libraries' arrays"
            )
        return Tensor(make_array(array, None, self, copy=None), self)

    def array_namespace(self, api_version: str | None = None) -> ArrayNamespace:
        """Return the functions of the Array API standard for tensors of this backend.

        Args:
            api_version: Version of the standard; default: the newest.

        Returns:
            The module-like namespace, which ``x.__array_namespace__()`` also returns.

        Raises:
            ArgumentError: The version is not supported.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([1.0, 8.0])
            >>> xp = x.backend.array_namespace()  # or x.__array_namespace__()
            >>> xp.log2(x).tolist(), xp.zeros_like(x).tolist()
            ([0.0, 3.0], [0.0, 0.0])
        """
        from seqloom.tensor._namespace import get_namespace

        return get_namespace(self, api_version)

    def __repr__(self) -> str:
        return self.name


def backend(
    name: str | Backend, *, num_threads: int | None = None, deterministic: bool = False
) -> Backend:
    """Return the backend with the given name.

    Args:
        name: ``"numpy"``, ``"torch"``, ``"jax"`` or the name of a backend that another
            package registered. A device may follow the name, as in ``"torch:cuda:0"``.
            If `name` is a `Backend`, it is returned unchanged.
        num_threads: Number of threads that the backend's functions use; default: the
            number that the environment and the CPU quota of the machine allow.
        deterministic: If True, results are identical to the bit for any number of threads,
            and matrix products are slower. Only the NumPy backend supports this option.

    Returns:
        The backend with that name, device, number of threads and determinism. The same
        arguments return the same object.

    Raises:
        BackendError: No backend has that name, or the backend does not support the
            device or `deterministic`.
        ArgumentError: `name` is neither a string nor a backend, or it is a backend with
            a different `num_threads`.
        MissingExtraError: The library of the backend is not installed.

    Examples:
        >>> backend("numpy")
        numpy
    """
    return find_backend(name, num_threads=num_threads, deterministic=deterministic)


def make_array(
    data: Any, dtype: Any, backend: ArrayFunctions, *, copy: bool | None = True
) -> Array:
    """Create an array from data; if `copy` is None, the two may share memory."""
    check_not_masked("data", data)
    try:
        _require_integers_fit(data, dtype)
        return backend.asarray(data, dtype=dtype, copy=copy)
    except Exception as error:
        if (ours := translate_data_error(error, data, backend)) is error:
            raise
        raise ours from error


def _require_integers_fit(data: object, dtype: Any) -> None:
    """Raise if Python numbers are out of the range of an integer dtype."""
    kind = _find_integer_type(dtype)
    if kind is None or not isinstance(data, (int, float, list, tuple)):
        return
    numbers: np.ndarray[Any, Any] = np.asarray(cast("Any", data))
    if numbers.size and numbers.dtype.kind in "iufO":
        for extreme in (numbers.min(), numbers.max()):
            require_representable(extreme, kind)


def _find_integer_type(dtype: Any) -> np.dtype[np.generic] | None:
    """Return the integer dtype with the given name; None for other dtypes."""
    if dtype is None:
        return None
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return np.dtype(name) if name in _INT_NAMES else None


_OPERATION_NAMES = frozenset(dir(Backend)) | Backend.required


def collect_functions(*modules: ModuleType, prefix: str = "") -> dict[str, Any]:
    """Return the operations that some modules define, by name.

    Each function implements the operation that has its name. `prefix` is removed from
    the name, and so is a trailing underscore, as in ``max_``. If the first parameter of
    a function is called `b`, the backend is passed to it. A module's dict
    `LIBRARY_FUNCTIONS` lists library functions that are used directly as operations.
    """
    found: dict[str, Any] = {}
    for module in modules:
        for name, value in vars(module).items():
            operation = name.removeprefix(prefix).removesuffix("_")
            is_own = isfunction(value) and value.__module__ == module.__name__
            if is_own and name.startswith(prefix) and operation in _OPERATION_NAMES:
                function = unwrap(value)
                # Python's error messages about arguments contain `__qualname__`.
                is_named = function.__name__.startswith(prefix)
                own_name = function.__name__ if is_named else operation
                function.__qualname__ = own_name.removeprefix(prefix)
                is_method = function.__code__.co_varnames[:1] == ("b",)
                found[operation] = value if is_method else staticmethod(value)
        for name, function in getattr(module, "LIBRARY_FUNCTIONS", {}).items():
            found[name] = staticmethod(function)
    return found


def check_overrides(library: str, functions: dict[str, Any]) -> dict[str, Any]:
    """Return a library's functions; raise if they differ from the table of operations."""
    listed = {name for name, files in OPERATIONS.items() if library in files.overrides}
    if differing := sorted(listed ^ (functions.keys() & OPERATIONS.keys())):
        raise InternalError(
            f"the functions of the {library} backend and the table _operations.py "
            f"differ in {', '.join(differing)}: correct the function's name or the table"
        )
    return functions
