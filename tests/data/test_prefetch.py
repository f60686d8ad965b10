"""Iterators whose items a thread reads in advance."""

import threading

from seqloom.data.stream._shard import read_ahead


def test_a_prefetching_iterator_can_be_closed_in_its_worker_thread():
    errors, is_begun, is_closed = [], threading.Event(), threading.Event()

    def items():
        yield 1
        is_begun.wait()
        try:
            ahead.close()  # the garbage collector may call close in any thread
        except RuntimeError as error:
            errors.append(error)
        is_closed.set()
        yield 2

    ahead = read_ahead(items(), 1)
    next(ahead)
    is_begun.set()
    assert (is_closed.wait(60), errors) == (True, [])
