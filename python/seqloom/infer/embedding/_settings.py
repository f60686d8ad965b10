"""Checks the arguments of `embed`, and selects its tokenizer and the shards to compute."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from seqloom._arguments import as_bool, as_integer, quote
from seqloom.encode import Tokens
from seqloom.errors import ArgumentError, MissingExtraError
from seqloom.infer.embedding._model import identify_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Value = TypeVar("Value")
FORMATS = ("safetensors", "parquet")
_POOLINGS = ("mean", "cls", "none", "model")
_OUTPUT_DTYPES = ("float32", "float16")
_PROBE_SEQUENCES = (b"A", b"AC", b"CA")
_SLURM_ARRAY_FIELDS = ("ID", "MIN", "MAX", "STEP", "COUNT")


@dataclass(frozen=True, slots=True)
class OutputRules:
    """The settings on which the embeddings depend."""

    model: str  # hash that identifies the weights of the model
    tokens: str  # string that identifies the tokenizer
    pool: str
    layers: tuple[int, ...]
    dtype: str
    format: str
    max_length: int | None
    overlap: int
    packing: bool
    shard_size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedSettings:
    """The arguments of `embed`, except the model and the progress function."""

    files: Sequence[str]
    out: str
    cloud_options: Mapping[str, str] | None
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
    threads: int
    part: JobPart
    # Numbers of special tokens before and after the residues, set by `for_model`.
    ends: tuple[int, int] = (0, 0)

    def for_model(self, model: Any) -> EmbedSettings:
        """Choose the tokenizer and check all arguments."""
        if self.pool not in _POOLINGS:
            raise ArgumentError(
                f'pool must be "mean", "cls", "none" (each residue) or "model" (the model '
                f"returns a row for each sequence), got {self.pool!r}"
            )
        tokens = find_tokenizer(model, self.tokens)
        ends = (0, 0) if self.pool == "model" else _count_special_tokens(tokens)
        if self.pool == "cls" and not ends[0]:
            raise ArgumentError(
                'pool="cls" needs a token before the residues, but tokens= adds none; use '
                'pool="mean"'
            )
        least = sum(ends) + 1
        settings = replace(
            self,
            tokens=tokens,
            ends=ends,
            max_tokens=as_integer("max_tokens", self.max_tokens, least=least),
            max_length=_as_positive("max_length", self.max_length),
            overlap=as_integer("overlap", self.overlap, least=0),
            shard_size=_as_positive("shard_size", self.shard_size),
        )
        settings.check()
        return settings

    def check(self) -> None:
        """Raise if a setting is invalid, or conflicts with another setting."""
        if self.format not in FORMATS:
            raise ArgumentError(
                f'format must be "safetensors" or "parquet", got {self.format!r}'
            )
        if self.format == "parquet":
            import_arrow()
        if self.dtype not in _OUTPUT_DTYPES:
            raise ArgumentError(
                f'dtype must be "float32" or "float16", got {quote(self.dtype)}'
            )
        as_bool("packing", self.packing)
        as_bool("resume", self.resume)
        if self.max_length is not None:
            self._check_windows(self.max_length)
        elif self.overlap:
            raise ArgumentError("overlap= is for windows: also pass max_length=")

    def _check_windows(self, max_length: int) -> None:
        """Raise if a window exceeds a batch, or is not longer than the overlap."""
        if max_length > self.letters:
            raise ArgumentError(
                f"max_length must be at most {self.letters}, the limit of a batch with "
                f"max_tokens={self.max_tokens}, got {max_length}"
            )
        if self.overlap >= max_length:
            raise ArgumentError(
                f"overlap must be below max_length={max_length}, got {self.overlap} "
                "(--overlap, --max-length)"
            )
        if self.pool == "model":
            raise ArgumentError(
                'windows are joined by residue, but pool="model" returns no residues: '
                "leave out max_length=, or use another pool"
            )

    @property
    def letters(self) -> int:
        """The maximum number of residues of a sequence in a batch."""
        return self.max_tokens - sum(self.ends)

    @property
    def pad(self) -> int:
        """The id of the padding token."""
        for name in ("pad_value", "pad_token_id"):
            if (value := getattr(self.tokens, name, None)) is not None:
                return int(value)
        return 0

    def rules(self, model: str) -> OutputRules:
        """Return the settings on which the embeddings depend."""
        return OutputRules(
            model=self.identity or model,
            tokens=_tokenizer_name(self.tokens),
            pool=self.pool,
            layers=self.layers,
            dtype=self.dtype,
            format=self.format,
            max_length=self.max_length,
            overlap=self.overlap,
            packing=self.packing,
            shard_size=self.shard_size,
        )


def _as_positive(name: str, value: int | None) -> int | None:
    """Return a positive integer or None; raise for other values."""
    return None if value is None else as_integer(name, value, least=1)


def import_arrow() -> Any:
    """Import pyarrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            'format="parquet" needs pyarrow: pip install pyarrow'
        ) from error
    return pa


