"""Capturing a step does not affect other threads."""

import copy
import os
import threading

import numpy as np
import pytest

import seqloom as sl
from compiled_networks import batch_of, model_of, step

NUMPY = sl.tensor.backend("numpy")
RANDOM_KEY = sl.Key(7)


def locked():
    """Return a locked lock, because a captured step cannot wait for an event."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def slow_step(free, begun):
    """Return a compiled step whose capture continues until the lock `free` is released."""

    @sl.tensor.compile
    def slow(model, x):
        begun.release()
        free.acquire(timeout=20)
        return model(x)

    return slow


def run_during_capture(function):
    """Call a function while another thread captures a step with the same arguments."""
    free, begun = locked(), locked()
    layer, x = sl.nn.Linear(2, 1).bind(NUMPY, sl.Key(0)), NUMPY.tensor([[1.0, 2.0]])
    wanted, slow = layer(x).numpy(), slow_step(free, begun)
    thread = threading.Thread(target=slow, args=(layer, x))
    thread.start()
    try:
        begun.acquire(timeout=20)
        return function(layer, x), wanted, layer
    finally:
        free.release()
        thread.join()


def test_another_thread_can_use_the_module_while_a_step_is_captured():
    found, wanted, layer = run_during_capture(lambda layer, x: layer(x).numpy())
    assert np.array_equal(found, wanted)
    assert type(layer.weight) is sl.nn.Param


def test_another_thread_can_copy_the_module_while_a_step_is_captured():
    twin, wanted, _ = run_during_capture(lambda layer, _x: copy.deepcopy(layer))
    assert np.array_equal(twin(NUMPY.tensor([[1.0, 2.0]])).numpy(), wanted)
    assert type(twin.weight) is sl.nn.Param


def test_writes_of_another_thread_while_a_step_is_captured_are_kept():
    _, _, layer = run_during_capture(lambda layer, _x: layer.bias.assign([5.0]))
    assert layer.bias.numpy().tolist() == [5]


def test_threads_that_share_a_step_compile_one_program():
    errors = []
    compiled = sl.tensor.compile(step)
    (model, optimizer), batch = model_of("MLP", NUMPY), batch_of("MLP", NUMPY)

    def work():
        try:
            for _ in range(5):
                compiled(model, optimizer, 1e-2, batch, RANDOM_KEY)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails with it
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    assert compiled.recompiles == 0
    assert optimizer.step_count == 30


def run_in_child(function):
    """Return whether a function returns True in a forked process before a timeout."""
    if (child := os.fork()) == 0:
        work = threading.Thread(target=lambda: os._exit(int(not function())))
        work.start()
        work.join(20)
        os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_compilation_of_its_parent():
    free, begun = locked(), locked()
    slow, layer = slow_step(free, begun), sl.nn.Linear(2, 1).bind(NUMPY, sl.Key(0))
    thread = threading.Thread(target=slow, args=(layer, NUMPY.tensor([[1.0, 2.0]])))
    thread.start()
    begun.acquire(timeout=20)
    try:
        x = NUMPY.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert run_in_child(lambda: free.release() or slow(layer, x).shape == (2, 1))
    finally:
        free.release()
        thread.join()
