"""What is left in a tensor that was released: it refuses every use, and says where from."""

from __future__ import annotations

from typing import Any, NoReturn

from seqloom.errors import ReleasedError


class Released:
    """Stands where the array of a released tensor stood.

    Args:
        line: Where the tensor was made.
    """

    __slots__ = ("line",)

    def __init__(self, line: str) -> None:
        self.line = line

    def refuse(self) -> NoReturn:
        """Says what happened, and how to keep such a tensor."""
        raise ReleasedError(
            f"the tensor made at {self.line} was released when its scope ended; "
            "call .keep() on it inside the scope, or take .numpy() there"
        )

    def _any(self, *_: Any, **__: Any) -> NoReturn:
        """Whatever is asked."""
        self.refuse()

    def __getattr__(self, name: str) -> NoReturn:
        # What is only looked for, as hasattr does for protocols, is simply not there.
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse()

    # NumPy, PyTorch and JAX ask these before they use an object that is not theirs.
    __array__ = __array_ufunc__ = __array_function__ = _any
    __torch_function__ = __jax_array__ = __dlpack__ = __getitem__ = _any
    __len__ = __bool__ = __iter__ = _any
