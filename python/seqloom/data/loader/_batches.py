"""Where a loader's batches come from: positions, or items in an order of their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from seqloom._threads import count_threads
from seqloom.data.loader._arguments import is_iterable
from seqloom.data.loader._failure import attempt, checked
from seqloom.data.loader._fetch import Fetch
from seqloom.data.loader._mark import Mark, with_last
from seqloom.data.loader._recipe import Staff
from seqloom.data.loader._serve import Work
from seqloom.data.loader._streams import choose_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data.loader._plan import Plan, Step
    from seqloom.data.loader._recipe import Recipe

Handed = tuple[Any, Mark, bool]
_CHUNK = 256


class BatchSource(Protocol):
    """Makes the batches of epochs; ``Raised`` stands for one that an epoch goes on behind.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> from seqloom.data.loader._recipe import Recipe
        >>> recipe = Recipe(dataset=[1], choice=Choice(), service=Service())
        >>> source: BatchSource = choose_batches(recipe)
    """

    def epoch(self, epoch: int, mark: Mark, plan: Plan) -> Iterator[Handed]:
        """Yields batches, where the epoch is then, and whether it was the last."""
        ...

    def count(self, plan: Plan) -> int:
        """Tells how many batches an epoch has."""
        ...

    def identity(self, plan: Plan) -> dict[str, Any]:
        """Names what a state belongs to."""
        ...

    def close(self) -> None:
        """Ends processes."""
        ...


def choose_batches(recipe: Recipe) -> BatchSource:
    """Chooses how batches come to be."""
    # A batch_sampler says itself which items go together.
    is_free = recipe.choice.batch_sampler is None
    is_packed = is_free and callable(getattr(recipe.collate, "stream", None))
    if is_iterable(recipe.dataset):
        return choose_stream(recipe, is_packed=is_packed)
    return PackedPositions(recipe) if is_packed else Positions(recipe)


class Positions:
    """Batches of a map-style dataset.

    Args:
        recipe: What the loader was asked for.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> from seqloom.data.loader._recipe import Recipe
        >>> recipe = Recipe(dataset=[1], choice=Choice(), service=Service())
        >>> Positions(recipe).close()
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        # Several batches at once, or several threads for one: never both.
        threads = 1 if recipe.service.num_workers else count_threads()
        is_batched = recipe.choice.is_batched
        fetch = Fetch(recipe.dataset, recipe.collate, is_batched, threads)
        self._staff = Staff(recipe, fetch)

    def epoch(self, epoch: int, mark: Mark, plan: Plan) -> Iterator[Handed]:
        """Yields batches, where the epoch is then, and whether it was the last."""
        steps = with_last(plan.steps(epoch, mark.position))
        works = (Work(step.request, (step, is_last)) for step, is_last in steps)
        for work, batch in self._staff.attempts(works):
            step, is_last = work.tag
            yield attempt(self._finished, batch, step), Mark(step.done), is_last

    def _finished(self, batch: Any, step: Step) -> Any:
        """Marks padding, and makes of the batch what is handed out."""
        checked(batch)
        if step.padding is not None and isinstance(batch, dict):
            batch["is_padding"] = step.padding
        return self._recipe.convert(batch)

    def count(self, plan: Plan) -> int:
        """Tells how many batches an epoch has."""
        return len(plan)

    def identity(self, plan: Plan) -> dict[str, Any]:
        """Names what a state belongs to."""
        recipe = self._recipe
        order = {"seed": recipe.seed, "shuffle": recipe.choice.shuffle}
        return {"size": plan.size} | order | _fingerprint(recipe.dataset)

    def close(self) -> None:
        """Ends processes."""
        self._staff.close()


class PackedPositions:
    """Batches that a collator makes of single items of a map-style dataset.

    Items are fetched by workers; the collator runs here, so nothing waits unseen elsewhere.

    Args:
        recipe: What the loader was asked for.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> from seqloom.data.loader._recipe import Recipe
        >>> recipe = Recipe(dataset=[1], choice=Choice(), service=Service())
        >>> PackedPositions(recipe).close()
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        fetching = replace(recipe, collate=None)
        self._staff = Staff(fetching, Fetch(recipe.dataset, None))

    def epoch(self, epoch: int, mark: Mark, plan: Plan) -> Iterator[Handed]:
        """Yields batches, where the epoch is then, and whether it was the last."""
        stream = getattr(self._recipe.collate, "stream")  # noqa: B009 - looked for before
        batches = islice(stream(self._items(epoch, plan)), mark.position, None)
        for done, (batch, is_last) in enumerate(with_last(batches), mark.position + 1):
            yield self._recipe.convert(batch), Mark(done), is_last

    def _items(self, epoch: int, plan: Plan) -> Iterator[Any]:
        """Goes through this rank's items, each once."""
        choice = plan.choice
        if choice.batch_sampler is None:
            size = max(_CHUNK, choice.batch_size or 1)
            choice = replace(choice, batch_size=size, drop_last=False)
        plan = replace(plan, choice=choice, rank=replace(plan.rank, even="uneven"))
        works = (Work(step.request) for step in plan.steps(epoch))
        for _, items in self._staff.serve(works):
            yield from items

    def count(self, plan: Plan) -> int:
        """Refuses to guess how many batches there will be."""
        raise TypeError(
            "how many batches a packing collator makes is known when they are made: "
            f"{plan.size:,} items"
        )

    def identity(self, plan: Plan) -> dict[str, Any]:
        """Names what a state belongs to; in another world the batches are others."""
        recipe = self._recipe
        order = {"seed": recipe.seed, "shuffle": recipe.choice.shuffle}
        ranks = {"rank": plan.rank.number, "world_size": plan.rank.world}
        return {"items": plan.size} | order | ranks | _fingerprint(recipe.dataset)

    def close(self) -> None:
        """Ends processes."""
        self._staff.close()


def _fingerprint(dataset: Any) -> dict[str, Any]:
    """Asks a dataset for what names its content."""
    if callable(getattr(dataset, "fingerprint", None)):
        return {"fingerprint": dataset.fingerprint()}
    return {}
