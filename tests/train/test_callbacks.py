"""Tests of callbacks: the calls that they receive, their order, and how they end a run."""

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments


class CallRecorder:
    """A callback that appends its name and the received calls to a shared list."""

    def __init__(self, name, calls):
        self.name, self.calls = name, calls

    def __getattr__(self, event):
        if not event.startswith("on_"):
            raise AttributeError(event)
        return lambda value: self.calls.append((self.name, event, value))


class EndingCallback:
    """A callback that ends a run at a step or after an epoch."""

    def __init__(self, *, epoch=None, step=None, answer=True):
        self.place, self.answer = (epoch, step), answer

    def on_batch(self, step):
        return self.answer if step.number == self.place[1] else None

    def on_epoch(self, row):
        return self.answer if row["epoch"] == self.place[0] else None


@pytest.fixture
def start(toy, small):
    """Train in epochs of three steps; keyword arguments override the defaults."""
    return lambda **options: sl.train.fit(
        small, toy(), **as_arguments(epochs=4, batch_size=16, report=False, **options)
    )


def test_callbacks_are_called_in_their_order_after_the_progress(start):
    calls = []
    first, second, third = (CallRecorder(name, calls) for name in "abc")
    start(progress=first, callbacks=[second, third])
    events = ["start", *(["batch"] * 3 + ["epoch"]) * 4, "end"]
    assert [entry[:2] for entry in calls] == [
        (name, f"on_{event}") for event in events for name in "abc"
    ]


@pytest.mark.parametrize("answer", [True, np.True_], ids=["bool", "numpy"])
def test_returning_true_from_on_epoch_ends_the_run_normally(start, answer):
    run = start(callbacks=[EndingCallback(epoch=2, answer=answer)])
    assert len(run.history) == run.best_epoch == 2


@pytest.mark.parametrize("answer", [1, "yes", False], ids=repr)
def test_return_values_other_than_true_do_not_end_the_run(start, answer):
    assert len(start(callbacks=[EndingCallback(epoch=2, answer=answer)]).history) == 4


def test_returning_true_from_on_batch_ends_the_epoch_at_this_step(start):
    calls = []
    run = start(callbacks=[EndingCallback(step=5), CallRecorder("a", calls)])
    assert len(run.history) == 2
    assert [event for _, event, _ in calls] == [
        "on_start",
        *["on_batch"] * 3,
        "on_epoch",
        *["on_batch"] * 2,
        "on_epoch",
        "on_end",
    ]


def test_a_run_that_a_callback_ended_can_resume_without_the_callback(start, tmp_path):
    start(callbacks=[EndingCallback(epoch=2)], out=tmp_path / "run")
    assert len(start(out=tmp_path / "run", resume=True).history) == 4


def test_an_exception_in_training_reaches_the_caller_and_all_callbacks(start):
    calls = []

    class Fails:
        def on_epoch(self, row):
            raise RuntimeError(f"no room for epoch {row['epoch']}")

    with pytest.raises(RuntimeError, match="no room for epoch 1"):
        start(callbacks=[Fails(), CallRecorder("a", calls)])
    assert [event for _, event, _ in calls] == ["on_start", *["on_batch"] * 3, "on_error"]
    assert isinstance(calls[-1][2], RuntimeError)


def test_the_plan_that_callbacks_receive_contains_the_settings(start):
    seen = []

    class Reader:
        def on_start(self, plan):
            seen.append(plan.facts)

    start(callbacks=[Reader()], optimizer=sl.optim.SGD(momentum=0.9))
    assert seen[0]["optimizer"].startswith("SGD(")
    assert seen[0]["batch size"] == 16
