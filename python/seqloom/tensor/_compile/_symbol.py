"""Symbol: what stands for an array while a step is captured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from seqloom.errors import CaptureError
from seqloom.tensor._memory._origin import here

if TYPE_CHECKING:
    import numpy as np

    from seqloom.tensor._graph import Value


class Symbol:
    """The array that a `Value` will be: it has a shape and a type, and no numbers yet."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.value.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.value.shape)

    def __len__(self) -> int:
        return self.value.shape[0]

    def __bool__(self) -> bool:  # noqa: PLE0304  # it only refuses
        refuse("a branch on its values (bool)")

    def __float__(self) -> NoReturn:
        refuse("its value as a Python float")

    def __int__(self) -> NoReturn:
        refuse("its value as a Python int")

    def __index__(self) -> int:  # noqa: PLE0305  # it only refuses
        refuse("its value as an index")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        del dtype, copy
        refuse("its values as a NumPy array")

    def __repr__(self) -> str:
        return f"Symbol({self.value.declared()})"


def refuse(wish: str) -> NoReturn:
    """Says that a captured tensor has no values yet, at which line, and what to do."""
    raise CaptureError(
        f"{here()} needs {wish}, but inside a compiled step a tensor has no values "
        "yet. Choose with sl.tensor.where instead of `if`, return the tensor and read it "
        "after the step, pass what decides as a Python argument, or switch compiling off: "
        "sl.tensor.compile(step, enabled=False), or SEQLOOM_COMPILE=0"
    )
