"""``seqloom export`` and ``seqloom run``: export a model, and run it without Python."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from seqloom.cli._console import open_console
from seqloom.cli._options import MACHINE_GROUP, OUTPUT_GROUP, PATH, Flag
from seqloom.errors import MissingFileError

# The program seqloom-run is in the folder of the native extension.
_EXE_SUFFIX = ".exe" if sys.platform == "win32" else ""
PROGRAM = Path(__file__).parents[1] / "_rust" / f"seqloom-run{_EXE_SUFFIX}"
_PROGRAM_WORDS = Parameter(allow_leading_hyphen=True)


def export(
    model: Path,
    /,
    *,
    out: Annotated[str, PATH],
    onnx: Flag = False,
    overwrite: Flag = False,
    base: Annotated[Path | None, MACHINE_GROUP] = None,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
) -> None:
    """Export a trained model for use without Python.

    The folder contains the operations and weights of the network, the rules of its encoder,
    and the names of its outputs. The folder contains no executable code.

    Example: seqloom export runs/splice --out splice.seqloom

    To write an ONNX file for other programs: seqloom export runs/splice --onnx --out
    splice.onnx

    Args:
        model: A run folder that `seqloom train` wrote.
        out: The folder to write, or a zip file if the name ends in .zip.
        onnx: Write an ONNX file instead of a folder.
        overwrite: Replace an existing export.
        base: The folder of the ESM-2 base network, if the folder was moved after training.
        quiet: Print only warnings and errors.
    """
    from seqloom import export as exports
    from seqloom.models import load

    console = open_console(quiet=quiet)
    trained = load(model) if base is None else load(model, base=base)
    write = exports.onnx if onnx else exports.save
    write(trained, out, overwrite=overwrite)
    console.print(f"exported {type(trained.model).__name__}: {out}")


def run(*words: Annotated[str, _PROGRAM_WORDS]) -> None:
    """Score files with an exported model; runs the program seqloom-run.

    All arguments are passed to seqloom-run; seqloom run --help lists its options.

    Example: seqloom run splice.seqloom reads.fq.gz > scores.tsv

    Args:
        words: An exported model (folder or zip), input files, and options of seqloom-run.

    Raises:
        MissingFileError: The program seqloom-run is not built.
    """
    if not PROGRAM.is_file():
        raise MissingFileError(
            f"{PROGRAM}: no such file; install a wheel of seqloom, or run cargo install "
            "--path crates/seqloom-run --profile small in a checkout and call seqloom-run"
        )
    if sys.stdout is not None:  # stdout is None if it was closed at the start
        sys.stdout.flush()
    if sys.platform == "win32":  # run a child process, because Windows has no exec
        sys.exit(subprocess.call([str(PROGRAM), *words]))  # noqa: S603 - the packaged program
    # With exec, seqloom-run receives signals and returns its exit code directly.
    os.execv(PROGRAM, [PROGRAM.name, *words])  # noqa: S606 - the packaged program
