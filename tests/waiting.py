"""Waiting for another process or thread, and a clock that tests control."""

import time

# A timeout that a busy machine does not reach.
LONGEST_WAIT_S = 120


def wait_until(condition):
    """Wait until a condition is true; raise after the timeout."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition never held")
        time.sleep(0.005)


class FakeTime:
    """A replacement of the module `time` with clocks that only tests advance."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        """Advance the clock immediately."""
        self.now += seconds

    def perf_counter(self):
        """Return the total seconds of sleep."""
        return self.now
