"""Make the file calls of writers and readers fail, and report wrong results."""

from __future__ import annotations

import argparse
import sys

from faults import _shim


def main() -> None:
    """Print the number of faults and the wrong results of each writer and reader."""
    wanted = _arguments()
    _shim.restart_with_library()
    # Import these functions after the restart, because the library then replaces libc
    # functions.
    from faults._all import list_calls, try_all

    sys.exit(try_all(wanted) if wanted.list is None else list_calls(wanted))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="first words of names")
    parser.add_argument(
        "--sample", type=_count, metavar="N", help="try at most N faults of each"
    )
    parser.add_argument("--jobs", type=_count, default=2, help="processes at once")
    parser.add_argument(
        "--kind",
        choices=["calls", "crash", "read", "damage", "rival"],
        action="append",
        help="calls: a write fails; crash: the power fails; read: a read fails; "
        "damage: a file is changed; rival: other libraries write; repeat it for several",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="write docs/reliability.md; give no names and no other options",
    )
    parser.add_argument(
        "--list",
        metavar="FOLDER",
        help="print the calls of the one writer NAME, which writes into FOLDER",
    )
    wanted = parser.parse_intermixed_args()
    if wanted.publish and (wanted.names or wanted.sample or wanted.kind):
        parser.error("--publish needs all faults: give no NAME, --sample or --kind")
    if wanted.list is not None and len(wanted.names) != 1:
        parser.error("--list needs the NAME of one writer")
    return wanted


def _count(text: str) -> int:
    """Parse a positive integer."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


if __name__ == "__main__":
    main()
