"""Terminal output of a training run: a line for each epoch, and a progress bar."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from seqloom.infer._score_bar import SpeedColumn
from seqloom.train._progress import describe_plan, format_columns, format_row

if TYPE_CHECKING:
    from types import TracebackType

    from seqloom.train._progress import Plan, Step
    from seqloom.train._run import Run

# Number of epochs between two printed lines, after the first round.
_EPOCHS_PER_LINE = 10


def open_console() -> Console:
    """Open a console on standard output, with plain text in notebooks."""
    return Console(
        markup=False, highlight=False, soft_wrap=True, emoji=False, force_jupyter=False
    )


class Watch:
    """The terminal output of `fit`, a context manager that finally removes the bar."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False),
            SpeedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            transient=True,
            auto_refresh=True,
        )
        self._task = self._bar.add_task("", total=None, visible=False, note="")
        self._plan: Plan | None = None
        self._lowest, self._best = float("inf"), 0
        self._is_headed = False
        self._each = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_bar()

    def on_start(self, plan: Plan) -> None:
        """Print the description of the run and show the progress bar."""
        self._plan = plan
        self._lowest, self._best = float("inf"), 0
        if plan.folder is not None and plan.first_epoch > 1:
            # Lowest validation loss before the run was resumed, and its epoch.
            text = (plan.folder / "metrics.jsonl").read_text()
            rows = map(json.loads, text.splitlines())
            losses = [
                (row.get("valid_loss", self._lowest), row.get("epoch", 0)) for row in rows
            ]
            self._lowest, self._best = min(losses, default=(self._lowest, 0))
        self._console.print(describe_plan(plan))
        done = (plan.first_epoch - 1) * plan.samples
        done += (plan.first_batch - 1) * plan.samples // max(plan.batches, 1)
        total = plan.epochs * plan.samples
        self._bar.reset(self._task, total=total, completed=done, visible=True, note="")
        if self._console.is_terminal:
            self._bar.start()

    def on_batch(self, step: Step) -> None:
        """Advance the progress bar by one batch."""
        right = "" if step.accuracy is None else f"  accuracy {100 * step.accuracy:.0f} %"
        note = f"epoch {step.epoch}  loss {step.loss:.4f}{right}"
        self._bar.update(self._task, advance=step.samples, note=note)

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Print a line about an epoch, marked if its validation loss is the lowest yet."""
        if not self._is_headed:
            self._console.print(format_columns(row))
            self._is_headed = True
        loss = row.get("valid_loss")
        is_best = loss is not None and loss < self._lowest
        if is_best:
            self._lowest, self._best = loss, row["epoch"]
        if is_best or not row["epoch"] % self._each:
            samples = self._plan.samples if self._plan else 0
            mark = "  best" if is_best else ""
            self._console.print(f"{format_row(row, samples)}{mark}")
        if self._plan and row["epoch"] == self._plan.epochs:
            self._bar.update(self._task, note="scores and report")

    def on_more(self, epochs: int) -> None:
        """Print why further epochs follow, and extend the progress bar."""
        samples = self._plan.samples if self._plan else 0
        self._bar.update(self._task, total=epochs * samples)
        self._each = _EPOCHS_PER_LINE
        self._console.print(
            f"the validation loss fell in this round, to {self._lowest:.4f} in epoch "
            f"{self._best:,}, so another round follows, to epoch {epochs:,}. The best "
            "weights are kept. early_stop (--early-stop) ends a run earlier. From here "
            f"on, only the best epochs and every {self._each}th epoch are printed"
        )

    def on_end(self, run: Run) -> None:
        """Remove the progress bar."""
        del run
        self._stop_bar()

    def on_error(self, error: BaseException) -> None:
        """Remove the progress bar."""
        del error
        self._stop_bar()

    def _stop_bar(self) -> None:
        """Remove the bar on a terminal; elsewhere rich would print an empty line."""
        if self._console.is_terminal:
            self._bar.stop()
