"""Tests that a progress object receives all calls in order."""

import pytest

import seqloom as sl


class CallRecorder(sl.train.Progress):
    """A progress object that records the received calls."""

    def __init__(self):
        self.calls = []

    def on_start(self, plan):
        self.calls.append(("start", plan))

    def on_batch(self, step):
        self.calls.append(("batch", step))

    def on_epoch(self, row):
        self.calls.append(("epoch", row))

    def on_end(self, run):
        self.calls.append(("end", run))


@pytest.fixture
def calls(toy, small):
    """Calls that a progress object receives in a run of two epochs."""
    diary = CallRecorder()
    sl.train.fit(
        small,
        toy(40),
        epochs=2,
        batch_size=16,
        backend=sl.train.Computation(num_threads=1),
        progress=diary,
    )
    return diary.calls


def test_a_progress_object_receives_all_calls_in_order(calls):
    epoch = ["batch"] * 3 + ["epoch"]
    assert [name for name, _ in calls] == ["start", *epoch, *epoch, "end"]


def test_the_plan_that_a_progress_object_receives_describes_the_run(calls):
    plan = calls[0][1]
    assert (plan.first_epoch, plan.epochs, plan.batches, plan.samples) == (1, 2, 3, 40)
    assert (plan.backend, plan.threads, plan.folder) == ("numpy", 1, None)


def test_each_step_has_its_epoch_batch_and_number_of_records(calls):
    steps = [it for name, it in calls if name == "batch"]
    assert [(it.epoch, it.batch, it.samples) for it in steps[3:]] == [
        (2, 1, 16), (2, 2, 16), (2, 3, 8)
    ]  # fmt: skip
    assert all(0 <= it.accuracy <= 1 for it in steps)


def test_the_loss_of_an_epoch_is_the_mean_over_its_records(calls):
    steps = [it for name, it in calls if name == "batch"][:3]
    row = next(it for name, it in calls if name == "epoch")
    expected = sum(it.loss * it.samples for it in steps) / 40
    assert row["train_loss"] == pytest.approx(expected)
