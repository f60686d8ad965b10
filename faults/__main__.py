"""Makes calls fail of the writers and readers that are named, or of all."""

from __future__ import annotations

import argparse
import sys

from faults import _shim


def main() -> None:
    """Prints how many faults were tried on each writer and reader, and what was wrong."""
    wanted = _arguments()
    _shim.start_again()
    # Under the library, which stands before libc in this process now.
    from faults._all import list_calls, try_all

    sys.exit(list_calls(wanted) if wanted.list else try_all(wanted))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="how its name begins")
    parser.add_argument("--sample", type=int, metavar="N", help="so many faults of each")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument(
        "--kind", choices=["calls", "crash", "read", "damage", "rival"], action="append"
    )
    parser.add_argument("--publish", action="store_true", help="into docs/reliability.md")
    parser.add_argument("--list", metavar="FOLDER", help="list the calls of a writer there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
