"""Waiting for another process or thread, and a clock that a test sets itself."""

import time

# Far more than a busy machine needs: it ends a test whose condition never holds.
LONGEST_WAIT_S = 120


def wait_until(condition):
    """Wait until a condition holds; fails where it never does."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition never held")
        time.sleep(0.005)


class FakeTime:
    """Stands for the module `time`: its clocks advance only when a test says so."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        """Advance the clock at once."""
        self.now += seconds

    def perf_counter(self):
        """Return the seconds that were slept."""
        return self.now
