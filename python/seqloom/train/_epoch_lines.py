"""Lines about a run, and plain progress for a script without a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from seqloom._text import count_of, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.train._progress import Plan, Step

_COLUMNS = {
    "epoch": ("epoch", 5),
    "train_loss": ("loss", 8),
    "train_accuracy": ("accuracy", 9),
    "valid_loss": ("valid loss", 11),
    "valid_accuracy": ("valid accuracy", 15),
    "valid_r2": ("valid r2", 9),
}
# Seconds between two lines about epochs, and before a line about a batch of a long epoch.
_APART, _LONG = 10.0, 60.0


class EpochLines:
    """Prints at most one line every ten seconds to standard error; none for a short run."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last = clock()
        self._begin = ""  # the line about the whole run, until it is printed
        self._samples = 0
        self._is_headed = False

    def on_start(self, plan: Plan) -> None:
        """Stores the description of the run."""
        self._begin, self._samples = describe_plan(plan), plan.samples
        self._last = self._clock()

    def on_batch(self, step: Step) -> None:
        """Prints a line about a batch if no epoch has ended for a minute."""
        if self._clock() - self._last >= _LONG:
            place = f"epoch {step.epoch}, batch {step.batch:,}"
            self._print(f"{place}: loss {step.loss:.4f}")

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Prints a line about an epoch if the last line is old enough."""
        if self._clock() - self._last >= _APART:
            head = () if self._is_headed else (spell_columns(row),)
            self._print(*head, spell_row(row, self._samples))
            self._is_headed = True

    def on_more(self, epochs: int) -> None:
        """Prints the new last epoch, if a line was printed earlier."""
        if not self._begin:
            self._print(f"another round follows, to epoch {epochs:,}")

    def _print(self, *lines: str) -> None:
        """Prints lines; the description of the run precedes the first one."""
        found = [*([self._begin] if self._begin else []), *lines]
        print(*found, sep="\n", file=self._stream, flush=True)
        self._begin, self._last = "", self._clock()


def open_lines() -> EpochLines | None:
    """Makes lines on standard error; None where there is none."""
    stderr: TextIO | None = sys.stderr
    return None if stderr is None else EpochLines(stderr)


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
