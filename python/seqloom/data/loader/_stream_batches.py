"""Batches of our own stream: read here in one order, whatever the number of workers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqloom._system import count_cores
from seqloom._threads import count_threads
from seqloom.data.loader._draws import with_draws
from seqloom.data.loader._executor import Executor
from seqloom.data.loader._iterable_batches import (
    ReplayedBatches,
    count_batches,
    fingerprint_of,
    replay_identity,
)
from seqloom.data.loader._own_code import ColumnMaker, column_maker, is_ours, with_encoder
from seqloom.data.loader._request import Request, mark_last, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from seqloom._rust import _native
    from seqloom.data._position import Rank
    from seqloom.data.loader._arguments import Batching, LoaderSettings
    from seqloom.data.loader._epoch_order import EpochOrder
    from seqloom.data.loader._request import EpochProgress

_FEW_CORES = 2


class StreamBatches:
    """Batches of our own stream; the state of the stream is part of the loader's."""

    def __init__(self, settings: LoaderSettings) -> None:
        self._settings = settings
        self._make = StreamBatchMaker.of(settings)
        self._executor = Executor(with_draws(self._make, settings), settings)

    def epoch(
        self, start: EpochProgress, order: EpochOrder
    ) -> Generator[tuple[Request, Any]]:
        """Yields requests with their batches; an exception ends the epoch."""
        part = _begin(self._settings, start.epoch, order)
        if start.stream_state is not None:
            part.load_state_dict(start.stream_state)
        requests = mark_last(self._requests(part, start, order.rank))
        with closing(self._executor.run(requests)) as answers:
            for request, batch in answers:
                yield request, self._settings.convert(unwrap(batch))

    def _requests(self, part: Any, start: EpochProgress, rank: Rank) -> Iterator[Request]:
        """Reads the records of the batches, ahead in a thread where a core is free."""
        batching = self._settings.batching
        # On two cores that thread would take time from the one that makes batches.
        ahead = bool(self._settings.workers.ahead) and count_cores() > _FEW_CORES
        pieces = part.pieces(batching.batch_size or 1, ahead=ahead)
        numbered = enumerate(_whole(pieces, batching), start.position + 1)
        for position, piece in numbered:
            content = self._make.content(piece)
            request = Request(content, start.epoch, position=position)
            request.place = rank.number + rank.world * (position - 1)
            request.stream_state = partial(getattr, piece, "state")
            yield request

    def count(self, order: EpochOrder) -> int:
        """Counts the batches of an epoch, where the stream has a length."""
        del order
        return count_batches(self._settings, is_packed=False)

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with; the stream's state has its own."""
        del order
        return {"seed": self._settings.seed} | fingerprint_of(self._settings.dataset)

    def close(self) -> None:
        """Ends processes."""
        self._executor.close()


class PackedStreamBatches(ReplayedBatches):
    """Batches that a packing collator makes of the items of our own stream."""

    def _batches(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        return self._pack(iter(_begin(self._settings, epoch, order)))

    def count(self, order: EpochOrder) -> int:
        """Refuses to guess the number of batches."""
        del order
        return count_batches(self._settings, is_packed=True)

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with, as batches are made again."""
        del order
        return replay_identity(self._settings)

    def close(self) -> None:
        """Does nothing: the collator runs here."""


def _begin(settings: LoaderSettings, epoch: int, order: EpochOrder) -> Any:
    """Begins an epoch of this rank's part of the stream."""
    part, rank = settings.dataset, order.rank
    if rank.world > 1:
        part = part.shard(rank.number, rank.world)
    part.set_epoch(epoch)
    return part


def _whole(pieces: Iterator[Any], batching: Batching) -> Iterator[Any]:
    """Leaves out a last piece that is not full, if ``drop_last`` is set."""
    for piece in pieces:
        if not batching.drop_last or len(piece) == batching.batch_size:
            yield piece


@dataclass(frozen=True, slots=True)
class StreamBatchMaker:
    """Makes one batch of the records of a piece; a user's collator gets its items."""

    collate: Any
    is_batched: bool
    num_threads: int
    encoder: Any
    is_ours: bool
    supports_native_batches: (
        bool  # whether threads can make batches without the interpreter
    )
    _columns: ColumnMaker | None

    @classmethod
    def of(cls, settings: LoaderSettings) -> StreamBatchMaker:
        """Finds how the pieces of a stream become batches."""
        threads = 1 if settings.workers.num_workers else count_threads()
        encoder, is_batched = settings.dataset.encoder, settings.batching.is_batched
        collate = with_encoder(settings.collate, encoder)
        columns = column_maker(encoder, collate) if is_batched else None
        supports_native_batches = (
            columns is not None and settings.dataset.supports_native_batches
        )
        is_known = is_ours(collate)
        return cls(
            collate,
            is_batched,
            threads,
            encoder,
            is_known,
            supports_native_batches,
            columns,
        )

    def content(self, piece: Any) -> Any:
        """Returns what a request carries: the piece, or its items for another process."""
        return piece if self.is_ours else piece.items()

    def __call__(self, request: Request) -> Any:
        """Makes one batch."""
        content, columns = request.content, self._columns
        if self.is_ours and columns is not None:
            return columns.finish(self._make_columns(content, columns), self.encoder)
        items = content.items() if self.is_ours else content
        whole = items if self.is_batched else items[0]
        return whole if self.collate is None else self.collate(whole)

    def _make_columns(self, piece: Any, columns: ColumnMaker) -> dict[str, Any]:
        """Makes the columns of one batch."""
        if not piece.stream.supports_native_batches:
            return piece.batch(num_threads=self.num_threads, **columns.options)
        piece.check()
        return piece.native_batches(**columns.options).make(
            piece.chunk.rows, self.num_threads
        )

    def _finish(self, wait: Callable[[], dict[str, Any]]) -> Any:
        """Waits for the columns of a batch, and makes what the collator would."""
        columns = wait()
        return (
            columns
            if self._columns is None
            else self._columns.finish(columns, self.encoder)
        )

    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], Callable[[], Any]]:
        """Returns a function that starts a batch in the threads of ``maker``."""
        columns, source, native_maker = self._columns, None, None

        def start(request: Request) -> Callable[[], Any]:
            nonlocal source, native_maker
            piece: Any = request.content
            if (
                columns is None or not piece.stream.supports_native_batches
            ):  # `augment` was set later
                return partial(self, request)
            piece.check()
            # Records that are read at once become several batches: one maker for all.
            if native_maker is None or piece.chunk.source is not source:
                source, native_maker = (
                    piece.chunk.source,
                    piece.native_batches(**columns.options),
                )
            wait = native_maker.begin(maker, piece.chunk.rows)
            return partial(self._finish, wait)

        return start
