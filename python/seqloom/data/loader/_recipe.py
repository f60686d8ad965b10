"""What a loader was asked for, and who does it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._failure import checked
from seqloom.data.loader._fetch import Request
from seqloom.data.loader._ours import is_ours, is_plain
from seqloom.data.loader._serve import Crew, Work, serve_here

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from seqloom.data.loader._arguments import Choice, Service

_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a loader was asked for.

    Args:
        dataset: The items.
        choice: How they become batches.
        service: Who makes batches, and how far ahead.
        collate: Puts items together; None leaves them as they are.
        convert: Makes of a batch what is handed out.
        seed: Which of the many orders.
        start: How processes start, beside what they do.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> Recipe(dataset=[1], choice=Choice(), service=Service()).is_ours
        True
    """

    dataset: Any
    choice: Choice
    service: Service
    collate: Callable[[Any], Any] | None = None
    convert: Callable[[Any], Any] = field(default=lambda batch: batch)
    seed: int = 0
    start: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_ours(self) -> bool:
        """Whether no code of a user makes a batch."""
        is_known = is_ours(self.dataset) or is_plain(self.dataset)
        return is_known and is_ours(self.collate) and self.service.worker_init_fn is None

    def crew(self, answer: Callable[[Any], Any]) -> Crew:
        """Chooses processes that do one thing."""
        from seqloom.data.loader._process import Start
        from seqloom.data.loader._worker_main import Job

        service = self.service
        job = Job(answer, service.worker_init_fn, self.dataset, self.start.get("check"))
        named = {
            "dataset": self.dataset,
            "collate_fn": self.collate,
            "worker_init_fn": service.worker_init_fn,
        }
        start = Start(
            job,
            method=service.context or "spawn",
            seed=self.seed,
            environment=self.start.get("environment", {}),
            parts=named,
            most_bytes=self.start.get("most_bytes", 0),
        )
        return Crew(service, start, self.describe)

    def describe(self, content: Any) -> str:
        """Names the records that a batch is made of."""
        if not isinstance(content, Request):
            return f"{content}"
        rows: list[Any] = (
            [*content.rows] if hasattr(content.rows, "__len__") else [content.rows]
        )
        shown = ", ".join(map(str, rows[:_SHOWN]))
        more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
        return f"records {shown}{more}{self._ids(rows)}"

    def _ids(self, rows: list[Any]) -> str:
        """Adds the ids of some records, where the dataset knows them."""
        names = getattr(self.dataset, "ids_of", None)
        if names is None:
            return ""
        return f" ({', '.join(names([int(row) for row in rows[:_SHOWN]]))})"


class Staff:
    """Makes batches by one function: in this thread, in threads, or in processes.

    Args:
        recipe: What the loader was asked for.
        make: Makes a batch.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> recipe = Recipe(dataset=[1], choice=Choice(), service=Service())
        >>> [batch for _, batch in Staff(recipe, abs).serve([Work(-3)])]
        [3]
    """

    def __init__(self, recipe: Recipe, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._service = recipe.service
        in_processes = recipe.service.num_workers and not recipe.is_ours
        self._crew = recipe.crew(make) if in_processes else None

    def serve(self, works: Iterable[Work]) -> Iterator[tuple[Work, Any]]:
        """Yields what was to be made with the batches, in order, up to an exception."""
        with closing(self.attempts(works)) as answers:
            for work, answer in answers:
                yield work, checked(answer)

    def attempts(self, works: Iterable[Work]) -> Generator[tuple[Work, Any]]:
        """Yields what was to be made with the batches, or with what they raised."""
        if self._crew is None:
            answers = serve_here(self._make, works, self._service)
        else:
            answers = self._crew.serve(works)
        if not hasattr(answers, "close"):
            yield from answers
            return
        with closing(answers):  # pyright: ignore[reportArgumentType] - it has a close
            yield from answers

    def close(self) -> None:
        """Ends processes."""
        if self._crew is not None:
            self._crew.close()
