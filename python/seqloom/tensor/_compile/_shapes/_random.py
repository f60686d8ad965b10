"""What is drawn by a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._shapes._elementwise import promoted_to

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule

_WORDS = np.dtype(np.uint32)
_WORDS_OF_A_KEY = 2


def _drawn(place: int, default: str) -> Rule:
    """The rule of a draw whose shape is the argument at `place`."""

    def rule(
        target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Kind:
        shape = args[place] if len(args) > place else options["shape"]
        return tuple(shape), promoted_to(target, options.get("dtype", default))

    return rule


def _key(
    _target: Backend, _name: str, _args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """Two words."""
    return (_WORDS_OF_A_KEY,), _WORDS


def _keys(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """Two words for each."""
    return (args[1], _WORDS_OF_A_KEY), _WORDS


RULES: dict[str, Rule] = {
    "random_bits": _drawn(1, "uint32"),
    "uniform": _drawn(1, "float32"),
    "normal": _drawn(1, "float32"),
    "truncated_normal": _drawn(3, "float32"),
    "bernoulli": _drawn(2, "bool"),
    "fold_in": _key,
    "split": _keys,
}
