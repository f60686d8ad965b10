"""The input kinds whose records are numbers: genotypes and embeddings."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from seqloom._arguments import is_list, quote
from seqloom._warning import warn_user
from seqloom.data import (
    Dataset,
    EmbeddingDataset,
    EmbeddingEncoder,
    GenotypeDataset,
    GenotypeEncoder,
    Labels,
)
from seqloom.errors import ArgumentError, FormatError, LabelError, SeqloomError
from seqloom.infer._kinds import BUILT_IN_KINDS, Files, Given, Kind, is_path
from seqloom.infer.embedding._load import load
from seqloom.io import open_sequences
from seqloom.io.plink._file_set import find_table
from seqloom.models import GenotypeMLPConfig, HeadConfig

_PLINK_MAGIC = b"\x6c\x1b"
# A genotype is one number, so batches may have more positions than those of sequences.
_MAX_BATCH_POSITIONS = 1 << 24


# Genotypes


def _is_plink_bed(files: Files) -> bool:
    """Return whether a file is a PLINK .bed, from its name or its first bytes."""
    return any(file.suffix == ".bed" or _is_plink_file(file) for file in files)


def _is_plink_file(file: Path) -> bool:
    """Return whether a file starts with the bytes of a PLINK .bed; False if unreadable."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_PLINK_MAGIC)) == _PLINK_MAGIC
    except OSError:  # an unreadable file raises an error later, when it is opened
        return False


def _check_no_intervals(files: Files, given: Given) -> None:
    """Raise if a .bed is a BED file of intervals, not a PLINK file."""
    del given
    for file in filter(_has_intervals, files):
        raise ArgumentError(
            f"{file}: contains intervals, not genotypes: give the genome first, then "
            f"--intervals {file}"
        )


def _has_intervals(file: Path) -> bool:
    """Return whether a file is a BED text file of intervals."""
    try:
        with open_sequences(file):
            return False
    except SeqloomError as error:
        return isinstance(error, FormatError) and error.cause == "BED"


def _open_genotypes(
    data: Any,
    *,
    labels: Any,
    encoder: GenotypeEncoder | None = None,
    coding: str = "auto",
    covariates: Sequence[Path] = (),
    covariate_column: tuple[str, ...] = (),
    **options: Any,
) -> Dataset:
    """Open a PLINK .bed with its labels and covariates."""
    paths = _list_paths(data)
    if len(paths) != 1:
        raise ArgumentError(
            f"genotypes must be a single .bed, got {len(paths)} files; merge them first"
        )
    _check_covariates(encoder, covariates, covariate_column)
    return GenotypeDataset(
        paths[0],
        replace(labels, coding=coding) if isinstance(labels, Labels) else labels,
        list(covariates) or None,
        encoder=encoder,
        covariate_columns=covariate_column or None,
        **options,
    )


def _list_paths(data: Any) -> list[str | os.PathLike[str]]:
    """Return one path, or a sequence of paths, as a list."""
    if is_path(data):
        return [data]
    found: list[Any] = list(data) if hasattr(data, "__iter__") else [None]
    if not all(map(is_path, found)):
        raise ArgumentError(
            f"data must be a .bed, or a dataset with the model's encoder, got {quote(data)}"
        )
    return found


def _check_covariates(
    encoder: GenotypeEncoder | None, covariates: Sequence[Path], columns: tuple[str, ...]
) -> None:
    """Raise if columns are given without a table, or the model's covariates are missing."""
    if columns and not covariates:
        raise ArgumentError("--covariate-column needs --covariates")
    if encoder is None or not encoder.is_fitted:
        return
    if encoder.covariate_names and not covariates:
        raise LabelError(
            f"the model reads the covariates {', '.join(encoder.covariate_names)}: "
            "give --covariates TABLE; in Python pass "
            "GenotypeDataset(bed, labels=False, covariates=, encoder=model.encoder)"
        )
    if covariates and not encoder.covariate_names:
        warn_user("the model reads no covariates: --covariates is ignored; omit it")


def _choose_perceptron(
    network: type[GenotypeMLPConfig | HeadConfig],
    train: Any,
    *others: Any,
    width: tuple[int, ...] = (),
    kernel_size: int | tuple[int, ...] | None = None,
    dropout: float | None = None,
) -> GenotypeMLPConfig | HeadConfig:
    """Choose the settings of a network for genotypes or embeddings."""
    del others
    if kernel_size is not None:
        raise ArgumentError(f"--kernel-size is for convolutions; FILES are {train.kind}")
    config = network.for_data(train)
    return replace(
        config,
        hidden=width or config.hidden,
        dropout=config.dropout if dropout is None else dropout,
    )


def _list_plink_files(files: Files) -> list[Path]:
    """List each PLINK .bed file with its .bim and .fam."""
    tables = [file.with_suffix(end) for file in files for end in (".bim", ".fam")]
    return [*files, *map(find_table, tables)]


_GENOTYPE_OPTIONS = frozenset(
    {"covariates", "covariate_column", "missing_covariates", "skip_format_check", "coding"}
)


BUILT_IN_KINDS.append(
    Kind(
        name="genotypes",
        open=_open_genotypes,
        recognises=_is_plink_bed,
        noun="samples",
        files="genotypes (a PLINK .bed)",
        encodes="genotypes",
        network=partial(_choose_perceptron, GenotypeMLPConfig),
        options=_GENOTYPE_OPTIONS,
        reports_progress=True,
        check_files=_check_no_intervals,
        has_labels=lambda *_, **__: True,
        has_named_columns=False,
        list_files=_list_plink_files,
        id_column="IID",
        instead_of_explain=(
            "for the weights of variants, use sl.tensor.grad(lambda x: model.logits(x)[0, "
            "0]) in Python for a row x of a batch"
        ),
        batch_positions=_MAX_BATCH_POSITIONS,
        count_inputs=lambda encoder: {
            "inputs": len(encoder.variants),
            "covariates": len(encoder.covariate_names),
        },
        list_arrays=lambda encoder, dtype: {
            **encoder.arrays(),
            "tables": encoder.tables(dtype),
        },
    )
)


# Embeddings


def _open_embeddings(
    data: Any, *, labels: Any, encoder: EmbeddingEncoder | None = None
) -> Dataset:
    """Open a folder of embeddings, or an `Embeddings` object, together with its labels."""
    if is_list(data):
        if len(data) != 1:
            raise ArgumentError(
                f"embeddings must be a single folder, got {len(data)} paths; embed all "
                "files into one folder: seqloom embed A.fa B.fa --model DIR --out FOLDER"
            )
        data = data[0]
    rows = load(data) if is_path(data) else data
    layer = None if encoder is None else encoder.layer
    return EmbeddingDataset(rows, labels, layer=layer)


BUILT_IN_KINDS.append(
    Kind(
        name="embeddings",
        open=_open_embeddings,
        recognises=lambda files: any((file / "plan.json").is_file() for file in files),
        files="a folder of embeddings",
        encodes="embeddings",
        network=partial(_choose_perceptron, HeadConfig),
        instead_of_encoder="embed the records with the same model and settings",
        instead_of_explain=("explain a model that was trained on the sequences"),
        count_inputs=lambda encoder: {"inputs": encoder.width},
    )
)
