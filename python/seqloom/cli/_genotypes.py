"""Genotypes on the command line: how they are opened."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._kinds import are_genotypes
from seqloom.cli._options import CovariateFileOptions, GenotypeOptions
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.data import Dataset, Labels


def files_read(files: Sequence[Path]) -> list[Path]:
    """Lists the files with the tables beside a .bed, which are read too."""
    if not are_genotypes(files):
        return list(files)
    from seqloom.io.plink._file_set import find_table

    ends = (".bed", ".bim", ".fam")
    return [find_table(file.with_suffix(end)) for file in files for end in ends]


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
    labels: "Labels",
    genotypes: GenotypeOptions,
    encoder: Any = None,
) -> "Dataset":
    """Opens a .bed with its labels and covariates; a copy that must be made is watched."""
    from seqloom.data import GenotypeDataset
    from seqloom.infer._score_bar import work_bar

    _check_covariates(console, encoder, genotypes)
    with work_bar(console, "copy, samples first") as tell:
        return GenotypeDataset(
            one_bed(files),
            replace(labels, coding=genotypes.coding),
            encoder=encoder,
            progress=tell,
            **genotypes.to_keywords(),
        )


def open_unlabelled(
    console: Console,
    files: Sequence[Path],
    *,
    encoder: Any,
    covariates: CovariateFileOptions,
) -> "Dataset":
    """Opens a .bed to be scored."""
    from seqloom.data import GenotypeDataset
    from seqloom.infer._score_bar import work_bar

    _check_covariates(console, encoder, covariates)
    options: dict[str, Any] = {"phenotype": False, **covariates.to_keywords()}
    with work_bar(console, "copy, samples first") as tell:
        return GenotypeDataset(one_bed(files), encoder=encoder, progress=tell, **options)


def _check_covariates(
    console: Console, encoder: Any, options: CovariateFileOptions
) -> None:
    """Refuses to name columns of no table, and to leave out what a model reads."""
    if options.covariate_column and not options.covariates:
        raise ArgumentError("--covariate-column is of --covariates: give that too")
    names = encoder.covariate_names if encoder is not None and encoder.is_fitted else ()
    if names and not options.covariates:
        raise ArgumentError(
            f"the model reads the covariates {', '.join(names)}: give --covariates TABLE"
        )
    if encoder is not None and encoder.is_fitted and not names and options.covariates:
        console.print("the model reads no covariates: --covariates is not used")
