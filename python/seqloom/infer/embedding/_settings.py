"""The settings of a job, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_flag, as_integer, quote
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError
from seqloom.infer.embedding._plan import Rules
from seqloom.infer.embedding._pool import check_cls, check_pool
from seqloom.infer.embedding._shard_file import check_format
from seqloom.infer.embedding._tokens import count_ends, name_of_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

_DTYPES = ("float32", "float16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `embed` but for the model, the files and the folder."""

    pool: str
    layers: tuple[int, ...]
    dtype: str
    tokens: Any
    max_tokens: int
    max_length: int | None
    overlap: int
    packing: bool
    shard_size: int | None
    format: str
    identity: str | None
    resume: bool
    lease: float
    threads: int
    before: int  # tokens before the letters of a sequence
    behind: int

    @classmethod
    def of(
        cls, *, num_threads: int | None, layers: Iterable[int], tokens: Any, **options: Any
    ) -> Settings:
        """Checks the arguments, one by one and together."""
        pool = check_pool(options["pool"])
        ends = (0, 0) if pool == "model" else count_ends(tokens)
        if pool == "cls":
            check_cls(ends[0])
        settings = cls(
            **options,
            tokens=tokens,
            layers=_check_layers(layers),
            threads=count_threads(num_threads),
            before=ends[0],
            behind=ends[1],
        )
        settings.check()
        return settings

    def check(self) -> None:
        """Refuses what is no value of a setting, or does not go with another one."""
        check_format(self.format)
        if self.dtype not in _DTYPES:
            raise ArgumentError(
                f'dtype must be "float32" or "float16", got {quote(self.dtype)}'
            )
        as_integer("max_tokens", self.max_tokens, least=self.before + self.behind + 1)
        as_integer("overlap", self.overlap, least=0)
        if self.shard_size is not None:
            as_integer("shard_size", self.shard_size, least=1)
        as_flag("packing", self.packing)
        as_flag("resume", self.resume)
        if not self.lease > 0:
            raise ArgumentError(f"lease must be seconds above 0, got {self.lease!r}")
        self._check_windows()

    def _check_windows(self) -> None:
        """Refuses windows that a batch does not hold, or that do not move on."""
        if self.max_length is None:
            if self.overlap:
                raise ArgumentError("overlap= is of windows: give max_length= too")
            return
        as_integer("max_length", self.max_length, least=1)
        if self.max_length > self.letters:
            raise ArgumentError(
                f"max_length must be at most {self.letters}, what a batch of max_tokens="
                f"{self.max_tokens} holds, got {self.max_length}"
            )
        if self.overlap >= self.max_length:
            raise ArgumentError(
                f"overlap must be below max_length={self.max_length}, got {self.overlap} "
                "(--overlap, --max-length)"
            )
        if self.pool == "model":
            raise ArgumentError(
                'windows are joined residue by residue, and pool="model" gives none: leave '
                "out max_length=, or choose another pool"
            )

    @property
    def letters(self) -> int:
        """The letters of one sequence that a batch holds."""
        return self.max_tokens - self.before - self.behind

    def rules(self, model: str) -> Rules:
        """Picks what decides the numbers of the output."""
        return Rules(
            model=self.identity or model,
            tokens=name_of_tokens(self.tokens),
            pool=self.pool,
            layers=self.layers,
            dtype=self.dtype,
            format=self.format,
            max_length=self.max_length,
            overlap=self.overlap,
            packing=self.packing,
            shard_size=self.shard_size,
        )


def _check_layers(layers: Iterable[int]) -> tuple[int, ...]:
    """Refuses no layers, and one twice."""
    if isinstance(layers, (str, bytes)) or not hasattr(layers, "__iter__"):
        raise ArgumentError(f"layers must be integers such as (-1,), got {quote(layers)}")
    found = tuple(as_integer("layers", layer, least=-99) for layer in layers)
    if not found or len(set(found)) != len(found):
        raise ArgumentError(
            f"layers must be one layer or several different ones, got {list(found)}"
        )
    return found
