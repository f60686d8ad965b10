"""Breaks what is named, or all: python -m faults [NAME ...] [--seconds S]."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from faults import _shim


def main() -> None:
    """Prints how many faults were tried on each writer and reader, and what was wrong."""
    wanted = _arguments()
    _shim.start_again()
    from faults._all import try_all  # under the library, which this process is now

    sys.exit(try_all(wanted))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="how its name begins")
    parser.add_argument("--seconds", type=float, help="a sample that takes so long")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--kind", choices=["calls", "crash", "read", "rival"], action="append")
    return parser.parse_args()


if __name__ == "__main__":
    main()
