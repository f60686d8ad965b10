"""Functions that torch.compile takes as one node, and that others call as they are."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.library import custom_op

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
