"""Tests of the terminal output of `fit`."""

import io
from contextlib import suppress
from dataclasses import replace

import pytest
from rich.console import Console

from seqloom.train import Plan, Step, _fit
from seqloom.train._progress import EpochLines
from seqloom.train._watch import Watch

RUN_PLAN = Plan(
    first_epoch=1,
    epochs=2,
    batches=1,
    samples=64,
    backend="numpy",
    threads=1,
    parameters=355,
    folder=None,
)


def row(epoch, loss):
    return {"epoch": epoch, "train_loss": 0.5, "valid_loss": loss, "seconds": 0.5}


def watch(*, terminal, losses, plan=RUN_PLAN):
    """Simulate a run and return its terminal output."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=100)
    with Watch(console) as watcher:
        watcher.on_start(plan)
        for epoch, loss in enumerate(losses, start=plan.first_epoch):
            watcher.on_batch(Step(epoch, 1, 64, 0.5, 0.75))
            watcher.on_epoch(row(epoch, loss))
    return written.getvalue()


def test_without_a_terminal_every_epoch_is_a_plain_line():
    lines = watch(terminal=False, losses=[0.7, 0.8]).splitlines()
    assert lines[1].split() == ["epoch", "loss", "valid", "loss", "samples/s"]
    assert lines[2].split() == ["1", "0.5000", "0.7000", "128", "best"]
    assert lines[3].split() == ["2", "0.5000", "0.8000", "128"]
    assert len(lines) == 4


def test_a_terminal_has_a_bar_that_disappears_at_the_end():
    written = watch(terminal=True, losses=[0.7])
    assert "loss 0.5000  accuracy 75 %" in written
    assert written.rstrip().endswith("\x1b[2K")


def test_after_a_resume_the_best_epoch_is_that_of_the_whole_run(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1, "valid_loss": 0.2}\n')
    plan = replace(RUN_PLAN, first_epoch=2, folder=tmp_path)
    assert "best" not in watch(terminal=False, losses=[0.3], plan=plan)


def test_resuming_a_finished_run_prints_how_to_continue():
    said = watch(terminal=False, losses=[], plan=replace(RUN_PLAN, first_epoch=3))
    expected = "2 epochs, all already done; increase epochs (--epochs) to continue"
    assert expected in " ".join(said.split())


def test_the_line_for_a_further_training_round_names_the_best_epoch():
    written = io.StringIO()
    watcher = Watch(Console(file=written, width=300))
    watcher.on_start(RUN_PLAN)
    for epoch, loss in enumerate([0.7, 0.2, 0.9], start=1):
        watcher.on_epoch(row(epoch, loss))
    watcher.on_more(60)
    said = written.getvalue().splitlines()[-1]
    assert "to 0.2000 in epoch 2, so another round follows, to epoch 60" in said


def test_a_further_training_round_prints_the_best_and_every_tenth_epoch():
    written = io.StringIO()
    watcher = Watch(Console(file=written, width=300))
    watcher.on_start(RUN_PLAN)
    for epoch in range(1, 31):
        if epoch == 4:
            watcher.on_more(30)
        watcher.on_epoch(row(epoch, 0.1 if epoch == 13 else 0.5))
    shown = [line.split()[0] for line in written.getvalue().splitlines()]
    numbers = [int(word) for word in shown if word.isdecimal()]
    assert numbers == [RUN_PLAN.parameters, 1, 2, 3, 10, 13, 20, 30]


def test_an_error_removes_the_progress_bar():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    watcher = Watch(console)
    with suppress(ValueError), watcher:
        watcher.on_start(RUN_PLAN)
        raise ValueError
    assert not watcher._bar.live.is_started  # noqa: SLF001 - nothing else shows it


class Clock:
    """A clock whose time the test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def test_without_a_terminal_a_line_is_printed_at_most_every_ten_seconds():
    written, clock = io.StringIO(), Clock()
    lines = EpochLines(written, clock)
    lines.on_start(replace(RUN_PLAN, network="SequenceCNN", most_epochs=140))
    for epoch, seconds in enumerate([1, 9, 10, 15, 21, 40], start=1):
        clock.now = seconds
        lines.on_batch(Step(epoch, 1, 64, 0.5, 0.75))
        lines.on_epoch(row(epoch, 0.7))
    begin, head, *rest = written.getvalue().splitlines()
    assert begin == (
        "SequenceCNN: 355 parameters, trained on 64 sequences in 1 batch for 2 epochs, up "
        "to 140 while the validation loss falls"
    )
    assert head.split() == ["epoch", "loss", "valid", "loss", "samples/s"]
    assert [line.split()[0] for line in rest] == ["3", "5", "6"]


def test_without_a_terminal_a_long_epoch_prints_lines_about_batches():
    written, clock = io.StringIO(), Clock()
    lines = EpochLines(written, clock)
    lines.on_start(RUN_PLAN)
    for batch in range(1, 8):
        clock.now = 20.0 * batch
        lines.on_batch(Step(1, batch, 64, 0.5, 0.75))
    found = [line for line in written.getvalue().splitlines() if line.startswith("epoch")]
    assert found == ["epoch 1, batch 3: loss 0.5000", "epoch 1, batch 6: loss 0.5000"]


def test_without_a_terminal_a_short_run_prints_nothing():
    written = io.StringIO()
    lines = EpochLines(written, Clock())
    lines.on_start(RUN_PLAN)
    lines.on_epoch(row(1, 0.7))
    lines.on_more(60)
    assert not written.getvalue()


@pytest.mark.parametrize(
    ("progress", "kinds"), [(None, [EpochLines]), (False, []), (True, [Watch])]
)
def test_without_a_terminal_progress_selects_the_output(monkeypatch, progress, kinds):
    monkeypatch.setattr(_fit, "is_interactive", lambda: False)
    with _fit.collect_callbacks(progress) as watchers:
        assert [type(it) for it in watchers._watchers] == kinds  # noqa: SLF001 - nothing else shows it
