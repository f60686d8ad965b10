"""Threads of one process that train together, as a replacement for several processes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from seqloom.train._ranks import Ranks


class Threads:
    """A group of threads that can sum arrays over all threads."""

    def __init__(self, world):
        self.world = world
        self.local = threading.local()
        self.barrier = threading.Barrier(world, timeout=60)
        self.parts: list[Any] = [None] * world

    def run(self, work):
        """Call a function in each thread with its rank; return all results."""

        def call(number):
            self.local.ranks = ThreadRanks(self, number)
            try:
                return work(number)
            except BaseException:
                self.barrier.abort()
                raise

        with ThreadPoolExecutor(self.world) as pool:
            made = [pool.submit(call, number) for number in range(self.world)]
        errors = [error for it in made if (error := it.exception()) is not None]
        # Errors of all other threads only report that one thread has ended.
        for error in sorted(errors, key=_is_of_others):
            raise error
        return [it.result() for it in made]

    def find(self):
        """Replace `find_ranks`."""
        return getattr(self.local, "ranks", Ranks())

    def exchange(self, number, value):
        """Return the values of all threads."""
        self.parts[number] = value
        self.barrier.wait()
        parts = list(self.parts)
        self.barrier.wait()
        return parts


def _is_of_others(error):
    return isinstance(error, threading.BrokenBarrierError)


class ThreadRanks(Ranks):
    """One thread of the group."""

    def __init__(self, threads, number):
        super().__init__(number, threads.world)
        object.__setattr__(self, "threads", threads)

    threads: Any

    def sum_values(self, values):
        return np.sum(
            self.threads.exchange(self.number, values), axis=0, dtype=values.dtype
        )

    def sum_numbers(self, *numbers):
        return self.sum_values(np.array(numbers, np.float64)).tolist()

    def sum_arrays(self, arrays, backend):
        hosts = [np.asarray(backend.to_numpy(array)) for array in arrays]
        sums = [self.sum_values(host) for host in hosts]
        return [
            backend.asarray(total, dtype=array.dtype)
            for total, array in zip(sums, arrays, strict=True)
        ]

    def sum_array(self, array, backend):
        return self.sum_arrays([array], backend)[0]

    def on_first(self, work):
        result = work() if self.is_first else None
        self.threads.barrier.wait()
        return result
