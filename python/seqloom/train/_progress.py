"""What a training run tells the one who watches it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from seqloom._text import count_of, printable
from seqloom.report._values import Fact

_COLUMNS = {
    "epoch": ("epoch", 5),
    "train_loss": ("loss", 8),
    "train_accuracy": ("accuracy", 9),
    "valid_loss": ("valid loss", 11),
    "valid_accuracy": ("valid accuracy", 15),
    "valid_r2": ("valid r2", 9),
}


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


def describe_plan(plan: Plan) -> str:
    """Describes a run: the network, the records, the number of epochs and the task."""
    noun, network = printable(plan.noun), printable(plan.network)
    task = f"; {printable(plan.task)}" if plan.task else ""
    compiled = "; the step is compiled" if plan.is_compiled else ""
    more = ""
    if plan.most_epochs > plan.epochs:
        more = f", up to {plan.most_epochs} while the validation loss falls"
    return (
        f"{f'{network}: ' if network else ''}{plan.parameters:,} parameters learn from "
        f"{_amount(plan, noun)}, {count_of(plan.epochs, 'times')}{more}{_place(plan)}"
        f"{task}{compiled}"
    )


def spell_columns(row: dict[str, Any]) -> str:
    """Spells the heads of the columns that a row has."""
    shown = [look for key, look in _COLUMNS.items() if key in row]
    return " ".join(f"{name:>{width}}" for name, width in shown) + "  samples/s"


def spell_row(row: dict[str, Any], samples: int) -> str:
    """Spells an epoch, and its records a second with its validation."""
    shown = {key: width for key, (_, width) in _COLUMNS.items() if key in row}
    cells = " ".join(f"{_spell(row[key]):>{width}}" for key, width in shown.items())
    speed = f"{samples / max(row['seconds'], 1e-9):,.0f}" if samples else "-"
    return f"{cells} {speed:>10}"


def _place(plan: Plan) -> str:
    """Describes where a run is resumed; empty for a new run."""
    if plan.first_epoch > plan.epochs:
        return ", all done already: raise epochs (--epochs) to go on"
    batch = f", batch {plan.first_batch:,}" if plan.first_batch > 1 else ""
    return (
        f", from epoch {plan.first_epoch}{batch} on"
        if plan.first_epoch > 1 or batch
        else ""
    )


def _amount(plan: Plan, noun: str) -> str:
    """Describes the numbers of records and batches, if the loader has them."""
    is_known, is_one = plan.batches, plan.batches == 1
    batches = f"{plan.batches:,} batch{'' if is_one else 'es'}"
    batches = batches if is_known else "the batches of a loader"
    return f"{count_of(plan.samples, noun)} in {batches}" if plan.samples else batches


def _spell(value: float | None) -> str:
    """Spells a number of a row."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4f}"
