"""`Profile` counts operations without changing their results."""

import json
import threading
from itertools import count

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import BackendError
from seqloom.tensor import _inspection

NUMPY_BACKEND = sl.tensor.backend("numpy", num_threads=1)


def results_of(profile):
    return {each.name: each for each in profile.operations}


def test_profile_counts_calls_and_bytes_of_results():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    x = profile.tensor(np.ones((4, 8), np.float32))
    for _ in range(3):
        x.sum(axis=1)
    found = results_of(profile)["sum"]
    assert (found.calls, found.bytes) == (3, 3 * 4 * 4)


def test_profile_sums_the_time_of_calls(monkeypatch):
    clock = count()  # each call returns a time that is one nanosecond later
    monkeypatch.setattr(_inspection, "perf_counter_ns", lambda: next(clock))
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    x = profile.tensor(np.ones((4, 4), np.float32))
    for _ in range(20):
        x = x @ x * 1e-3
    assert results_of(profile)["matmul"].seconds == pytest.approx(20e-9)


def test_profile_results_equal_those_of_the_backend():
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    both = [b.tensor(x) for b in (NUMPY_BACKEND, sl.tensor.Profile(NUMPY_BACKEND))]
    ours, theirs = (sl.nn.functional.softmax(each @ each.mT).numpy() for each in both)
    assert np.array_equal(ours, theirs)


def test_profile_accepts_tensors_of_the_measured_backend():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    assert (profile.tensor([1.0]) + NUMPY_BACKEND.tensor([2.0])).item() == 3.0


def test_profile_below_autodiff_measures_forward_and_backward():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    x = sl.tensor.Autodiff(profile).tensor([[1.0, 2.0]], requires_grad=True)
    gradient = sl.nn.functional.relu(x).sum().backward().wrt(x)
    assert gradient.numpy().tolist() == [[1.0, 1.0]]
    assert {"relu", "relu_grad"} <= set(results_of(profile))


def test_profile_below_two_autodiff_levels_measures_all_operations():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    twice = sl.tensor.Autodiff(sl.tensor.Autodiff(profile))
    x = twice.tensor(3.0, requires_grad=True)
    assert (x * x * x).backward().wrt(x).item() == 27.0
    assert results_of(profile)["multiply"].calls >= 2


def test_a_module_trains_on_a_backend_with_a_profile():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    layer = sl.nn.Linear(3, 1).bind(profile, sl.Key(0))
    x = layer.backend.tensor(np.ones((2, 3), np.float32))
    loss, grads = sl.nn.value_and_grad(lambda layer, x: layer(x).sum())(layer, x)
    sl.optim.AdamW().step(1e-3, layer, grads)
    assert np.isfinite(loss.item())
    assert {"linear", "adamw"} <= set(results_of(profile))


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_profile_waits_for_background_computation(library):
    pytest.importorskip(library)
    profile = sl.tensor.Profile(sl.tensor.backend(library))
    x = profile.tensor(np.ones((128, 128), np.float32))
    assert (x @ x).sum().item() == 128**3
    assert results_of(profile)["matmul"].seconds > 0


def test_profile_writes_a_trace_with_one_event_per_call(tmp_path):
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    _ = (profile.tensor([1.0, 2.0]) + 1) * 2
    profile.trace(tmp_path / "step.json")
    events = json.loads((tmp_path / "step.json").read_text("utf-8"))["traceEvents"]
    assert [each["name"] for each in events] == ["asarray", "add", "multiply"]
    assert all(each["ph"] == "X" and each["dur"] >= 0 for each in events)
    assert [each["ts"] for each in events] == sorted(each["ts"] for each in events)


def test_profile_counts_the_calls_of_each_thread_separately():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    x = profile.tensor([1.0])
    threads = [threading.Thread(target=lambda: x + 1) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results_of(profile)["add"].calls == 4


def test_the_profile_table_lists_each_operation_once():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    _ = (profile.tensor([1.0]) + 1) + 1
    names = [line.split()[0] for line in profile.table().splitlines()]
    assert sorted(names) == ["add", "asarray", "operation"]


def test_profile_measurements_can_be_cleared():
    profile = sl.tensor.Profile(NUMPY_BACKEND)
    profile.tensor([1.0])
    profile.clear()
    assert profile.operations == []


def test_requires_grad_on_a_profile_over_autodiff_names_the_right_order():
    profile = sl.tensor.Profile(sl.tensor.Autodiff(NUMPY_BACKEND))
    with pytest.raises(BackendError, match=r"Autodiff\(sl.tensor.Profile"):
        profile.tensor([1.0], requires_grad=True)
