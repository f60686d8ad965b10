"""Batches of what has an order of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from seqloom._threads import count_cores, count_threads
from seqloom.data.loader._fetch import column_maker, knowing
from seqloom.data.loader._iterable import Cut, Follow, Turns
from seqloom.data.loader._mark import Mark, with_last
from seqloom.data.loader._ours import is_ours
from seqloom.data.loader._recipe import Staff
from seqloom.data.loader._serve import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from seqloom._rust import _native
    from seqloom.data.loader._arguments import Choice
    from seqloom.data.loader._plan import Plan
    from seqloom.data.loader._recipe import Recipe

Handed = tuple[Any, Mark, bool]
_FEW_CORES = 2


def choose_stream(recipe: Recipe, *, is_packed: bool) -> Streamed | Followed:
    """Chooses where items are read: our streams here, a user's code in its workers."""
    if is_ours(recipe.dataset) and hasattr(recipe.dataset, "shard"):
        return Streamed(recipe, is_packed=is_packed)
    return Followed(recipe, is_packed=is_packed)


class _Batches:
    """What all streams share."""

    def __init__(self, recipe: Recipe, *, is_packed: bool) -> None:
        self._recipe = recipe
        self._is_packed = is_packed
        choice = recipe.choice
        size = None if is_packed else choice.batch_size
        collate = None if is_packed else recipe.collate
        self._cut = Cut(size=size, drop_last=choice.drop_last, collate=collate)

    def _packed(self, items: Iterable[Any]) -> Iterator[Any]:
        """Lets the collator make batches of single items, where it can."""
        if not self._is_packed:
            return iter(items)
        stream = getattr(self._recipe.collate, "stream")  # noqa: B009 - looked for before
        return stream(items)

    def _replayed(self, batches: Iterator[Any], mark: Mark) -> Iterator[Handed]:
        """Goes on behind batches that were had, by making them again."""
        rest = self._told(islice(batches, mark.position, None))
        for done, (batch, is_last) in enumerate(rest, mark.position + 1):
            yield self._recipe.convert(batch), Mark(done), is_last

    def _told(self, batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
        """Tells of each batch whether it is the last."""
        return with_last(batches)

    def count(self, plan: Plan) -> int:
        """Tells how many batches an epoch has, where the dataset says."""
        items, choice = len(self._recipe.dataset), plan.choice
        if self._is_packed:
            raise TypeError("how many batches a packing collator makes is known later")
        size = choice.batch_size or 1
        return items // size if choice.drop_last else -(-items // size)

    def identity(self, plan: Plan) -> dict[str, Any]:
        """Names what a state belongs to."""
        dataset = self._recipe.dataset
        identity: dict[str, Any] = {"seed": self._recipe.seed}
        if callable(getattr(dataset, "fingerprint", None)):
            identity["fingerprint"] = dataset.fingerprint()
        return identity | self._fixed(plan)

    def _fixed(self, plan: Plan) -> dict[str, Any]:
        """Names what must not change where batches are made again."""
        return {
            "batch_size": plan.choice.batch_size,
            "num_workers": self._recipe.service.num_workers,
        }


class Followed(_Batches):
    """Batches of a user's iterable: each worker has a copy, and is asked in turn.

    Args:
        recipe: What the loader was asked for.
        is_packed: Whether the collator takes single items.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> from seqloom.data.loader._recipe import Recipe
        >>> recipe = Recipe(dataset=iter("ab"), choice=Choice(), service=Service())
        >>> Followed(recipe, is_packed=False).close()
    """

    def __init__(self, recipe: Recipe, *, is_packed: bool) -> None:
        super().__init__(recipe, is_packed=is_packed)
        self._follow = Follow(recipe.dataset, self._cut)
        workers = recipe.service.num_workers
        self._crew = recipe.crew(self._follow) if workers else None

    def epoch(self, epoch: int, mark: Mark, plan: Plan) -> Iterator[Handed]:
        """Yields batches, where the epoch is then, and whether it was the last."""
        del plan
        return self._replayed(self._packed(self._items(epoch)), mark)

    def _told(self, batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
        """Calls no batch the last where a user's code runs here."""
        # To know the last one, a batch is taken ahead, and that code may write over the one
        # before.
        if self._crew is None:
            return ((batch, False) for batch in batches)
        return super()._told(batches)

    def _items(self, epoch: int) -> Iterator[Any]:
        """Goes through what the workers, or the dataset here, give."""
        if self._crew is None:
            return self._follow.whole(epoch)
        turns = Turns(epoch, self._recipe.service.num_workers)
        return turns.taken(self._crew.serve(turns.works()))

    def close(self) -> None:
        """Ends processes."""
        if self._crew is not None:
            self._crew.close()


class Streamed(_Batches):
    """Batches of our own stream: read here in one order, whatever the number of workers.

    Args:
        recipe: What the loader was asked for.
        is_packed: Whether the collator takes single items.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceStream
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> from seqloom.data.loader._recipe import Recipe
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> stream = SequenceStream("a.fa")
        >>> recipe = Recipe(dataset=stream, choice=Choice(), service=Service())
        >>> Streamed(recipe, is_packed=False).close()
    """

    def __init__(self, recipe: Recipe, *, is_packed: bool) -> None:
        super().__init__(recipe, is_packed=is_packed)
        self._make = _Made.of(recipe)
        self._staff = Staff(recipe, self._make)

    def epoch(self, epoch: int, mark: Mark, plan: Plan) -> Iterator[Handed]:
        """Yields batches, where the epoch is then, and whether it was the last."""
        part = self._recipe.dataset
        if plan.rank.world > 1:
            part = part.shard(plan.rank.number, plan.rank.world)
        part.set_epoch(epoch)
        if self._is_packed:
            return self._replayed(self._packed(_items(part)), mark)
        if mark.stream is not None:
            part.load_state_dict(mark.stream)
        return self._handed(part, mark)

    def _handed(self, part: Any, mark: Mark) -> Iterator[Handed]:
        """Reads, ahead in a thread where a core is left, and lets workers make batches."""
        choice = self._recipe.choice
        # On two cores that thread would take the time of the one that makes batches.
        ahead = bool(self._recipe.service.ahead) and count_cores() > _FEW_CORES
        pieces = part.pieces(choice.batch_size or 1, ahead=ahead)
        works = (
            Work(self._make.content(piece), (piece, is_last))
            for piece, is_last in with_last(_whole(pieces, choice))
        )
        answers = self._staff.serve(works)
        for done, (work, batch) in enumerate(answers, mark.position + 1):
            piece, is_last = work.tag
            state = partial(getattr, piece, "state")
            yield self._recipe.convert(batch), Mark(done, state), is_last

    def _fixed(self, plan: Plan) -> dict[str, Any]:
        """Names what must not change: a stream's own state goes on with anything."""
        return super()._fixed(plan) if self._is_packed else {}

    def close(self) -> None:
        """Ends processes."""
        self._staff.close()


@dataclass(frozen=True, slots=True)
class _Made:
    """Makes a batch of a piece, as columns where our own collator is content with them.

    A user's collator gets items, which go to its process.
    """

    collate: Any
    is_batched: bool
    num_threads: int
    encoder: Any
    is_ours: bool
    can_draft: bool
    _columns: Any

    @classmethod
    def of(cls, recipe: Recipe) -> _Made:
        """Chooses how the pieces of a stream become batches."""
        threads = 1 if recipe.service.num_workers else count_threads()
        encoder, is_batched = recipe.dataset.encoder, recipe.choice.is_batched
        collate = knowing(recipe.collate, encoder)
        columns = column_maker(encoder, collate) if is_batched else None
        drafts = columns is not None and recipe.dataset.can_draft
        is_known = is_ours(collate)
        return cls(collate, is_batched, threads, encoder, is_known, drafts, columns)

    def content(self, piece: Any) -> Any:
        """Says what a batch is made of: the piece here, its items elsewhere."""
        return piece if self.is_ours else piece.items()

    def __call__(self, content: Any) -> Any:
        """Makes a batch."""
        if not self.is_ours:
            items: list[Any] = content
        elif self._columns is None:
            items = content.items()
        else:
            options = {"num_threads": self.num_threads, **self._columns.options}
            return self.finish(content.batch(**options))
        whole = items if self.is_batched else items[0]
        return whole if self.collate is None else self.collate(whole)

    def beginner(self, maker: _native.BatchMaker) -> Callable[[Any], Callable[[], Any]]:
        """Gives what lets the maker's threads begin with a piece, and then waits for it."""
        # What was read at once becomes several batches: it is prepared for all of them.
        source: Any = None
        drafter: Any = None

        def started(piece: Any) -> Callable[[], Any]:
            nonlocal source, drafter
            if not piece.stream.can_draft:  # `augment` was set after the loader was made
                return partial(self, piece)
            piece.check()
            if piece.chunk.source is not source:
                source = piece.chunk.source
                drafter = piece.drafter(**self._columns.options)
            wait = drafter.begin(maker, piece.chunk.rows)
            return lambda: self.finish(wait())

        return started

    def finish(self, batch: dict[str, Any]) -> Any:
        """Makes of columns what the collator would make of items."""
        return self._columns.finish(batch, self.encoder)


def _items(part: Any) -> Iterator[Any]:
    """Hands out items one by one."""
    yield from part


def _whole(pieces: Iterator[Any], choice: Choice) -> Iterator[Any]:
    """Leaves out a last piece that is not full, where asked for."""
    for piece in pieces:
        if not choice.drop_last or len(piece) == choice.batch_size:
            yield piece
