"""`VarlenCollator`, which packs sequences into one row without padding."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._rust import _native
from seqloom._threads import supports_threads
from seqloom.data._encoder import find_override
from seqloom.data._position import check_integer
from seqloom.data.collate._collate import check_items, default_collate
from seqloom.data.collate._output import choose_converter
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    # (number of the item, (item, tokens))
    PooledItem = tuple[int, tuple[dict[str, Any], NDArray[np.int64]]]


_DEFAULT_WINDOW = 256
_MAX_PROBE_TOKENS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class VarlenCollator:
    """Packs sequences into one row, for attention kernels with ``cu_seqlens``.

    Calling the collator packs all items of a list into one batch. ``DataLoader`` calls the
    collator's method ``stream``, which chooses the items of each batch. A batch has
    ``input_ids`` and ``position_ids`` (int64, one row) and ``cu_seqlens`` (int32, the
    offsets of the sequences). A batch also has ``max_seqlen``, ``sequence_ids`` (a list),
    ``ordinals`` (int64), ``num_sequences`` and, with labels, ``label``.

    Args:
        tokens: The tokeniser of the ``sequence`` of an item: ``Tokens``, a Hugging Face
            tokenizer, or a function of one sequence. None if the ``inputs`` of the items
            are already tokens.
        max_tokens: The maximum number of tokens in a batch.
        window: The minimum number of waiting items among which ``stream`` chooses the items
            of a batch.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the memory, for use with
            PyTorch loaders.

    Raises:
        ArgumentError: ``max_tokens`` or ``window`` is below 1, or the output is invalid.

    Examples:
        >>> from seqloom.encode import Tokens
        >>> items = [{"id": "a", "sequence": b"MK"}, {"id": "b", "sequence": b"M"}]
        >>> batch = VarlenCollator(tokens=Tokens("esm2"))(items)
        >>> batch["input_ids"].tolist(), batch["position_ids"].tolist()
        ([0, 20, 15, 2, 0, 20, 2], [0, 1, 2, 3, 0, 1, 2])
        >>> batch["cu_seqlens"].tolist(), batch["max_seqlen"], batch["sequence_ids"]
        ([0, 4, 7], 4, ['a', 'b'])
    """

    tokens: Any = None
    max_tokens: int = 4096
    window: int = _DEFAULT_WINDOW
    output: Literal["numpy", "torch"] = "numpy"

    def __post_init__(self) -> None:
        check_integer("max_tokens", self.max_tokens, least=1)
        check_integer("window", self.window, least=1)
        choose_converter(self.output)
        if self.tokens is not None and not callable(self.tokens):
            raise ArgumentError(
                "tokens must be sl.encode.Tokens(...), a Hugging Face tokenizer or a "
                f"function of one sequence, got {self.tokens!r}"
            )

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Pack all items into one batch.

        Args:
            items: Dicts with ``sequence``, or with ``inputs``.

        Returns:
            The packed batch.

        Raises:
            ArgumentError: There are no items, or an item has neither sequence nor inputs.
            AlphabetError: A sequence has a character outside the alphabet of ``tokens``.
            ShapeError: The items have more than ``max_tokens`` tokens.

        Examples:
            >>> collate = VarlenCollator(max_tokens=4)
            >>> collate([{"id": "a", "inputs": np.arange(3)}])["num_sequences"]
            1
        """
        check_items(items)
        rows = self._tokenise_items(items)
        total = sum(row.size for row in rows)
        self._check_item_sizes(items, rows)
        if total > self.max_tokens:
            raise ShapeError(
                f"{len(items)} items have {total:,} tokens, more than max_tokens="
                f"{self.max_tokens:,}: use .stream(items), sl.data.DataLoader or "
                "sl.data.TokenBudgetSampler"
            )
        return self._pack_items(list(enumerate(zip(items, rows, strict=True))))

    @property
    def supports_threads(self) -> bool:
        """True if threads may share ``tokens``."""
        return supports_threads(self.tokens)

    def stream(self, items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield packed batches; each item of the stream is in exactly one batch.

        The items of a batch are chosen from at least ``window`` waiting items. A batch
        contains the oldest waiting item, and then the longest items that still fit.
        Items in a batch are in input order.

        Args:
            items: Dicts with ``sequence``, or with ``inputs``.

        Yields:
            Packed batches.

        Raises:
            AlphabetError: A sequence has a character outside the alphabet of ``tokens``.
            ShapeError: A single item has more than ``max_tokens`` tokens.

        Examples:
            >>> items = [{"id": str(n), "inputs": np.zeros(n)} for n in (3, 4, 1)]
            >>> for batch in VarlenCollator(max_tokens=4).stream(items):
            ...     batch["sequence_ids"]
            ['3', '1']
            ['4']
        """
        pool = PackingPool(self.max_tokens)
        for number, item in self._encode_items(items):
            pool.add(number, item)
            if pool.is_full(self.window):
                yield self._pack_items(pool.take_batch())
        while len(pool):
            yield self._pack_items(pool.take_batch())

    def _pack_items(self, chosen: list[Any]) -> Any:
        return choose_converter(self.output)(_pack_items(chosen))

    def _encode_items(self, items: Iterable[dict[str, Any]]) -> Iterator[Any]:
        waiting: list[dict[str, Any]] = []
        number = 0
        for item in items:
            waiting.append(item)
            if len(waiting) == _ITEMS_PER_ENCODING:
                yield from self._tokenise_block(waiting, number)
                number, waiting = number + len(waiting), []
        yield from self._tokenise_block(waiting, number)

    def _tokenise_block(self, items: list[dict[str, Any]], first: int) -> Iterator[Any]:
        """Number items from ``first``, and return each with its tokens."""
        rows = self._tokenise_items(items)
        self._check_item_sizes(items, rows)
        return enumerate(zip(items, rows, strict=True), first)

    def _tokenise_items(self, items: Sequence[dict[str, Any]]) -> list[NDArray[np.int64]]:
        """Return the tokens of each item; sequences are encoded in one call."""
        if not items:
            return []
        if self.tokens is not None and "sequence" in items[0]:
            return self._encode_sequences(items)
        return [_read_input_tokens(item) for item in items]

    def _encode_sequences(self, items: Sequence[dict[str, Any]]) -> list[NDArray[np.int64]]:
        """Return the tokens of sequences; error messages name the record."""
        if find_override(self.tokens.__class__) or not hasattr(self.tokens, "flat"):
            encode = as_token_function(self.tokens)
            return [np.asarray(encode(item["sequence"]), np.int64) for item in items]
        rows = Ragged.from_list([item["sequence"] for item in items])
        try:
            flat, offsets = self.tokens.flat(rows)
        except AlphabetError as error:
            raise _name_record(error, items) from None
        flat = np.asarray(flat, np.int64)
        return [flat[a:b] for a, b in pairwise(offsets.tolist())]

    def _check_item_sizes(
        self, items: Sequence[dict[str, Any]], rows: list[NDArray[np.int64]]
    ) -> None:
        for item, row in zip(items, rows, strict=True):
            if row.size > self.max_tokens:
                raise ShapeError(
                    f"sequence {_item_name(item)} has {row.size:,} tokens, more than "
                    f"max_tokens={self.max_tokens:,}: increase it, or use sl.augment.Crop"
                )


# Number of items that are encoded in one call, and that `stream` reads ahead.
_ITEMS_PER_ENCODING = 64


def _pack_items(chosen: list[tuple[int, tuple[dict[str, Any], NDArray[np.int64]]]]) -> Any:
    items = [item for _, (item, _) in chosen]
    rows = [row for _, (_, row) in chosen]
    lengths = np.array([row.size for row in rows], np.int64)
    offsets = lengths_to_offsets(lengths)
    positions = np.empty(int(offsets[-1]), np.int64)
    _native.packed_positions(offsets, positions)
    batch = {
        "input_ids": np.concatenate(rows),
        "position_ids": positions,
        "cu_seqlens": offsets.astype(np.int32),
        "max_seqlen": int(lengths.max()),
        "sequence_ids": [str(item.get("id", number)) for number, (item, _) in chosen],
        "ordinals": np.array([item.get("ordinal", n) for n, (item, _) in chosen], np.int64),
        "num_sequences": len(items),
    }
    if "label" in items[0]:
        batch["label"] = default_collate([item["label"] for item in items])
    return batch


def _read_input_tokens(item: dict[str, Any]) -> NDArray[np.int64]:
    if "inputs" not in item:
        raise ArgumentError(
            "items have sequences but no tokens: pass tokens=sl.encode.Tokens(...)"
            if "sequence" in item
            else f"an item has neither sequence nor inputs; it has {', '.join(item)}"
        )
    row = np.asarray(item["inputs"])
    if row.ndim != 1:
        raise ShapeError(
            f"tokens of one sequence must be one row, but those of {_item_name(item)} have "
            f"shape {row.shape}"
        )
    return row.astype(np.int64)


def _item_name(item: dict[str, Any]) -> str:
    """Return the id or the number of an item, for messages."""
    position = f" (ordinal {item['ordinal']})" if "ordinal" in item else ""
    return f"{item.get('id', '?')!r}{position}"


def _name_record(error: AlphabetError, items: Sequence[dict[str, Any]]) -> AlphabetError:
    """Add the record with the invalid character to an error."""
    if error.record is None:
        return error
    return error.with_message(
        f"sequence {_item_name(items[error.record])}, position {error.position}: "
        f"found {error.character!r}, expected {error.expected}",
        items[error.record].get("ordinal", error.record),
    )


def as_token_function(tokenizer: Any) -> Callable[[Any], Any]:
    """Return a tokeniser as a function of one sequence.

    If a vocabulary has one token per residue, the function raises when the tokenizer merges
    residues.
    """
    if find_override(tokenizer.__class__) == "batch":
        return lambda sequence: tokenizer.batch([sequence])[0]
    if not (
        hasattr(tokenizer, "num_special_tokens_to_add") and hasattr(tokenizer, "get_vocab")
    ):
        return tokenizer
    specials = int(tokenizer.num_special_tokens_to_add())
    is_checked = _has_token_per_residue(tokenizer, specials)

    def function(sequence: bytes | str) -> Any:
        text = sequence if isinstance(sequence, str) else bytes(sequence).decode("ascii")
        row: list[int] = tokenizer(text)["input_ids"]
        if is_checked and len(row) != len(sequence) + specials:
            raise ShapeError(
                f"{type(tokenizer).__name__} returns {len(row) - specials:,} tokens for "
                f"{len(sequence):,} residues: it merges unknown characters, such as lower "
                "case; pass tokens=sl.encode.Tokens(...), or replace such characters first"
            )
        return row

    return function


def _has_token_per_residue(tokenizer: Any, specials: int) -> bool:
    """Return whether a tokenizer has one token for each residue."""
    known = [
        token for token in tokenizer.get_vocab() if len(token) == 1 and token.isalpha()
    ]
    probe = "".join(sorted(known)[:_MAX_PROBE_TOKENS])
    return bool(probe) and len(tokenizer(probe)["input_ids"]) == len(probe) + specials


class PackingPool:
    """Items that wait to be packed, with their tokens, in input order."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._waiting: list[PooledItem] = []
        self._tokens = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, number: int, item: tuple[dict[str, Any], NDArray[np.int64]]) -> None:
        """Add an item to the pool."""
        self._waiting.append((number, item))
        self._tokens += item[1].size

    def is_full(self, window: int) -> bool:
        """Return whether enough items wait, with enough tokens for two batches."""
        return len(self._waiting) >= window and self._tokens >= 2 * self._room

    def take_batch(self) -> list[PooledItem]:
        """Remove and return the oldest item, and the items that fill its batch best."""
        lengths = np.array([row.size for _, (_, row) in self._waiting], np.int64)
        positions: list[int] = _native.best_fit(lengths, self._room).tolist()
        best = [self._waiting[position] for position in positions]
        self._tokens -= int(lengths[positions].sum())
        chosen = set(positions)
        self._waiting = [
            item for position, item in enumerate(self._waiting) if position not in chosen
        ]
        return best
