"""What follows a run: what it reports, and who prints it or is called with it."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

from seqloom._arguments import quote
from seqloom._text import count_of, printable
from seqloom.errors import ArgumentError
from seqloom.report._values import Fact

_METHODS = ("on_start", "on_batch", "on_epoch", "on_more", "on_end", "on_error")
# Seconds between two lines about epochs, and before a line about a batch of a long epoch.
_APART, _LONG = 10.0, 60.0
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
    """Describe a run: the network, the records, the number of epochs and the task."""
    noun, network = printable(plan.noun), printable(plan.network)
    data = "the batches of a loader"
    if plan.batches:
        data = f"{plan.batches:,} batch{'' if plan.batches == 1 else 'es'}"
    if plan.samples:
        data = f"{count_of(plan.samples, noun)} in {data}"
    more, place, batch = "", "", ""
    if plan.most_epochs > plan.epochs:
        more = f", up to {plan.most_epochs} while the validation loss falls"
    if plan.first_batch > 1:
        batch = f", batch {plan.first_batch:,}"
    if plan.first_epoch > plan.epochs:
        place = ", all done already: raise epochs (--epochs) to go on"
    elif plan.first_epoch > 1 or batch:
        place = f", from epoch {plan.first_epoch}{batch} on"
    task = f"; {printable(plan.task)}" if plan.task else ""
    compiled = "; the step is compiled" if plan.is_compiled else ""
    return (
        f"{f'{network}: ' if network else ''}{plan.parameters:,} parameters learn from "
        f"{data}, {count_of(plan.epochs, 'times')}{more}{place}{task}{compiled}"
    )


def spell_columns(row: dict[str, Any]) -> str:
    """Spell the heads of the columns that a row has."""
    shown = [look for key, look in _COLUMNS.items() if key in row]
    return " ".join(f"{name:>{width}}" for name, width in shown) + "  samples/s"


def spell_row(row: dict[str, Any], samples: int) -> str:
    """Spell an epoch, and its records a second with its validation."""
    shown = {key: width for key, (_, width) in _COLUMNS.items() if key in row}
    cells: list[str] = []
    for key, width in shown.items():
        value = row[key]
        if value is not None and not isinstance(value, int):
            value = f"{value:.4f}"
        cells.append(f"{'-' if value is None else value:>{width}}")
    speed = f"{samples / max(row['seconds'], 1e-9):,.0f}" if samples else "-"
    return f"{' '.join(cells)} {speed:>10}"


def is_watched() -> bool:
    """Return True if a person sees what is printed: at a terminal, or in a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    is_notebook = hasattr(shell, "kernel")
    return is_notebook or (sys.stdout is not None and sys.stdout.isatty())


class Watchers:
    """Calls the methods of several watchers, in order; each has some of the methods."""

    def __init__(self, *watchers: Any) -> None:
        self._watchers = [watcher for watcher in watchers if watcher is not None]
        self.is_stopped = False

    def on_start(self, plan: Plan) -> None:
        """Tell what the run is about to do."""
        self._tell("on_start", plan)

    def on_batch(self, step: Step) -> None:
        """Tell of a step; remembers whether one asked to end the run."""
        self._tell("on_batch", step)

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Tell of an epoch; remembers whether one asked to end the run."""
        self._tell("on_epoch", row)

    def on_more(self, epochs: int) -> None:
        """Tell that the run goes on to a later last epoch."""
        self._tell("on_more", epochs)

    def on_end(self, run: Any) -> None:
        """Tell of the end."""
        self._tell("on_end", run)

    def on_error(self, error: BaseException) -> None:
        """Tell of an exception; an exception of a watcher does not replace it."""
        for watcher in self._watchers:
            with suppress(Exception):
                getattr(watcher, "on_error", _ignore)(error)

    def _tell(self, name: str, value: object) -> None:
        """Call one method of all watchers."""
        for watcher in self._watchers:
            answer = getattr(watcher, name, _ignore)(value)
            # Only True: a method may return something else for its own purposes.
            if isinstance(answer, (bool, np.bool_)) and answer:
                self.is_stopped = True


def _ignore(_: object) -> None:
    """Do nothing."""


def check_callbacks(callbacks: Any) -> list[Any]:
    """List the callbacks; refuses an object that has none of the methods."""
    given: Any = callbacks
    if not isinstance(callbacks, (list, tuple)):
        raise ArgumentError(
            f"callbacks must be a list of objects, got {quote(callbacks)}; write "
            "callbacks=[...]"
        )
    for callback in (found := [*given]):
        require_methods("each of callbacks must be", callback)
    return found


def require_methods(expected: str, watcher: object) -> None:
    """Refuse an object that has none of the methods, and a class instead of an object."""
    if isinstance(watcher, type) or not any(hasattr(watcher, name) for name in _METHODS):
        raise ArgumentError(
            f"{expected} an object with some of the methods {', '.join(_METHODS)}, got "
            f"{quote(watcher)}"
        )


class EpochLines:
    """Prints at most one line every ten seconds to standard error; none for a short run."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last = clock()
        self._begin = ""  # the line about the whole run, until it is printed
        self._samples = 0
        self._is_headed = False

    def on_start(self, plan: Plan) -> None:
        """Store the description of the run."""
        self._begin, self._samples = describe_plan(plan), plan.samples
        self._last = self._clock()

    def on_batch(self, step: Step) -> None:
        """Print a line about a batch if no epoch has ended for a minute."""
        if self._clock() - self._last >= _LONG:
            place = f"epoch {step.epoch}, batch {step.batch:,}"
            self._print(f"{place}: loss {step.loss:.4f}")

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Print a line about an epoch if the last line is old enough."""
        if self._clock() - self._last >= _APART:
            head = () if self._is_headed else (spell_columns(row),)
            self._print(*head, spell_row(row, self._samples))
            self._is_headed = True

    def on_more(self, epochs: int) -> None:
        """Print the new last epoch, if a line was printed earlier."""
        if not self._begin:
            self._print(f"another round follows, to epoch {epochs:,}")

    def _print(self, *lines: str) -> None:
        """Print lines; the description of the run precedes the first one."""
        found = [*([self._begin] if self._begin else []), *lines]
        print(*found, sep="\n", file=self._stream, flush=True)
        self._begin, self._last = "", self._clock()
