"""ESM2Fields: the numbers that make an ESM-2 network."""

from dataclasses import dataclass

from seqloom._config import convert_fields
from seqloom.errors import ArgumentError
from seqloom.nn import Config


@dataclass(frozen=True)
class ESM2Fields(Config):
    """The fields of `ESM2Config`, and what they must be."""

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
                f"positions turn pairs of numbers, got {self.width}"
            )
        for name in ("pad_token", "mask_token"):
            if not 0 <= getattr(self, name) < self.vocabulary:
                raise ArgumentError(
                    f"{name} must be from 0 to {self.vocabulary - 1}, got "
                    f"{getattr(self, name)}"
                )

    @property
    def inner_width(self) -> int:
        """Width of the network after each attention."""
        return 4 * self.width if self.hidden is None else self.hidden
