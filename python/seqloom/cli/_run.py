"""``seqloom run``: the program without Python, where this package brought it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from seqloom.errors import MissingFileError

# Beside the extension: the Makefile puts it there, and the wheel holds it.
_SUFFIX = ".exe" if sys.platform == "win32" else ""
PROGRAM = Path(__file__).parents[1] / "_rust" / f"seqloom-run{_SUFFIX}"
WORDS = Parameter(allow_leading_hyphen=True)


def run(*words: Annotated[str, WORDS]) -> None:
    """Score files by an exported model, without Python: becomes seqloom-run.

    All words go to that program as they are; seqloom run --help lists its options.

    Example: seqloom run splice.seqloom reads.fq.gz > scores.tsv

    Args:
        words: The folder or zip of an exported model, files and options.

    Raises:
        MissingFileError: The program was not built.
    """
    if not PROGRAM.is_file():
        raise MissingFileError(
            f"{PROGRAM}: no such file; the wheel of seqloom brings it, and in a checkout "
            "cargo install --path crates/seqloom-run --profile small builds it: call "
            "seqloom-run then"
        )
    if sys.stdout is not None:  # as of a process that was started with it closed
        sys.stdout.flush()
    if sys.platform == "win32":  # it has no exec: the program is a child process
        sys.exit(subprocess.call([str(PROGRAM), *words]))  # noqa: S603 - our own
    # In our place, so that signals, streams and the exit code are its own.
    os.execv(PROGRAM, [PROGRAM.name, *words])  # noqa: S606 - a program of ours
