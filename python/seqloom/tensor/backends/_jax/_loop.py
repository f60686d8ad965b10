"""Loops over time, and what else is compiled as a whole."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
from jax import lax
from jax.core import Tracer

from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = Any
Arrays = list[Any]


class Loops(Backend):
    """Scan, the recurrent layers, and updates of parameters."""

    def scan(
        self,
        body: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]],
        init: Sequence[Array],
        xs: Sequence[Array],
        *,
        length: int,
        reverse: bool = False,
    ) -> tuple[Arrays, Arrays]:
        """A loop of XLA's while jax traces, else one of Python's."""
        # A body is a new function at each call: jax would compile it each time.
        if not any(isinstance(each, Tracer) for each in (*init, *xs)):
            return super().scan(body, init, xs, length=length, reverse=reverse)
        carry, ys = lax.scan(body, list(init), list(xs), length, reverse)
        return carry, ys

    def gru(self, *args: Any, **biases: Any) -> Any:
        """One layer of gated units."""
        return _program(self, "gru")(*args, **biases)

    def lstm(self, *args: Any, **biases: Any) -> Any:
        """One layer of long short-term memory."""
        return _program(self, "lstm")(*args, **biases)

    def adamw(self, *args: Any, decays: Sequence[float], **options: Any) -> Any:
        """AdamW; the arrays are new ones."""
        return _program(self, "adamw", decays=tuple(decays), **options)(*args)

    def sgd(self, *args: Any, decays: Sequence[float], **options: Any) -> Any:
        """Gradient descent with momentum; the arrays are new ones."""
        return _program(self, "sgd", decays=tuple(decays), **options)(*args)

    def clip_by_global_norm(self, grads: Arrays, max_norm: Any) -> tuple[Arrays, Array]:
        """Scales all gradients down so that their common norm is at most `max_norm`."""
        return _program(self, "clip_by_global_norm")(grads, max_norm)


@cache
def _program(backend: Backend, name: str, **options: Any) -> Callable[..., Any]:
    """The default body of a function, compiled as a whole."""
    return jax.jit(partial(getattr(Backend, name), backend, **options))
