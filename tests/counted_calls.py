"""Count function calls to measure how work grows, without a clock."""

import sys


def calls_of(work):
    """Count the function calls of `work`."""
    found = 0

    def note(_frame, event, _arg):
        nonlocal found
        found += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found
