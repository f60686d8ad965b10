"""What a training run tells the one who watches it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from seqloom.report._values import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is about to be done.

    Attributes:
        first_epoch: The first epoch of this call, from 1; more than 1 on resume.
        epochs: The last epoch; a run that chooses its epochs may tell of more (`on_more`).
        batches: The batches of an epoch; 0 where a loader does not know.
        samples: The records of an epoch; 0 where a loader does not know.
        backend: What computes, and where.
        threads: How many threads compute.
        parameters: How many numbers are learned.
        folder: The run folder, if there is one.
        noun: What the records are called.
        task: The task and its classes, as `fit` takes them from the labels.
        first_batch: The first batch of the first epoch, from 1; more than 1 on resume.
        is_compiled: Whether the step is compiled.
        network: The class of the network.
        most_epochs: The last epoch of a run that chooses its epochs and always improves.
        facts: The settings of the run and its machine, as the report shows them.

    Examples:
        >>> plan = Plan(
        ...     first_epoch=1, epochs=2, batches=3, samples=192, backend="numpy", threads=2,
        ...     parameters=355, folder=None,
        ... )  # fmt: skip
        >>> plan.epochs
        2
    """

    first_epoch: int
    epochs: int
    batches: int
    samples: int
    backend: str
    threads: int
    parameters: int
    folder: Path | None
    noun: str = "sequences"
    task: str = ""
    first_batch: int = 1
    is_compiled: bool = False
    network: str = ""
    most_epochs: int = 0
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])


@dataclass(frozen=True, slots=True)
class Step:
    """One training step that was made.

    Attributes:
        epoch: Its epoch, from 1.
        batch: Its batch in the epoch, from 1.
        samples: The records in it.
        loss: Their loss, before the step.
        accuracy: The share of right answers among them; None for a regression.
        number: The step in the run, from 1; a resumed run counts on.
        lr: Its learning rate.
        numbers: What a step of the user's own returned by name.

    Examples:
        >>> Step(1, 1, 64, 0.7, 0.5).samples
        64
    """

    epoch: int
    batch: int
    samples: int
    loss: float
    accuracy: float | None
    number: int = 0
    lr: float = math.nan
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])


class Progress(Protocol):
    """Watches a training run: what `fit` takes as ``progress`` and in ``callbacks``.

    An object that has some of the methods will do. `fit` calls them on the thread that
    trains. ``on_batch`` and ``on_epoch`` may return True to end the run: the epoch is then
    closed where it stands, the best weights are kept, and everything is written. An
    exception ends the run at once and reaches the caller of `fit`.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> class Counter(Progress):
        ...     def on_epoch(self, row):
        ...         print("epoch", row["epoch"])
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
        >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
        >>> data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=encoder)
        >>> config = sl.models.SequenceCNNConfig.for_data(data)
        >>> _ = sl.train.fit(config, data, epochs=2, progress=Counter())
        epoch 1
        epoch 2
    """

    def on_start(self, plan: Plan) -> None:
        """Begins: the data and settings are checked, the folder is made."""

    def on_batch(self, step: Step) -> bool | None:
        """Hears of one step; True ends the run."""

    def on_epoch(self, row: dict[str, Any]) -> bool | None:
        """Hears of one epoch, saved by now: its line of ``metrics.jsonl``; True ends."""

    def on_more(self, epochs: int) -> None:
        """Hears that the run goes on to a later epoch, because it still improves."""

    def on_end(self, run: Any) -> None:
        """Ends: everything is written; it gets the `Run`."""

    def on_error(self, error: BaseException) -> None:
        """Ends: an exception stops the run, and is raised after this call."""
