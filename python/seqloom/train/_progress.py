"""Progress reports of a run, and the objects that receive these reports."""

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
from seqloom._text import format_count, printable
from seqloom.errors import ArgumentError
from seqloom.report._values import Fact

_CALLBACKS = ("on_start", "on_batch", "on_epoch", "on_more", "on_end", "on_error")
# Minimum seconds between two lines about epochs, and before a line about a batch.
_LINE_INTERVAL, _BATCH_LINE_AFTER = 10.0, 60.0
_ROW_COLUMNS = {
    "epoch": ("epoch", 5),
    "train_loss": ("loss", 8),
    "train_accuracy": ("accuracy", 9),
    "valid_loss": ("valid loss", 11),
    "valid_accuracy": ("valid accuracy", 15),
    "valid_r2": ("valid r2", 9),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The description of a run that is about to start.

    Attributes:
        first_epoch: The first epoch of this call, counted from 1; above 1 if the run was
            resumed.
        epochs: The planned last epoch. If the number of epochs was not set, epochs
            may be added (`on_more`).
        batches: The number of batches in an epoch; 0 if a loader does not provide it.
        samples: The number of records in an epoch; 0 if a loader does not provide it.
        backend: The backend and its device.
        threads: The number of threads.
        parameters: The number of trained parameters.
        folder: The run folder, or None.
        noun: The plural noun for the records.
        task: The task and its classes, as inferred from the labels.
        first_batch: The number of the batch at which this call starts, counted from 1 in
            its epoch; above 1 if the run was resumed within an epoch.
        is_compiled: True if the training step is compiled.
        network: The name of the network's class.
        most_epochs: The maximum number of epochs, if the number of epochs was not set.
        budget: The maximum duration of training in seconds, or None.
        facts: The settings of the run and a description of the machine, as in the report.

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
    budget: float | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])


@dataclass(frozen=True, slots=True)
class Step:
    """A finished training step.

    Attributes:
        epoch: The epoch of the step, counted from 1.
        batch: The number of the batch within the epoch, counted from 1.
        samples: The number of records in the batch.
        loss: The loss of the batch, before the update.
        accuracy: The accuracy on the batch; None for a regression.
        number: The number of the step, counted from 1 since the start of the run, even if
            it was resumed.
        lr: The learning rate of the step.
        numbers: The values that a user's step returned, by name.

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
    """The methods that `fit` calls on the objects in ``progress`` and ``callbacks``.

    An object may lack some of these methods. `fit` calls the methods in the training
    thread. If ``on_batch`` or ``on_epoch`` returns True, the run ends: the epoch ends at
    this batch, the best weights are kept, and all files are written. An exception in a
    method ends the run at once, and `fit` raises this exception.

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
        """Called at the start of a run, after data and settings were checked."""

    def on_batch(self, step: Step) -> bool | None:
        """Called after each training step; return True to end the run."""

    def on_epoch(self, row: dict[str, Any]) -> bool | None:
        """Called after each epoch with its metrics; return True to end the run."""

    def on_more(self, epochs: int) -> None:
        """Called if epochs are added because the validation loss still falls."""

    def on_end(self, run: Any) -> None:
        """Called at the end of training with the `Run`, after all files were written."""

    def on_error(self, error: BaseException) -> None:
        """Called if an exception stops the run; the exception is raised after this call."""


def describe_plan(plan: Plan) -> str:
    """Describe a run in a sentence: network, records, number of epochs and task."""
    noun, network = printable(plan.noun), printable(plan.network)
    data = "batches of a loader"
    if plan.batches:
        data = f"{plan.batches:,} batch{'' if plan.batches == 1 else 'es'}"
    if plan.samples:
        data = f"{format_count(plan.samples, noun)} in {data}"
    more, place, batch = "", "", ""
    if plan.most_epochs > plan.epochs:
        more = f", up to {plan.most_epochs} while the validation loss falls"
    if plan.budget is not None:
        more += f", or fewer to end within {plan.budget:,g} s"
    if plan.first_batch > 1:
        batch = f", batch {plan.first_batch:,}"
    if plan.first_epoch > plan.epochs:
        place = ", all already done; increase epochs (--epochs) to continue"
    elif plan.first_epoch > 1 or batch:
        place = f", starting at epoch {plan.first_epoch}{batch}"
    task = f"; {printable(plan.task)}" if plan.task else ""
    compiled = "; the step is compiled" if plan.is_compiled else ""
    return (
        f"{f'{network}: ' if network else ''}{plan.parameters:,} parameters, trained on "
        f"{data} for {format_count(plan.epochs, 'epochs')}{more}{place}{task}{compiled}"
    )


