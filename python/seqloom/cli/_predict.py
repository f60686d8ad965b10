"""``seqloom predict``: a trained model on new files."""

import sys
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from seqloom.cli._check import check_free
from seqloom.cli._genotypes import (
    are_genotypes,
    check_kind,
    check_no_covariates,
    files_read,
    open_unlabelled,
)
from seqloom.cli._machine import announce, open_console
from seqloom.cli._options import (
    COVARIATE_DEFAULTS,
    MACHINE_DEFAULTS,
    PLACE,
    PLACES,
    QUIET_DEFAULTS,
    CovariateOptions,
    Flag,
    MachineOptions,
    QuietOption,
)
from seqloom.errors import ArgumentError, FileError

STREAM = "-"


def predict(
    model: Path,
    files: Annotated[list[str], PLACES],
    /,
    *,
    out: Annotated[str, PLACE],
    overwrite: Flag = False,
    covariates: CovariateOptions = COVARIATE_DEFAULTS,
    machine: MachineOptions = MACHINE_DEFAULTS,
    shown: QuietOption = QUIET_DEFAULTS,
) -> None:
    """Score every sequence or sample once and write a table, in input order.

    The table has the id, then one column a class, named by the class (a label, a value).

    Example: seqloom predict runs/splice new.fa.gz --out scores.tsv

    In a pipe: zcat *.fa.gz | seqloom predict runs/splice - --out - | head

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files, - for standard input, or a PLINK .bed; its variants are found
            by id and alleles.
        out: The table to write, or - for standard output.
        overwrite: Replace the table where it is there already.
        covariates: What a model of genotypes reads beside them.
        machine: What computes.
        shown: What is printed.
    """
    from seqloom.infer import predict as score
    from seqloom.infer._score_bar import score_bar
    from seqloom.models import load

    console = open_console(stderr=out == STREAM, quiet=shown.quiet)
    announce(console, machine)
    paths = _paths_of(files)
    if out != STREAM:
        _check_target(Path(out), [*files_read(paths), *covariates.covariates])
        check_free(Path(out), overwrite=overwrite)
    trained = load(model, **machine.to_keywords())
    check_kind(model, trained, paths)
    data = _opened(console, paths, trained.encoder, covariates=covariates)
    with score_bar(console) as tell:
        scores = score(trained, data, num_threads=machine.threads, progress=tell)
    scores.to_tsv(sys.stdout if out == STREAM else out)
    noun = getattr(data, "noun", "sequences")
    place = "standard output" if out == STREAM else out
    console.print(f"scored {len(scores):,} {noun}: {place}")


def _paths_of(files: list[str]) -> list[Path]:
    """Gives the files' paths; standard input, which ends once, stands alone."""
    if STREAM in files and len(files) > 1:
        raise ArgumentError("-: standard input is read alone; give it, or files")
    return [Path(file) for file in files]


def _opened(
    console: Console, files: list[Path], encoder: Any, *, covariates: CovariateOptions
) -> Any:
    """Opens genotypes; sequence files are opened by `seqloom.infer`."""
    if are_genotypes(files):
        return open_unlabelled(console, files, encoder=encoder, covariates=covariates)
    check_no_covariates(covariates)
    return sys.stdin.buffer if files == [Path(STREAM)] else files


def _check_target(out: Path, files: list[Path]) -> None:
    """Finds out before the work, not after it, that a table cannot be written."""
    target = out.resolve()
    if _is_device(out.absolute()) or _is_device(target):
        raise FileError(
            f"{out}: is no place for a table; --out names a file to write, or - for "
            "standard output"
        )
    if target.exists() and not target.is_file():
        raise FileError(f"{out}: is no regular file; --out names the table to write")
    folder = target.parent if out.is_symlink() else out.parent
    if not folder.is_dir():
        raise FileError(f"{out}: there is no folder {folder}; make it first")
    if target.exists() and any(file.exists() and target.samefile(file) for file in files):
        raise FileError(f"{out}: is one of the files to read; --out names another one")


def _is_device(path: Path) -> bool:
    """Says whether a path leads to the system rather than to a disk."""
    return path.is_relative_to("/dev") or path.is_relative_to("/proc")
