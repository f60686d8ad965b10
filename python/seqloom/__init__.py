"""Train models on biological sequences and genotypes: ``import seqloom as sl``."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seqloom import _command, errors

with _command.report_import_errors():  # noqa: RUF067 - SEQLOOM_SIMD may be invalid
    from seqloom._key import Key

if TYPE_CHECKING:
    __version__: str
    from seqloom import (
        augment,
        data,
        encode,
        export,
        infer,
        io,
        models,
        nn,
        optim,
        record,
        tensor,
        train,
    )

__all__ = [
    "Key",
    "augment",
    "data",
    "encode",
    "errors",
    "export",
    "infer",
    "io",
    "models",
    "nn",
    "optim",
    "record",
    "tensor",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import a subpackage on first use, to keep ``import seqloom`` fast."""
    if name == "__version__":
        return import_module("importlib.metadata").version("seqloom")
    if name not in __all__:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    return import_module(f"seqloom.{name}")


def __dir__() -> list[str]:
    """Return all public names, including subpackages that are not imported yet."""
    return [*__all__, "__version__"]
