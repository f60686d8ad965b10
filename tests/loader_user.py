"""User code for loaders, in a module that worker processes can import."""

import ctypes
import faulthandler
import os
import random
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from seqloom.data import SequenceStream


def plain(items):
    return list(items)


def drawn(items):
    return [(random.random(), np.random.random()) for _ in items]  # noqa: NPY002, S311 - as users do


def with_pid(items):
    return os.getpid(), list(items)


class SharedPid:
    """A collator that supports threads, and returns the id of its process."""

    supports_threads = True

    def __call__(self, items):
        return os.getpid(), len(items)


class LaterPid(SharedPid):
    """A subclass that does not declare `supports_threads`."""


def holds_the_interpreter(items):
    os.write(1, b"%d\n" % os.getpid())
    ctypes.PyDLL(None).sleep(60)


def dies_at_seven(items):
    if 7 in items:
        os.kill(os.getpid(), signal.SIGKILL)
    return list(items)


class DiesOnce:
    """A collator that kills its process when it first receives certain items."""

    def __init__(self, folder, items, number=signal.SIGKILL):
        self.folder, self.items, self.number = folder, items, number

    def __call__(self, items):
        for item in items:
            mark = Path(self.folder) / str(int(item))
            if item in self.items and not mark.exists():
                mark.touch()
                faulthandler.disable()
                os.kill(os.getpid(), self.number)
        return np.array(items)


def ends_at_once(items):
    os._exit(3)


class OddError(Exception):
    """An exception that cannot be pickled."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")
        self.held = lambda: first


def raises_odd(items):
    raise OddError(items[0], "that")


def raises_key_error(items):
    raise KeyError(items[0])


def exits(items):
    sys.exit(3)


def warns(items):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("careful", stacklevel=1)


def is_interrupted(items):
    raise KeyboardInterrupt("by hand")


def gives_a_lambda(items):
    return lambda: items


def hangs_at_seven(items):
    if 7 in items:
        time.sleep(1000)
    return list(items)


def is_killed(items):
    os.kill(os.getpid(), signal.SIGKILL)


def raises_timeout_error(number):
    raise TimeoutError("no answer from the store")


class SecondDies:
    """A function that records the starts of worker 1, and kills worker 1 after a delay."""

    def __init__(self, folder, delay):
        self.folder, self.delay = folder, delay

    def __call__(self, number):
        if number == 1:
            pid = os.getpid()
            (self.folder / str(pid)).touch()
            killer = threading.Timer(self.delay, os.kill, (pid, signal.SIGKILL))
            killer.start()
            if not self.delay:
                killer.join()


def note_number(number):
    os.environ["LOADER_NUMBER"] = str(number)


def noted(items):
    return os.environ["LOADER_NUMBER"], os.environ["SEQLOOM_NUM_THREADS"]


class Squares:
    """A custom map-style dataset."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return {"x": np.full(3, index * index), "epoch": index.epoch, "id": f"s{index}"}


class Counter:
    """A custom iterable dataset."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return iter(range(self.size))


def grow(items):
    """Allocate more memory with each call and keep it."""
    _BATCHES_KEPT_BY_USER.append(np.ones(4_000_000))
    return os.getpid(), list(items)


_BATCHES_KEPT_BY_USER = []


def arrays(items):
    return {"x": np.array(items)[:, None].repeat(50, axis=1)}


def arrays_with_pid(items):
    return arrays(items) | {"pid": os.getpid()}


class Pairs:
    """A collator that packs two items at a time."""

    def stream(self, items):
        held = []
        for item in items:
            held.append(int(item))
            if len(held) == 2:
                yield held
                held = []
        if held:
            yield held

    def __call__(self, _):
        raise AssertionError("a loader calls stream")


class Ids(Pairs):
    """A collator that packs all items and returns their ids."""

    def stream(self, items):
        yield [item["id"] for item in items]


class MarksProcesses:
    """A function that writes the id of each process that calls it."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, _):
        (self.folder / str(os.getpid())).touch()


class Marks:
    """A function that writes a file for each worker that it initialises."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, number):
        (Path(self.folder) / str(number)).touch()


class OwnIterator:
    """An iterable dataset that is its own iterator, and restarts in ``__iter__``."""

    def __init__(self, size):
        self.size, self.count = size, 0

    def __iter__(self):
        self.count = 0
        return self

    def __next__(self):
        if self.count == self.size:
            raise StopIteration
        self.count += 1
        return self.count - 1


class ImportsTorchLate:
    """An iterable dataset that imports torch in its first pass, and yields its shard."""

    def __iter__(self):
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from range(first, 10, step)


def nest(items):
    """Collate rows of different lengths to a nested tensor."""
    import torch

    return torch.nested.nested_tensor([torch.arange(item + 1.0) for item in items])


class Backwards:
    """An augmentation that does not declare `supports_threads`."""

    def __call__(self, letters, _):
        return letters[::-1]


class Redrawn:
    """An augmentation that uses a global random generator."""

    def __call__(self, letters, _):
        return bytes(random.choices(b"ACGT", k=len(letters)))  # noqa: S311 - as users do


class Codes:
    """An encoder that does not declare `supports_threads`."""

    channels = "first"

    def batch(self, sequences, *, length=None):
        found = np.zeros((len(sequences), 1, length or sequences.lengths.max()), np.uint8)
        for row, letters in zip(found, sequences, strict=True):
            row[0, : len(letters)] = letters
        return found


class MarkedStream(SequenceStream):
    """A stream that changes its items."""

    def __iter__(self):
        for item in super().__iter__():
            yield item | {"mark": "seen"}


class UnchangedStream(SequenceStream):
    """A stream with an additional method."""
