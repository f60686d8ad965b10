"""Functions that torch.compile takes as one node, and NumPy's kernels on torch's memory."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.library import custom_op

from seqloom.tensor._backend import backend
from seqloom.tensor.backends._torch._creation import to_numpy_type

if TYPE_CHECKING:
    from collections.abc import Callable


def operation(name: str, *, mutates: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """Makes a function an operation of the library ``seqloom``.

    Outside of ``torch.compile`` the function runs as it is: torch imports its compiler at
    the first call of any operation that is not its own, which takes a second.

    Args:
        name: Its name.
        mutates: The arguments that it writes.

    Returns:
        A decorator; ``register_fake`` of its result says what comes out.
    """

    def made(function: Callable[..., Any]) -> Any:
        defined = custom_op(f"seqloom::{name}", mutates_args=mutates)(function)
        whole = getattr(torch.ops.seqloom, name).default

        @wraps(function)
        def call(*args: Any) -> Any:
            plainly = not torch.compiler.is_compiling() and all(map(_is_plain, args))
            return function(*args) if plainly else whole(*args)

        vars(call)["register_fake"] = defined.register_fake
        return call

    return made


def _is_plain(arg: Any) -> bool:
    """Whether torch follows nothing of an argument: no gradient, no tracing."""
    if type(arg) is Tensor:
        return not (arg.requires_grad and torch.is_grad_enabled())
    return not isinstance(arg, Tensor)


# The NumPy backend's kernels on torch's memory --------------------------------------------


def host() -> Any:
    """The backend that computes."""
    return backend("numpy", num_threads=torch.get_num_threads())


def array_of(x: Tensor) -> Any:
    """An array of torch's as NumPy's, on the same memory."""
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.int16).numpy().view(to_numpy_type(x.dtype))
    return x.detach().numpy()


def tensor_of(array: Any) -> Tensor:
    """An array of NumPy's as torch's, on the same memory."""
    if array.dtype == to_numpy_type(torch.bfloat16):
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)
