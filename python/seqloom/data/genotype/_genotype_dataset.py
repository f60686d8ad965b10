"""`GenotypeDataset`, PLINK genotypes with phenotypes and covariates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_bool, as_choice, check_callable
from seqloom._files import as_path_text, find_cache_folder
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import encoder_input_type
from seqloom.data.genotype._encoder import GenotypeEncoder
from seqloom.data.genotype._files import GenotypeFiles, ReadingOptions, parse_memory
from seqloom.data.genotype._genotype_source import GenotypeSource
from seqloom.data.genotype._people import Columns
from seqloom.data.genotype._phenotype import (
    MISSING_CELLS,
    Covariates,
    MissingCodes,
    label_samples,
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

_OPTION_CHOICES = {
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
    """Genotypes of a PLINK .bed, standardised by default, with labels and covariates.

    An item is a dict for one sample. An item has ``id``, ``inputs`` (a number for each
    variant) and, if available, ``label`` and ``covariates``. The id is the IID, or FID:IID
    if IIDs are not unique. With ``by="variant"`` an item is one variant in all individuals:
    ``id``, ``inputs``, ``chromosome`` and ``position``.

    Genotypes are stored as two-bit codes and decoded for each batch. Codes are kept in
    memory if they fit into ``memory``. If the codes do not fit, samples are read from a
    transposed copy of the .bed in the cache folder. The cache folder is the argument
    ``cache``, the environment variable ``SEQLOOM_CACHE`` or ``~/.cache/seqloom``: the first
    of these that is set. The transposed copy is written once, with 256 MiB of memory, and
    is named after a hash of the content of the .bed.

    Means and variances come from the samples that the encoder was fitted on.
    ``sl.train.fit`` fits the encoder on the training set. Subsets from ``split`` and
    ``folds`` use the statistics of the training set; any other dataset uses the statistics
    of all its samples. To choose the samples yourself, use ``encoder =
    data.encoder.fit(train)`` and ``valid.with_encoder(encoder)``.

    Args:
        bed: The .bed, or an ``open_bed`` of local files.
        labels: Tables with a row for each sample. The header has FID and IID or only IID;
            without a header, rows are ``FID IID value`` as in PLINK. A data frame has the
            same columns, or the IIDs as index. A dict from IID to value and numbers in the
            order of the .fam are accepted too. With None, the sixth column of the .fam is
            read, unless all its values are equal; with False, no labels are read. A
            ``Labels`` object also has options for reading the labels.
        covariates: Covariates as numbers; the types of ``labels`` are accepted. Columns
            that a fitted encoder does not use are ignored and counted in
            ``report["unused_covariates"]``.
        by: The items of the dataset: ``"sample"`` or ``"variant"``.
        variants: The variants to read: ids, indices, a boolean mask or a slice; None reads
            all variants.
        impute: ``"mean"``, or None to leave missing genotypes as NaN.
        standardize: ``"unit"``, ``("beta", a, b)`` or None; see ``GenotypeEncoder``.
        encoder: A fitted encoder, instead of ``impute`` and ``standardize``; the variants
            of the encoder are matched to the file by id and alleles.
        count_A1: If True, dosages count allele 1; if False, they count allele 2.
        fam: The table of individuals; None reads the .fam next to the .bed.
        bim: The table of variants; None reads the .bim next to the .bed.
        missing_covariates: ``"error"``, or ``"mean"`` to replace missing values by the
            mean.
        covariate_columns: The columns of covariates; None reads all columns.
        dtype: ``"float32"`` or ``"float64"``.
        output: ``"numbers"``, or ``"codes"`` for two-bit codes, which ``encoder.decode``
            converts to numbers, also on a GPU.
        memory: The maximum memory for codes in bytes, or a string such as ``"4 GB"``; None
            uses a quarter of the free memory, at most 1 GiB.
        cache: The cache folder.
        num_threads: The number of threads that transpose and count genotypes; None uses all
            cores.
        progress: A function that is called with two numbers: finished bytes and total
            bytes.
        skip_format_check: If True, the padding bits of the .bed are not checked.
        **old: Deprecated: ``phenotype=``, which is now ``labels=``, and options of
            ``Labels`` as keywords; write ``labels=Labels(source, task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read, or the transposed copy cannot be written.
        FormatError: A file is not valid, or lacks a variant of the encoder.
        LabelError: Labels or covariates are missing or duplicated, or do not fit the task.
        ArgumentError: Arguments contradict each other.

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
    check_callable("progress", progress)
    skip_format_check = as_bool("skip_format_check", skip_format_check)
    count_A1 = as_bool("count_A1", count_A1)
    labels = Labels.of(labels, Labels(missing=MISSING_CELLS), old, maker=GenotypeDataset)
    labels.check_unsupported("label_from_header", of="SequenceDataset")
    covariate_columns = column_names("covariate_columns", covariate_columns)
    check_counted_allele(bed, count_a1=count_A1)
    files = GenotypeFiles.find(bed, fam=fam, bim=bim)
    reading = ReadingOptions(
        memory=parse_memory(memory),
        cache=find_cache_folder()
        if cache is None
        else Path(as_path_text("cache", cache, one="a folder")).absolute(),
        num_threads=num_threads,
        progress=progress,
        check=not skip_format_check,
    )
    encoder = choose_encoder(encoder, GenotypeEncoder(impute, standardize, count_A1))
    people = files.read_people()
    chosen = choose_variants(files, variants, encoder)
    if by == "variant":
        _check_no_sample_columns(labels, covariates)
        column = LabelColumn()
    else:
        column = label_samples(people, labels)
    beside = _read_needed_covariates(
        covariates,
        people,
        column.rows,
        encoder=encoder,
        columns=Columns(labels.id_column, covariate_columns or None, "covariate"),
        marks=MissingCodes.of(labels.missing or ()),
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


def _check_no_sample_columns(labels: Labels, covariates: Any) -> None:
    """Raise if labels or covariates are given with ``by="variant"``."""
    if labels.source is not None and labels.source is not False:
        raise ArgumentError('labels belong to samples: omit them with by="variant"')
    if covariates is not None:
        raise ArgumentError('covariates belong to samples: omit them with by="variant"')


def _read_needed_covariates(
    covariates: Any,
    people: People,
    rows: Rows | None,
    *,
    encoder: GenotypeEncoder,
    **options: Any,
) -> Covariates:
    """Read all covariates, or only the covariates that a fitted encoder uses."""
    rows = np.arange(len(people)) if rows is None else rows
    needed = encoder.covariate_names if encoder.is_fitted else None
    if covariates is None or needed == ():
        return Covariates((), np.zeros((len(people), 0)))
    return read_covariates(people, rows, covariates, needed=needed, **options)


def check_options(**options: str) -> None:
    """Raise for invalid options."""
    for name, value in options.items():
        as_choice(name, value, _OPTION_CHOICES[name])
    if options["output"] == "codes" and options["by"] == "variant":
        raise ArgumentError('output="codes" needs by="sample", got by="variant"')


def check_counted_allele(bed: object, *, count_a1: bool) -> None:
    """Raise if an ``open_bed`` and the dataset count different alleles."""
    if isinstance(bed, open_bed) and bed.count_A1 != count_a1:
        raise ArgumentError(
            f"the open .bed has count_A1={bed.count_A1}, the dataset count_A1={count_a1}: "
            f"pass GenotypeDataset(..., count_A1={bed.count_A1})"
        )


def choose_encoder(
    encoder: GenotypeEncoder | None, new_encoder: GenotypeEncoder
) -> GenotypeEncoder:
    """Return the given or the new encoder; raise if their settings are different."""
    if encoder is None:
        return new_encoder
    if encoder_input_type(encoder) != GenotypeEncoder.encodes:
        raise ArgumentError(f"encoder must be a GenotypeEncoder or None, got {encoder!r}")
    if new_encoder not in {GenotypeEncoder(), GenotypeEncoder(**encoder.settings())}:
        raise ArgumentError(
            "impute, standardize and count_A1 are settings of the encoder: omit all "
            "three if encoder= is passed"
        )
    return encoder