def check_layers(layers: Iterable[int]) -> tuple[int, ...]:
    """Return the layer indices; raise if the list is empty or has duplicates."""
    if isinstance(layers, (str, bytes)) or not hasattr(layers, "__iter__"):
        raise ArgumentError(f"layers must be integers such as (-1,), got {quote(layers)}")
    numbers = tuple(as_integer("layers", layer, least=-99) for layer in layers)
    if not numbers or len(set(numbers)) != len(numbers):
        raise ArgumentError(
            f"layers must be one or more different layers, got {list(numbers)}"
        )
    return numbers


def find_tokenizer(model: Any, tokens: Any) -> Any:
    """Return the caller's tokenizer; by default the model's, or that of ESM-2."""
    if tokens is not None:
        if not callable(tokens):
            raise ArgumentError(
                "tokens must be sl.encode.Tokens(...), a tokenizer of transformers or a "
                f"function of one sequence, got {tokens!r}"
            )
        return tokens
    return getattr(model, "tokens", None) or Tokens("esm2")


def _tokenizer_name(tokens: Any) -> str:
    """Return a string that identifies a tokenizer in a plan."""
    if isinstance(tokens, Tokens):
        return tokens.to_json()
    source = getattr(tokens, "name_or_path", "")
    return ":".join(filter(None, (identify_model(tokens), source)))


def _count_special_tokens(tokens: Any) -> tuple[int, int]:
    """Count the tokens before and after residues; raise unless a residue is one token."""
    if isinstance(tokens, Tokens):
        added = 2 if tokens.add_special_tokens else 0
        before, is_single = added // 2, tokens.k == 1
    else:
        one, two, other = (_tokenize(tokens, probe) for probe in _PROBE_SEQUENCES)
        added = one.size - 1
        # A token at the start is special if it does not change when two residues are
        # swapped.
        before, is_single = int(added > 0 and two[0] == other[0]), two.size == added + 2
    if not is_single:
        raise ArgumentError(
            f"tokens={_tokenizer_name(tokens)} does not make a token for each residue, so "
            'residues cannot be pooled; use pool="model" and a model that pools its tokens'
        )
    return before, added - before


def _tokenize(tokens: Any, letters: bytes) -> Any:
    """Tokenize a short sequence."""
    text = letters.decode() if hasattr(tokens, "pad_token_id") else letters
    result = tokens(text)
    return np.asarray(getattr(result, "input_ids", result)).reshape(-1)


@dataclass(frozen=True, slots=True)
class JobPart:
    """The shards that one process computes: every `count`-th shard from shard `number`.

    The shards of a process are spread over the whole input, so that all processes take
    equal time even if a file is sorted by length.
    """

    number: int = 0
    count: int = 1
    variable: str = ""  # environment variable from which the part was read

    def __str__(self) -> str:
        return f"{self.number + 1}/{self.count}"

    def split(self, number: int, count: int, variable: str = "") -> JobPart:
        """Divide this part into `count` parts, and return one of them."""
        names = " and ".join(filter(None, (self.variable, variable)))
        return JobPart(self.number + number * self.count, self.count * count, names)

    def of(self, shards: Sequence[Value]) -> Sequence[Value]:
        """Select the shards that belong to this part."""
        return shards[self.number :: self.count]


def find_part(text: str | None) -> JobPart:
    """Return the part of the shards given by an argument or by environment variables."""
    if text is None:
        part, ranks = _read_slurm_array(), _read_number("WORLD_SIZE", default="1")
        if "RANK" not in os.environ or ranks == 1:
            return part
        if (rank := _read_number("RANK")) >= ranks:
            raise ArgumentError(
                f"RANK={rank} must be below WORLD_SIZE={ranks}, as torchrun sets them; or "
                "pass part= (--part i/n)"
            )
        return part.split(rank, ranks, "RANK")
    match = re.fullmatch(r"(\d+)/(\d+)", str(text))
    number, count = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= count:
        raise ArgumentError(
            'part must be "i/n" with i from 1 to n, such as part="2/8" (--part 2/8) for '
            f"the second of eight parts, got {quote(text)}"
        )
    return JobPart(number - 1, count)


def _read_slurm_array() -> JobPart:
    """Return the part of the shards of a SLURM array task; outside an array, all shards."""
    if "SLURM_ARRAY_TASK_ID" not in os.environ:
        return JobPart()
    names = [f"SLURM_ARRAY_TASK_{name}" for name in _SLURM_ARRAY_FIELDS]
    task, first, last, step, tasks = map(_read_number, names)
    count = (last - first) // max(step, 1) + 1
    if tasks != count:
        raise ArgumentError(
            f"the SLURM array has {tasks} tasks from {first} to {last} in steps of {step}: "
            "some parts are left out; use an array without gaps, or set part= (--part i/n)"
        )
    return JobPart((task - first) // max(step, 1), count, names[0])


def _read_number(name: str, *, default: str = "") -> int:
    """Read an environment variable that torchrun or SLURM sets."""
    text = os.environ.get(name, default)
    if not text.isdecimal():
        raise ArgumentError(
            f"the variable {name} must be a number, as torchrun and SLURM set it, got "
            f"{quote(text)}; or pass part= (--part i/n)"
        )
    return int(text)
