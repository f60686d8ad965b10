"""Genotype files with phenotypes and covariates, as a dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_choice, as_flag, check_function
from seqloom._files import cache_home, check_path
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import encoded_kind
from seqloom.data.genotype._encoder import GenotypeEncoder
from seqloom.data.genotype._files import GenotypeFiles, Reading, memory_of
from seqloom.data.genotype._genotype_source import GenotypeSource
from seqloom.data.genotype._people import Columns
from seqloom.data.genotype._phenotype import (
    MISSING,
    Covariates,
    Missing,
    label_people,
    read_covariates,
)
from seqloom.data.genotype._variants import choose_variants
from seqloom.data.label._labels import LabelColumn, Labels
from seqloom.data.label._table import column_names
from seqloom.errors import ArgumentError
from seqloom.io.plink._open_bed import open_bed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from seqloom.data._source import Rows
    from seqloom.data.genotype._people import People

_ALLOWED = {
    "by": ("sample", "variant"),
    "dtype": ("float32", "float64"),
    "output": ("numbers", "codes"),
}


def GenotypeDataset(
    bed: str | os.PathLike[str] | open_bed,
    labels: Any = None,
    covariates: Any = None,
    *,
    by: str = "sample",
    variants: Any = None,
    impute: str | None = "mean",
    standardize: str | tuple[str, float, float] | None = "unit",
    encoder: GenotypeEncoder | None = None,
    count_A1: bool = True,
    fam: str | os.PathLike[str] | None = None,
    bim: str | os.PathLike[str] | None = None,
    missing_covariates: str = "error",
    covariate_columns: Sequence[str] | None = None,
    dtype: str = "float32",
    output: str = "numbers",
    memory: int | str | None = None,
    cache: str | os.PathLike[str] | None = None,
    num_threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    skip_format_check: bool = False,
    **old: Any,
) -> Dataset:
    """Genotypes of a PLINK .bed, standardised when asked for, with labels and covariates.

    An item is a sample, a dict: ``id`` (IID, or FID:IID where individuals share an IID),
    ``inputs`` (a number for each variant), ``label`` where there is a phenotype and
    ``covariates`` where there are such. With ``by="variant"`` an item is a variant over all
    individuals: ``id``, ``inputs``, ``chromosome`` and ``position``.

    Codes stay two bits until a batch is made. Where they fit into ``memory`` they are held;
    else samples are read from a copy whose lines are samples, which is made once, in 256
    MiB of memory, and kept in the cache: ``cache``, or the folder of the environment's
    ``SEQLOOM_CACHE``, else ``~/.cache/seqloom``. It is named by the .bed's content, so that
    no file ever gets the copy of another.

    Means and variances come from the samples that an encoder was fitted on.
    ``sl.train.fit`` fits it on the training part. For a loop of your own, parts that
    ``split`` and ``folds`` make are standardised by the training part, and a whole dataset
    by itself; or say it: ``encoder = data.encoder.fit(train)`` and
    ``valid.with_encoder(encoder)``.

    Args:
        bed: The .bed, or an ``open_bed`` of files.
        labels: Tables with a row for each sample (with FID and IID, or IID alone; with a
            header, or PLINK's lines ``FID IID value``), a data frame with such columns or
            with IIDs as the names of its rows, a dict from IID to value, or an array, a
            series or a list of numbers in the order of the .fam. None takes the sixth
            column of the .fam, if it tells samples apart; False leaves labels out. A
            ``Labels`` says how they are read.
        covariates: The same, of numbers. With a fitted encoder, columns that it does not
            read are left out and counted in ``report["unused_covariates"]``.
        by: What an item is: ``"sample"`` or ``"variant"``.
        variants: Which variants: ids, positions, a mask or a slice; None takes all.
        impute: ``"mean"``, or None to leave NaN where a genotype is missing.
        standardize: ``"unit"``, ``("beta", a, b)`` or None; see ``GenotypeEncoder``.
        encoder: A fitted encoder instead of these two: its variants are found in the file
            by id and alleles.
        count_A1: Whether copies of allele 1 are counted.
        fam: The table of individuals; None is beside the .bed.
        bim: The table of variants; None is beside the .bed.
        missing_covariates: ``"error"``, or ``"mean"`` to fill in the mean.
        covariate_columns: The columns of covariates; None takes all.
        dtype: ``"float32"`` or ``"float64"``.
        output: ``"numbers"``, or ``"codes"`` for two-bit codes, which
            ``encoder.decode`` makes numbers of, on a GPU too.
        memory: Bytes that codes may take in memory, such as ``"4 GB"``; None is a quarter
            of what is free, 1 GiB at most.
        cache: The folder of the cache.
        num_threads: How many threads may make a copy and count; None takes all.
        progress: Called now and then with the bytes of codes that are done, and all.
        skip_format_check: Leaves out what the file's last bytes tell about the tables.
        **old: Deprecated: ``phenotype=``, which is now ``labels=``, and single options of
            ``Labels``; write ``labels=Labels(source, task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read, or the copy cannot be written.
        FormatError: A file is not what it should be, or lacks a variant of the encoder.
        LabelError: Labels or covariates are missing, double, or do not fit.
        ArgumentError: Arguments that do not go together.

    Examples:
        >>> import seqloom as sl
        >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1], [1, -127]], np.int8))
        >>> data = GenotypeDataset("a.bed", {"iid1": 1.5, "iid2": 0.5, "iid3": 1.0})
        >>> print(data)
        3 samples of 2; phenotype 0.5 to 1.5
        >>> data[2]["inputs"].tolist(), float(data[2]["label"]), data.report["constant"]
        ([0.0, 0.0], 1.0, 1)
    """
    check_options(by=by, dtype=dtype, output=output)
    as_choice("missing_covariates", missing_covariates, ("error", "mean"))
    check_function("progress", progress)
    skip_format_check = as_flag("skip_format_check", skip_format_check)
    count_A1 = as_flag("count_A1", count_A1)
    labels = Labels.of(labels, Labels(missing=MISSING), old, maker=GenotypeDataset)
    labels.check_unsupported("label_from_header", of="SequenceDataset")
    covariate_columns = column_names("covariate_columns", covariate_columns)
    check_counted(bed, count_a1=count_A1)
    files = GenotypeFiles.beside(bed, fam=fam, bim=bim)
    reading = Reading(
        memory=memory_of(memory),
        cache=cache_home()
        if cache is None
        else Path(check_path("cache", cache, one="a folder")).absolute(),
        num_threads=num_threads,
        progress=progress,
        check=not skip_format_check,
    )
    encoder = choose_encoder(encoder, GenotypeEncoder(impute, standardize, count_A1))
    people = files.people()
    chosen = choose_variants(files, variants, encoder)
    if by == "variant":
        _check_variants(labels, covariates)
        column = LabelColumn()
    else:
        column = label_people(people, labels)
    beside = _find_covariates(
        covariates,
        people,
        column.rows,
        encoder=encoder,
        columns=Columns(labels.id_column, covariate_columns or None, "covariate"),
        marks=Missing.of(labels.missing or ()),
        fills=missing_covariates == "mean",
    )
    beside.check_has(encoder, files.bed)
    source = GenotypeSource(
        files,
        people,
        chosen,
        covariates=beside,
        encoder=encoder,
        by_sample=by == "sample",
        reading=reading,
        dtype=dtype,
        output=output,
    )
    column = replace(
        column,
        unmatched=tuple(dict.fromkeys((*column.unmatched, *beside.unmatched))),
        report=column.report | beside.report,
    )
    return Dataset(source, encoder=encoder if by == "sample" else None, labels=column)


def _check_variants(labels: Labels, covariates: Any) -> None:
    """Raise if variants are given labels or covariates."""
    if labels.source is not None and labels.source is not False:
        raise ArgumentError('labels are of samples: leave them out with by="variant"')
    if covariates is not None:
        raise ArgumentError('covariates are of samples: leave them out with by="variant"')


def _find_covariates(
    covariates: Any,
    people: People,
    rows: Rows | None,
    *,
    encoder: GenotypeEncoder,
    **options: Any,
) -> Covariates:
    """Read the covariates that the encoder needs, or all."""
    rows = np.arange(len(people)) if rows is None else rows
    needed = encoder.covariate_names if encoder.is_fitted else None
    if covariates is None or needed == ():
        return Covariates((), np.zeros((len(people), 0)))
    return read_covariates(people, rows, covariates, needed=needed, **options)


def check_options(**options: str) -> None:
    """Refuse options that do not exist."""
    for name, value in options.items():
        as_choice(name, value, _ALLOWED[name])
    if options["output"] == "codes" and options["by"] == "variant":
        raise ArgumentError('output="codes" needs by="sample", got by="variant"')


def check_counted(bed: object, *, count_a1: bool) -> None:
    """Refuse an open .bed that counts the other allele."""
    if isinstance(bed, open_bed) and bed.count_A1 != count_a1:
        raise ArgumentError(
            f"the open .bed has count_A1={bed.count_A1}, the dataset count_A1={count_a1}: "
            f"pass GenotypeDataset(..., count_A1={bed.count_A1})"
        )


def choose_encoder(given: GenotypeEncoder | None, own: GenotypeEncoder) -> GenotypeEncoder:
    """Take the encoder that is given, which excludes its own arguments, or make one."""
    if given is None:
        return own
    if encoded_kind(given) != GenotypeEncoder.encodes:
        raise ArgumentError(f"encoder must be a GenotypeEncoder or None, got {given!r}")
    if own not in {GenotypeEncoder(), GenotypeEncoder(**given.settings())}:
        raise ArgumentError(
            "impute, standardize and count_A1 are settings of the encoder: omit them "
            "where encoder= is passed"
        )
    return given
