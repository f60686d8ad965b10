"""Fields of `ESM2Config`, and the supported types of ESM-2 weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom._arguments import as_choice
from seqloom._config import convert_fields
from seqloom.errors import ArgumentError, BackendError
from seqloom.nn import Config
from seqloom.tensor._autocast import explain_slowdown

if TYPE_CHECKING:
    from seqloom.tensor import Backend


# Layers, width and heads of the published networks.
_SIZES = {
    "8M": (6, 320, 20),
    "35M": (12, 480, 20),
    "150M": (30, 640, 20),
    "650M": (33, 1280, 20),
    "3B": (36, 2560, 40),
    "15B": (48, 5120, 40),
}


@dataclass(frozen=True)
class ESM2Fields(Config):
    """Fields of `ESM2Config`, checked on creation."""

    layers: int
    width: int
    heads: int
    hidden: int | None = None
    vocabulary: int = 33
    pad_token: int = 1
    mask_token: int = 32
    eps: float = 1e-5
    base: float = 10000.0
    token_dropout: bool = True
    has_lm_head: bool = True
    has_contact_head: bool = True

    def __post_init__(self) -> None:
        convert_fields(self)
        for name in ("layers", "width", "heads", "inner_width", "vocabulary"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.width % (2 * self.heads):
            raise ArgumentError(
                f"width must be a multiple of 2 * heads={2 * self.heads}, because rotary "
                f"positions rotate pairs of features, got {self.width}"
            )
        for name in ("pad_token", "mask_token"):
            if not 0 <= getattr(self, name) < self.vocabulary:
                raise ArgumentError(
                    f"{name} must be from 0 to {self.vocabulary - 1}, got "
                    f"{getattr(self, name)}"
                )

    @property
    def inner_width(self) -> int:
        """Width of the feed-forward networks."""
        return 4 * self.width if self.hidden is None else self.hidden

    @classmethod
    def of(cls, size: str, **changes: Any) -> Self:
        """Return the settings of a published network.

        Args:
            size: Number of parameters: ``"8M"``, ``"35M"``, ``"150M"``, ``"650M"``,
                ``"3B"`` or ``"15B"``.
            **changes: Values of other fields, such as ``has_lm_head=False``.

        Returns:
            Settings of the published network.

        Raises:
            ArgumentError: No network of that size was published.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.ESM2Config.of("650M")
            >>> config.layers, config.width, config.heads
            (33, 1280, 20)
        """
        layers, width, heads = _SIZES[as_choice("size", size, list(_SIZES))]
        fields: dict[str, Any] = {"layers": layers, "width": width, "heads": heads}
        return cls(**fields | changes)


_FULL_PRECISION = ("float32", "float64")
INT8 = "int8"
_HALF_PRECISION = ("bfloat16", "float16")


def check_dtype(backend: Backend, dtype: object) -> str:
    """Return the name of a dtype; raise for a dtype that would be slower than float32."""
    name = as_choice("dtype", dtype, [*_FULL_PRECISION, *_HALF_PRECISION, INT8])
    has_int8 = backend.name.partition(":")[0] in {"numpy", "torch"}
    if name == INT8 and not has_int8:
        raise BackendError(
            f'dtype="int8" needs the backend "numpy" or "torch" on a CPU, got '
            f"{backend.name!r}; load in float32"
        )
    if name == INT8 and backend.device != "cpu":
        raise BackendError(
            f'dtype="int8" needs a CPU, got the device {backend.device!r}; load in '
            '"bfloat16"'
        )
    if name in _HALF_PRECISION and (reason := explain_slowdown(backend, name)):
        others = 'dtype="int8" or "float32"' if has_int8 else 'dtype="float32"'
        raise BackendError(
            f'dtype="{name}": {reason}, so it would be slower than float32; use {others} '
            "(--dtype)"
        )
    return name
