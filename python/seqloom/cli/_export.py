"""``seqloom export`` and ``seqloom run``: trained models where there is no Python."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from seqloom.cli._console import open_console
from seqloom.cli._options import MACHINE, OUTPUT, PATH, Flag
from seqloom.errors import MissingFileError

# Next to the extension: the Makefile puts it there, and the wheel contains it.
_SUFFIX = ".exe" if sys.platform == "win32" else ""
PROGRAM = Path(__file__).parents[1] / "_rust" / f"seqloom-run{_SUFFIX}"
_WORDS = Parameter(allow_leading_hyphen=True)


def export(
    model: Path,
    /,
    *,
    out: Annotated[str, PATH],
    onnx: Flag = False,
    overwrite: Flag = False,
    base: Annotated[Path | None, MACHINE] = None,
    quiet: Annotated[Flag, OUTPUT] = False,
) -> None:
    """Write a trained model for where there is no Python.

    The folder holds the network's operations and weights, what its encoder does, and the
    names of its outputs; no file in it is code.

    Example: seqloom export runs/splice --out splice.seqloom

    One file for other programs: seqloom export runs/splice --onnx --out splice.onnx

    Args:
        model: A run folder that `seqloom train` wrote.
        out: The folder to write; a name that ends in .zip is one file.
        onnx: Write one file of ONNX instead.
        overwrite: Replace the export that is there.
        base: The ESM-2 folder that adapters are for, where it has moved.
        quiet: Print warnings and errors alone.
    """
    from seqloom import export as exports
    from seqloom.models import load

    console = open_console(quiet=quiet)
    trained = load(model) if base is None else load(model, base=base)
    write = exports.onnx if onnx else exports.save
    write(trained, out, overwrite=overwrite)
    console.print(f"exported {type(trained.model).__name__}: {out}")


def run(*words: Annotated[str, _WORDS]) -> None:
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
