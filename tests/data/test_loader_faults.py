"""Worker processes that die, end early, or make batches for two passes."""

import gc
import multiprocessing
import signal
import sys
import time
from typing import Any

import pytest

import loader_user as user
import seqloom as sl
from seqloom.data import DataLoader
from seqloom.errors import WorkerError
from waiting import wait_until

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
TIMEOUT_SECONDS = 60  # tests take about one second


@pytest.fixture(autouse=True)
def _limit():
    """Fail a test that hangs."""

    def fail(*_):
        pytest.fail(f"the loader hangs: it has not ended after {TIMEOUT_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(TIMEOUT_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def loader(dataset: Any = range(20), **options):
    chosen: dict[str, Any] = {
        "collate_fn": user.plain,
        "num_workers": 2,
        "multiprocessing_context": "fork",
    }
    return DataLoader(dataset, 2, **chosen | options)


EXPECTED_INDEX_BATCHES = [[i, i + 1] for i in range(0, 20, 2)]


@pytest.mark.parametrize("persistent", [False, True])
def test_concurrent_iterators_of_a_loader_do_not_stop_each_other(persistent):
    batches = loader(persistent_workers=persistent)
    outer = iter(batches)
    found = [next(outer)]
    assert list(batches) == EXPECTED_INDEX_BATCHES
    left = iter(batches)
    next(left)
    left.close()
    assert [*found, *outer] == EXPECTED_INDEX_BATCHES
    batches.close()


def test_pending_batches_of_a_closed_loader_are_an_error():
    batches = loader(persistent_workers=True)
    running = iter(batches)
    next(running)
    batches.close()
    with pytest.raises(WorkerError, match="closed before this batch was made"):
        list(running)
    assert list(batches) == EXPECTED_INDEX_BATCHES
    batches.close()


def test_a_timeout_error_in_worker_init_fn_is_raised_at_once():
    with pytest.raises(TimeoutError, match="no answer from the store"):
        list(loader(worker_init_fn=user.raises_timeout_error))


@pytest.mark.parametrize("delay", [0, 0.1])
def test_an_idle_loader_worker_that_dies_is_restarted_three_times(tmp_path, delay):
    init = user.SecondDies(tmp_path, delay)
    batches = loader(sampler=[0, 1], worker_init_fn=init, persistent_workers=True)
    assert list(batches) == [[0, 1]]  # the batches of the first worker
    wait_until(lambda: len(list(tmp_path.iterdir())) == 3)
    time.sleep(delay + 0.5)  # enough time to start a worker again
    assert len(list(tmp_path.iterdir())) == 3
    batches.close()


def test_a_loader_worker_that_dies_at_each_start_is_an_error(tmp_path):
    with pytest.raises(
        WorkerError,
        match=r"worker 1 .* died 3 times \(killed by SIGKILL\), before it began a request",
    ):
        list(loader(worker_init_fn=user.SecondDies(tmp_path, 0)))


class WithoutIds(user.Squares):
    """A dataset that raises an exception when an error message requests its ids."""

    def ids_of(self, rows):
        raise KeyError(f"no ids of {rows}")


def test_an_exception_in_a_worker_thread_is_raised_by_the_loader():
    dataset = WithoutIds(2)
    with pytest.raises(KeyError, match="no ids of"):
        list(loader(dataset=dataset, collate_fn=user.is_killed))


def test_a_loader_worker_that_cannot_start_prints_nothing(monkeypatch):
    noise = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)
    context: Any = multiprocessing.get_context("fork")
    start = context.Process

    def start_first(**options):
        if options["name"].endswith("1"):
            raise OSError("no more processes")
        return start(**options)

    monkeypatch.setattr(type(context), "Process", staticmethod(start_first))
    with pytest.raises(OSError, match="no more processes"):
        list(loader(multiprocessing_context=context))
    gc.collect()
    assert not noise


@pytest.mark.parametrize("workers", [0, 2])
def test_a_packing_collator_needs_no_batch_size(fasta, workers):
    options: dict[str, Any] = {"batch_size": None, "num_workers": workers}
    if workers:
        options["multiprocessing_context"] = "fork"
    assert [*DataLoader(range(5), collate_fn=user.Pairs(), **options)] == EXPECTED_BATCHES
    assert [
        *DataLoader([*range(5)], collate_fn=user.Pairs(), **options)
    ] == EXPECTED_BATCHES
    data = sl.data.SequenceDataset(fasta({"a": "ACGT", "b": "AC", "c": "T"}), encoder=None)
    found = [*DataLoader(data, collate_fn=user.Ids(), **options)]
    assert found == [["a", "b", "c"]]


EXPECTED_BATCHES = [[0, 1], [2, 3], [4]]
