"""Genotypes on the command line: which options are theirs, and how they are opened."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._options import (
    CovariateOptions,
    DataOptions,
    FileOptions,
    GenotypeOptions,
    LabelOptions,
    SequenceOptions,
)
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.data import GenotypeDataset

_MAGIC = b"\x6c\x1b"


def are_genotypes(files: Sequence[Path]) -> bool:
    """Says whether files are PLINK .bed files, by their name or first bytes."""
    return any(file.suffix == ".bed" or _begins_as_bed(file) for file in files)


def check_options(
    files: Sequence[Path],
    labels: LabelOptions,
    genotypes: GenotypeOptions,
    *,
    sequences: SequenceOptions,
) -> None:
    """Refuses options of genotypes for sequences, and the other way round."""
    if not are_genotypes(files):
        check_no_covariates(genotypes)
        return
    alphabet = labels.alphabet if isinstance(labels, DataOptions) else "auto"
    given = {
        "--label-from-header": labels.label_from_header is not None,
        "--label-from-file": labels.label_from_file,
        "--alphabet": alphabet != "auto",
        **_changed(sequences),
    }
    _refuse(given, "only for sequences, but FILES are genotypes (a PLINK .bed)")


def check_no_letters(sequences: FileOptions) -> None:
    """Refuses for genotypes how sequences are read."""
    why = "only for sequences, but FILES are genotypes (a PLINK .bed)"
    _refuse(_changed(sequences), why)


def check_no_reading(sequences: SequenceOptions) -> None:
    """Refuses for standard input what is for files."""
    _refuse(_changed(sequences), "only for files; save standard input to one first")


def _changed(options: FileOptions) -> dict[str, Any]:
    """Lists the options of sequences that are not as they are by default."""
    usual = type(options)()
    names = [field.name for field in fields(options)]
    return {
        f"--{name.replace('_', '-')}": getattr(options, name) != getattr(usual, name)
        for name in names
    }


def check_no_covariates(options: CovariateOptions) -> None:
    """Refuses for sequences what is for genotypes."""
    given = {
        "--covariates": options.covariates,
        "--covariate-column": options.covariate_column,
        "--missing-covariates": options.missing_covariates != "error",
        "--skip-format-check": options.skip_format_check,
        "--coding": getattr(options, "coding", "auto") != "auto",
    }
    _refuse(given, "only for genotypes (a PLINK .bed), but FILES are sequences")


def files_read(files: Sequence[Path]) -> list[Path]:
    """Lists the files with the tables beside a .bed, which are read too."""
    if not are_genotypes(files):
        return list(files)
    from seqloom.io.plink._location import packed_or_plain

    ends = (".bed", ".bim", ".fam")
    return [packed_or_plain(file.with_suffix(end)) for file in files for end in ends]


def one_bed(files: Sequence[Path]) -> Path:
    """Gives the one .bed there is to be."""
    if len(files) != 1:
        raise ArgumentError(
            f"genotypes are one .bed at a time, got {len(files)} files; merge them first"
        )
    return files[0]


def open_genotypes(
    console: Console,
    files: Sequence[Path],
    *,
    labels: LabelOptions,
    genotypes: GenotypeOptions,
    **options: Any,
) -> "GenotypeDataset":
    """Opens a .bed with its labels and covariates; a copy that must be made is watched."""
    from seqloom.data import GenotypeDataset
    from seqloom.infer._score_bar import work_bar

    _check_covariates(options.get("encoder"), genotypes)
    with work_bar(console, "copy, samples first") as tell:
        return GenotypeDataset(
            one_bed(files),
            list(labels.labels) or None,
            id_column=labels.id_column,
            unlabelled=labels.unlabelled,
            coding=genotypes.coding,
            progress=tell,
            **labels.to_marks(),
            **genotypes.to_keywords(),
            **options,
        )


def open_unlabelled(
    console: Console, files: Sequence[Path], *, encoder: Any, covariates: CovariateOptions
) -> "GenotypeDataset":
    """Opens a .bed to be scored, and says which variants are turned round."""
    from seqloom.data import GenotypeDataset
    from seqloom.infer._score_bar import work_bar

    _check_covariates(encoder, covariates)
    options: dict[str, Any] = {"phenotype": False, **covariates.to_keywords()}
    with work_bar(console, "copy, samples first") as tell:
        data = GenotypeDataset(one_bed(files), encoder=encoder, progress=tell, **options)
    if flipped := data.report["flipped"]:
        console.print(f"variants with exchanged alleles, turned round: {flipped:,}")
    return data


def check_kind(model: Path, trained: Any, files: Sequence[Path]) -> None:
    """Refuses sequences for a model of genotypes, and the other way round."""
    from seqloom.data import GenotypeEncoder

    reads, found = isinstance(trained.encoder, GenotypeEncoder), are_genotypes(files)
    if reads != found:
        kinds = {False: "sequences", True: "genotypes (a PLINK .bed)"}
        raise ArgumentError(
            f"{model}: the model reads {kinds[reads]}, but FILES are {kinds[found]}"
        )


def label_column_of(columns: tuple[str, ...]) -> str | tuple[str, ...] | None:
    """Spells columns as `GenotypeDataset` takes them."""
    return columns[0] if len(columns) == 1 else columns or None


def _check_covariates(encoder: Any, options: CovariateOptions) -> None:
    """Refuses to name columns of no table, and to leave out what a model reads."""
    if options.covariate_column and not options.covariates:
        raise ArgumentError("--covariate-column is of --covariates: give that too")
    names = encoder.covariate_names if encoder is not None and encoder.is_fitted else ()
    if names and not options.covariates:
        raise ArgumentError(
            f"the model reads the covariates {', '.join(names)}: give --covariates TABLE"
        )


def _begins_as_bed(file: Path) -> bool:
    """Reads a file's first bytes; what cannot be read is told of later."""
    try:
        with file.open("rb") as opened:
            return opened.read(2) == _MAGIC
    except OSError:
        return False


def _refuse(given: dict[str, Any], why: str) -> None:
    """Refuses options that do not go with the files."""
    if names := [name for name, is_given in given.items() if is_given]:
        raise ArgumentError(f"{' and '.join(names)}: {why}")
