"""What a user's code draws from the global generators: the same for any workers."""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._request import Request

_NAME = "a user's code"  # apart from our own orders and augmentations
_END: Any = object()  # what follows the last batch


def with_draws(make: Callable[[Request], Any], settings: LoaderSettings) -> Any:
    """Sets the generators for each batch, if a user's code takes part in it."""
    return make if settings.is_ours else _DrawingMaker(make, settings.seed)


@dataclass(frozen=True, slots=True)
class _DrawingMaker:
    """Makes batches of which each has random numbers of its own."""

    make: Callable[[Request], Any]
    seed: int

    def __call__(self, request: Request) -> Any:
        """Makes one batch."""
        with _generators(Key(self.seed, _NAME, request.epoch, request.place)):
            return self.make(request)


def draw_each(batches: Iterator[Any], *words: int) -> Iterator[Any]:
    """Yields batches that are made one after the other, each with its random numbers."""
    seed, *rest = words
    key, number = Key(seed, _NAME, *rest), 0
    while True:
        with _generators(key.fold(number)):
            batch = next(batches, _END)
        if batch is _END:
            return
        yield batch
        number += 1


@contextmanager
def _generators(key: Key) -> Generator[None]:
    """Lets a key decide what the global generators give; afterwards they are as before."""
    bits = key.bits(10)
    torch = getattr(sys.modules.get("torch"), "default_generator", None)
    python, numpy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - a user's, not ours
    before = None if torch is None else torch.get_state()
    try:
        random.seed(bits[:4].tobytes())
        np.random.seed(bits[4:8])  # noqa: NPY002, TID251 - see above
        if torch is not None:
            torch.manual_seed(int(bits[8]) << 31 | int(bits[9]) >> 1)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002 - see above
        if torch is not None:
            torch.set_state(before)
