"""``seqloom export``: a trained model for where there is no Python."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from seqloom.cli._machine import open_console
from seqloom.cli._options import (
    MACHINE,
    PATH,
    QUIET_DEFAULTS,
    Flag,
    QuietOption,
)


def export(
    model: Path,
    /,
    *,
    out: Annotated[str, PATH],
    onnx: Flag = False,
    overwrite: Flag = False,
    base: Annotated[Path | None, Parameter(group=MACHINE, show_default=False)] = None,
    shown: QuietOption = QUIET_DEFAULTS,
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
        shown: What is printed.
    """
    from seqloom import export as exports
    from seqloom.models import load

    console = open_console(quiet=shown.quiet)
    moved: dict[str, Any] = {} if base is None else {"base": base}
    trained = load(model, **moved)
    write = exports.onnx if onnx else exports.save
    write(trained, out, overwrite=overwrite)
    console.print(f"exported {type(trained.model).__name__}: {out}")
