"""The linear layers of a module: found by patterns, and replaced."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn._layers import Linear
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence


def find_linear(module: Module, targets: Sequence[str]) -> list[tuple[str, Linear]]:
    """Returns the linear layers that match; refuses a pattern that matches none."""
    patterns = [targets] if isinstance(targets, str) else list(targets)
    layers = [(path, it) for path, it in module.named(Linear) if path]
    for pattern in patterns:
        if not any(fnmatchcase(path, pattern) for path, _ in layers):
            known = ", ".join(path for path, _ in layers[:4]) or "none"
            raise ArgumentError(
                f"no linear layer of {type(module).__name__} matches targets={pattern!r}; "
                f"its linear layers are {known}{', ...' if len(layers) > 4 else ''}"  # noqa: PLR2004 - shown
            )
    return [
        (path, layer)
        for path, layer in layers
        if any(fnmatchcase(path, pattern) for pattern in patterns)
    ]


def replace_layer(module: Module, path: str, layer: Any) -> None:
    """Puts a layer where another one stands, in a module, a list or a dict."""
    *steps, last = path.split(".")
    owner: Any = module
    for step in steps:
        owner = _step_into(owner, step)
    if isinstance(owner, Module):
        setattr(owner, last, layer)
    elif isinstance(owner, tuple):
        raise ArgumentError(
            f"the linear layer {path} stands in a tuple, which cannot be changed; keep "
            "layers in a list, or leave it out of targets"
        )
    else:
        owner[_key_in(owner, last)] = layer


def _step_into(owner: Any, step: str) -> Any:
    """Returns the part of a module or a container that a path names."""
    if isinstance(owner, Module):
        return getattr(owner, step)
    return owner[_key_in(owner, step)]


def _key_in(owner: Any, step: str) -> Any:
    """Returns the key of a container that a path spells."""
    if isinstance(owner, dict):
        return next(key for key in owner if str(key) == step)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return int(step)