def format_columns(row: dict[str, Any]) -> str:
    """Format the column headings of the printed rows."""
    shown = [look for key, look in _ROW_COLUMNS.items() if key in row]
    return " ".join(f"{name:>{width}}" for name, width in shown) + "  samples/s"


def format_row(row: dict[str, Any], samples: int) -> str:
    """Format the row of an epoch, whose records per second include validation."""
    shown = {key: width for key, (_, width) in _ROW_COLUMNS.items() if key in row}
    cells: list[str] = []
    for key, width in shown.items():
        value = row[key]
        if value is not None and not isinstance(value, int):
            value = f"{value:.4f}"
        cells.append(f"{'-' if value is None else value:>{width}}")
    speed = f"{samples / max(row['seconds'], 1e-9):,.0f}" if samples else "-"
    return f"{' '.join(cells)} {speed:>10}"


def is_interactive() -> bool:
    """Return whether the output is shown in a terminal or a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    is_notebook = hasattr(shell, "kernel")
    return is_notebook or (sys.stdout is not None and sys.stdout.isatty())


class CallbackList:
    """A list of callbacks, which forwards each call to all callbacks with the method."""

    def __init__(self, *watchers: Any) -> None:
        self._watchers = [watcher for watcher in watchers if watcher is not None]
        self.is_stopped = False

    def on_start(self, plan: Plan) -> None:
        """Report the description of a run that is about to start."""
        self._call("on_start", plan)

    def on_batch(self, step: Step) -> None:
        """Report a step, and record whether a callback ends the run."""
        self._call("on_batch", step)

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Report an epoch, and record whether a callback ends the run."""
        self._call("on_epoch", row)

    def on_more(self, epochs: int) -> None:
        """Report that epochs were added to the run."""
        self._call("on_more", epochs)

    def on_end(self, run: Any) -> None:
        """Report the end of the run."""
        self._call("on_end", run)

    def on_error(self, error: BaseException) -> None:
        """Report an exception that stopped the run; ignore errors of callbacks."""
        for watcher in self._watchers:
            with suppress(Exception):
                getattr(watcher, "on_error", _ignore)(error)

    def _call(self, name: str, value: object) -> None:
        """Call a method of all callbacks that have this method."""
        for watcher in self._watchers:
            answer = getattr(watcher, name, _ignore)(value)
            # Only True ends the run; other return values of a method are ignored.
            if isinstance(answer, (bool, np.bool_)) and answer:
                self.is_stopped = True


def _ignore(_: object) -> None:
    """Do nothing."""


def check_callbacks(callbacks: Any) -> list[Any]:
    """Return the callbacks as a list; raise if a callback has no method of `Progress`."""
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
    """Raise if a callback has no method of `Progress`, or is a class."""
    if isinstance(watcher, type) or not any(hasattr(watcher, name) for name in _CALLBACKS):
        raise ArgumentError(
            f"{expected} an object with some of the methods {', '.join(_CALLBACKS)}, got "
            f"{quote(watcher)}"
        )


class EpochLines:
    """Prints epochs to standard error, at most one line every ten seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last = clock()
        self._begin = ""  # description of the run; "" once it is printed
        self._samples = 0
        self._is_headed = False

    def on_start(self, plan: Plan) -> None:
        """Store the description of the run until the first line is printed."""
        self._begin, self._samples = describe_plan(plan), plan.samples
        self._last = self._clock()

    def on_batch(self, step: Step) -> None:
        """Print a line about a batch if no line was printed for a minute."""
        if self._clock() - self._last >= _BATCH_LINE_AFTER:
            place = f"epoch {step.epoch}, batch {step.batch:,}"
            self._print(f"{place}: loss {step.loss:.4f}")

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Print a line about an epoch unless a line was printed shortly before."""
        if self._clock() - self._last >= _LINE_INTERVAL:
            head = () if self._is_headed else (format_columns(row),)
            self._print(*head, format_row(row, self._samples))
            self._is_headed = True

    def on_more(self, epochs: int) -> None:
        """Print the new number of epochs if a line was printed before."""
        if not self._begin:
            self._print(f"another round follows, to epoch {epochs:,}")

    def _print(self, *lines: str) -> None:
        """Print lines, with the description of the run before the first line."""
        found = [*([self._begin] if self._begin else []), *lines]
        print(*found, sep="\n", file=self._stream, flush=True)
        self._begin, self._last = "", self._clock()
