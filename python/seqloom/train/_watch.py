"""What a person sees while a network learns: a line an epoch, and a bar on a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from seqloom._text import count_of, printable
from seqloom.infer._score_bar import Speed

if TYPE_CHECKING:
    from types import TracebackType

    from seqloom.train._progress import Plan, Step
    from seqloom.train._run import Run

COLUMNS = {
    "epoch": ("epoch", 5),
    "train_loss": ("loss", 8),
    "train_accuracy": ("accuracy", 9),
    "valid_loss": ("valid loss", 11),
    "valid_accuracy": ("valid accuracy", 15),
    "valid_r2": ("valid r2", 9),
}

# Rounds of 40 and 80 epochs would push everything else off the screen.
_IN_FURTHER_ROUNDS = 10


def open_console() -> Console:
    """Opens standard output; a notebook gets plain lines, which every one of them shows."""
    return Console(
        markup=False, highlight=False, soft_wrap=True, emoji=False, force_jupyter=False
    )


class Watch:
    """Follows `seqloom.train.fit`; as a context, so that the bar is always taken down."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = _make_bar(console)
        self._task = self._bar.add_task("", total=None, visible=False, note="")
        self._plan: Plan | None = None
        self._lowest, self._best = float("inf"), 0
        self._is_headed = False
        self._each = 1  # a line for each so many epochs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._take_down()

    def on_start(self, plan: Plan) -> None:
        """Says what begins and shows the bar."""
        self._plan = plan
        self._lowest, self._best = _lowest_before(plan)
        noun = printable(plan.noun)
        task = f"; {printable(plan.task)}" if plan.task else ""
        compiled = "; the step is compiled" if plan.is_compiled else ""
        self._console.print(
            f"{plan.parameters:,} parameters learn from {_amount(plan, noun)}, "
            f"{count_of(plan.epochs, 'times')}{_place(plan)}{task}{compiled}"
        )
        done = (plan.first_epoch - 1) * plan.samples
        done += (plan.first_batch - 1) * plan.samples // max(plan.batches, 1)
        total = plan.epochs * plan.samples
        self._bar.reset(self._task, total=total, completed=done, visible=True, note="")
        if self._console.is_terminal:
            self._bar.start()

    def on_batch(self, step: Step) -> None:
        """Moves the bar."""
        right = "" if step.accuracy is None else f"  accuracy {100 * step.accuracy:.0f} %"
        note = f"epoch {step.epoch}  loss {step.loss:.4f}{right}"
        self._bar.update(self._task, advance=step.samples, note=note)

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Prints one line, and marks it where the validation loss is the lowest so far."""
        shown = {key: look for key, look in COLUMNS.items() if key in row}
        if not self._is_headed:
            self._console.print(
                " ".join(f"{name:>{w}}" for name, w in shown.values()) + "  samples/s"
            )
            self._is_headed = True
        cells = " ".join(
            f"{_spell(row[key]):>{width}}" for key, (_, width) in shown.items()
        )
        mark = self._mark(row)
        if mark or not row["epoch"] % self._each:
            self._console.print(f"{cells} {self._speed(row):>10}{mark}")
        if self._plan and row["epoch"] == self._plan.epochs:
            self._bar.update(self._task, note="scores and report")

    def on_more(self, epochs: int) -> None:
        """Says why the run goes on and how far, and lengthens the bar."""
        samples = self._plan.samples if self._plan else 0
        self._bar.update(self._task, total=epochs * samples)
        self._each = _IN_FURTHER_ROUNDS
        self._console.print(
            f"the validation loss fell in this round, to {self._lowest:.4f} in epoch "
            f"{self._best:,}: another round follows, to epoch {epochs:,}; the weights of "
            "the best epoch are kept, early_stop (--early-stop) ends a run sooner. From "
            f"here on the best epochs and every {self._each}th have a line"
        )

    def on_end(self, run: Run) -> None:
        """Takes the bar down."""
        del run  # part of the protocol
        self._take_down()

    def on_error(self, error: BaseException) -> None:
        """Takes the bar down."""
        del error  # part of the protocol
        self._take_down()

    def _take_down(self) -> None:
        """Stops the bar where there is one; elsewhere rich would print an empty line."""
        if self._console.is_terminal:
            self._bar.stop()

    def _speed(self, row: dict[str, Any]) -> str:
        """Gives an epoch's samples a second, its validation included."""
        samples = self._plan.samples if self._plan else 0
        return f"{samples / max(row['seconds'], 1e-9):,.0f}" if samples else "-"

    def _mark(self, row: dict[str, Any]) -> str:
        """Says whether this epoch is the best so far."""
        loss = row.get("valid_loss")
        if loss is None or loss >= self._lowest:
            return ""
        self._lowest, self._best = loss, row["epoch"]
        return "  best"


def _place(plan: Plan) -> str:
    """Says where a run goes on."""
    if plan.first_epoch > plan.epochs:
        return ", all done already: raise epochs (--epochs) to go on"
    batch = f", batch {plan.first_batch:,}" if plan.first_batch > 1 else ""
    return (
        f", from epoch {plan.first_epoch}{batch} on"
        if plan.first_epoch > 1 or batch
        else ""
    )


def _amount(plan: Plan, noun: str) -> str:
    """Says how many records and batches there are, as far as the loader knows."""
    is_known, is_one = plan.batches, plan.batches == 1
    batches = f"{plan.batches:,} batch{'' if is_one else 'es'}"
    batches = batches if is_known else "the batches of a loader"
    return f"{count_of(plan.samples, noun)} in {batches}" if plan.samples else batches


def _lowest_before(plan: Plan) -> tuple[float, int]:
    """Gives the lowest validation loss of the epochs before a resume, and its epoch."""
    if plan.folder is None or plan.first_epoch == 1:
        return float("inf"), 0
    rows = map(json.loads, (plan.folder / "metrics.jsonl").read_text().splitlines())
    losses = ((row.get("valid_loss", float("inf")), row.get("epoch", 0)) for row in rows)
    return min(losses, default=(float("inf"), 0))


def _make_bar(console: Console) -> Progress:
    """Makes the bar; it vanishes when it is done."""
    return Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.fields[note]}", markup=False),
        Speed(),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=console,
        transient=True,
        auto_refresh=True,
    )


def _spell(value: float | None) -> str:
    """Spells a number of a row."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4f}"
