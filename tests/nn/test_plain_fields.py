"""Copies, moves and records do not change plain fields; lazy values are created once."""

import copy
import os
import sqlite3
import threading
import time
from typing import Any, NamedTuple

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn

RANDOM_KEY = sl.Key(0)


class Holder(nn.Module):
    layer: nn.Linear
    held: object

    def __init__(self, held):
        self.layer = nn.Linear(2, 2)
        self.held = held


class Handle:
    """An object that cannot be copied or pickled, such as an open file of a library."""

    def __reduce_ex__(self, protocol):
        raise TypeError("a handle")


@pytest.fixture(params=["sqlite", "lock", "file", "handle", "generator"])
def handle(request, tmp_path):
    if request.param == "sqlite":
        connection = sqlite3.connect(":memory:")
        yield connection
        connection.close()
    elif request.param == "file":
        with (tmp_path / "log").open("w") as file:
            yield file
    elif request.param == "generator":
        yield type("Source", (), {"rows": (n for n in range(3))})()
    else:
        yield threading.Lock() if request.param == "lock" else Handle()


@pytest.mark.parametrize("inside", [False, True])
def test_objects_that_cannot_be_copied_may_be_plain_fields(handle, inside):
    net = Holder([{"a": (handle,)}] if inside else handle).bind("numpy", RANDOM_KEY)
    zeros = net.map(lambda _, x: x * 0.0)
    twin = copy.deepcopy(net).to("numpy", "float64")
    copies: list[Any] = [net, zeros, twin]
    for other in copies:
        assert (other.held[0]["a"][0] if inside else other.held) is handle
    assert not zeros.layer.weight.numpy().any()
    assert twin.load_record(net.to_record()).layer.weight.numpy().dtype == "float64"


def test_a_copy_has_new_arrays_that_are_shared_like_the_originals():
    class Net(nn.Module):
        one: nn.Linear
        parts: list[object]
        same: list[object]

        def __init__(self):
            self.one = nn.Linear(2, 2)
            self.parts = self.same = [self.one, self.one.weight, "text"]

    net = Net().bind("numpy", RANDOM_KEY)
    twin = copy.deepcopy(net)
    assert twin.one is twin.parts[0] is not net.one
    assert twin.one.weight is twin.parts[1] is not net.one.weight
    assert twin.parts is twin.same is not net.parts
    assert len(twin.parameters()) == 2
    twin.one.weight.assign(np.zeros((2, 2)))
    assert net.one.weight.numpy().any()


def test_copied_containers_keep_their_class():
    class Row(NamedTuple):
        layer: nn.Linear
        width: int

    class Rows(list[Any]):
        note = "mine"

    net: Any = Holder(Rows([Row(nn.Linear(1, 1), 3)]))
    twin: Any = copy.deepcopy(net)
    assert type(twin.held) is Rows
    assert type(twin.held[0]) is Row
    assert (twin.held[0].width, twin.held[0].layer is net.held[0].layer) == (3, False)


class Slow:
    """An initialiser that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, backend, key, shape):  # noqa: ARG002
        self.calls += 1
        time.sleep(0.01)
        return backend.ones(shape)


def test_eight_threads_initialise_a_parameter_once():
    slow = Slow()
    param = nn.Param((3,), slow)
    param.bind("w", sl.tensor.backend("numpy"), RANDOM_KEY)
    start, found = threading.Barrier(8), []

    def read():
        start.wait()
        found.append(param.storage())

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.calls == 1
    assert all(array is found[0] for array in found)


def test_an_initialiser_may_read_another_parameter():
    first = nn.Param((2,), nn.Fill(2.0))
    second = nn.Param((2,), lambda backend, key, shape: first.storage() * 2)  # noqa: ARG005
    for part in (first, second):
        part.bind("", sl.tensor.backend("numpy"), RANDOM_KEY)
    assert second.numpy().tolist() == [4.0, 4.0]


def test_a_process_forked_during_initialisation_can_initialise_parameters():
    entered, release = threading.Event(), threading.Event()

    def wait(backend, key, shape):
        entered.set()
        release.wait()
        return backend.ones(shape)

    waiting, other = nn.Param((1,), wait), nn.Param((1,), nn.Fill(5.0))
    for part in (waiting, other):
        part.bind("", sl.tensor.backend("numpy"), RANDOM_KEY)
    thread = threading.Thread(target=waiting.numpy)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        os._exit(int(other.numpy()[0]))
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
