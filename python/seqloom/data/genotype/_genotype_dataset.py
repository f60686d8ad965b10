"""Genotype files with phenotypes and covariates, as a map from number to item."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_choice, as_flag, check_function
from seqloom._cache_home import cache_home
from seqloom._files import check_path
from seqloom.data.genotype._chosen import ChosenVariants, choose_for_encoder
from seqloom.data.genotype._coding import Missing
from seqloom.data.genotype._covariates import Covariates, read_covariates
from seqloom.data.genotype._encoder import GenotypeEncoder
from seqloom.data.genotype._files import GenotypeFiles, Reading
from seqloom.data.genotype._fitted_items import FittedItems
from seqloom.data.genotype._memory import memory_of
from seqloom.data.genotype._options import check_counted, check_options, choose_encoder
from seqloom.data.genotype._person_table import Columns
from seqloom.data.genotype._phenotype import MISSING, Phenotypes, label_people
from seqloom.data.genotype._variants import choose_variants
from seqloom.data.label._header_line import column_names
from seqloom.data.label._labels import Labels
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from seqloom.io.plink._open_bed import open_bed

    Rows = NDArray[np.int64]


class GenotypeDataset(FittedItems):
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
        phenotype: Tables with a row for each sample (with FID and IID, or IID alone; with a
            header, or PLINK's lines ``FID IID value``), a data frame with such columns or
            with IIDs as the names of its rows, a dict from IID to value, or an array, a
            series or a list of numbers in the order of the .fam. None takes the sixth
            column of the .fam, if it tells samples apart; False leaves labels out. A
            ``Labels`` holds these and the options of labels below.
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
        classes: The order of the classes; None sorts them.
        task: ``"auto"``, ``"classify"``, ``"regress"`` or ``"multilabel"``.
        coding: What a phenotype of 0, 1 and 2 means: ``"01"`` and ``"12"`` are control and
            case; ``"auto"`` finds out, and refuses what may be either.
        missing: What stands for no value. Samples with such a phenotype are left out.
        unlabelled: ``"error"`` for a sample without a row, ``"skip"`` to leave it out.
        missing_covariates: ``"error"``, or ``"mean"`` to fill in the mean.
        id_column: The tables' column of ids; None is FID and IID, or IID.
        label_column: The column of labels, or several of numbers; None is the only one.
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

    def __init__(
        self,
        bed: str | os.PathLike[str] | open_bed,
        phenotype: Any = None,
        covariates: Any = None,
        *,
        by: str = "sample",
        variants: Any = None,
        impute: str | None = "mean",
        standardize: str | tuple[str, float, float] | None = "unit",
        encoder: GenotypeEncoder | None = None,
        count_A1: bool = True,  # noqa: N803 - PLINK's name
        fam: str | os.PathLike[str] | None = None,
        bim: str | os.PathLike[str] | None = None,
        classes: Iterable[str] | None = None,
        task: str = "auto",
        coding: str = "auto",
        missing: Iterable[str] = MISSING,
        unlabelled: str = "error",
        missing_covariates: str = "error",
        id_column: str | None = None,
        label_column: str | Sequence[str] | None = None,
        covariate_columns: Sequence[str] | None = None,
        dtype: str = "float32",
        output: str = "numbers",
        memory: int | str | None = None,
        cache: str | os.PathLike[str] | None = None,
        num_threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        skip_format_check: bool = False,
    ) -> None:
        check_options(by=by, dtype=dtype, output=output)
        as_choice("missing_covariates", missing_covariates, ("error", "mean"))
        check_function("progress", progress)
        skip_format_check = as_flag("skip_format_check", skip_format_check)
        count_A1 = as_flag("count_A1", count_A1)  # noqa: N806 - PLINK's name
        labels = Labels.of(
            phenotype,
            Labels(missing=MISSING),
            classes=classes,
            task=task,
            coding=coding,
            missing=missing,
            unlabelled=unlabelled,
            id_column=id_column,
            label_column=label_column,
        )
        labels.check_usual("label_from_header", of="SequenceDataset")
        covariate_columns = column_names("covariate_columns", covariate_columns)
        check_counted(bed, count_a1=count_A1)
        files = GenotypeFiles.beside(bed, fam=fam, bim=bim)
        own = GenotypeEncoder(impute, standardize, count_A1)
        reading = Reading(
            memory=memory_of(memory),
            cache=cache_home()
            if cache is None
            else Path(check_path("cache", cache, one="a folder")).absolute(),
            num_threads=num_threads,
            progress=progress,
            check=not skip_format_check,
        )
        super().__init__(files, choose_encoder(encoder, own), by=by, reading=reading)
        self._choose(variants)
        found = self._find_labels(labels)
        self._covariates = self._find_covariates(
            covariates,
            found.kept,
            columns=Columns(labels.id_column, covariate_columns or None, "covariate"),
            marks=Missing.of(labels.missing or ()),
            fills=missing_covariates == "mean",
        )
        self._open(dtype=dtype, output=output)
        self._take(found)

    def _choose(self, variants: Any) -> None:
        """Chooses variants, as the caller or a fitted encoder says."""
        columns = self._files.variants()
        chosen = ChosenVariants(columns, choose_variants(columns["sid"], variants))
        self._variants = choose_for_encoder(chosen, self._encoder, self._files.bed)

    def _find_labels(self, labels: Labels) -> Phenotypes:
        """Finds labels; variants have none."""
        if self._by_sample:
            return label_people(self._people, labels)
        if labels.source is not None and labels.source is not False:
            raise ArgumentError('phenotype is of samples: leave it out with by="variant"')
        return Phenotypes(kept=np.arange(len(self._variants)))

    def _find_covariates(self, covariates: Any, kept: Rows, **options: Any) -> Covariates:
        """Finds covariates; variants have none."""
        if covariates is not None and not self._by_sample:
            raise ArgumentError(
                'covariates are of samples: leave them out with by="variant"'
            )
        found = Covariates((), np.zeros((len(self._people), 0)))
        needed = self._encoder.covariate_names if self._encoder.is_fitted else None
        if covariates is not None and needed != ():
            found = read_covariates(
                self._people, kept, covariates, needed=needed, **options
            )
        found.check_has(self._encoder, self._files.bed)
        return found

    def _take(self, found: Phenotypes) -> None:
        """Keeps labels, and what was left out."""
        self._kept = found.kept
        self.labels, self.task, self.classes = found.values, found.task, found.classes
        beside = self._covariates
        self.unmatched = tuple(dict.fromkeys((*found.unmatched, *beside.unmatched)))
        self.report = {**found.report, **beside.report, **self._variants.report}

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of genotypes of each item, the same for all."""
        return np.full(self._kept.size, self._codes.row_length)

    def _ids(self, rows: Rows) -> list[str]:
        """Lists the ids of some items."""
        if not self._by_sample:
            return self._variants.ids(rows).tolist()
        names = self._people.names
        return [names[at] for at in self._kept[rows].tolist()]

    def _lines(self, rows: Rows) -> Rows:
        """Finds the lines of codes that items are."""
        return self._kept[rows]

    def _about(self, rows: Rows, epoch: int) -> dict[str, Any]:
        """Lists what items have beside their genotypes."""
        del epoch
        if not self._by_sample:
            return self._variants.about(rows)
        about = {} if self.labels is None else {"label": self.labels[rows]}
        if self.covariate_names:
            about["covariates"] = self._encoder_in_use().covariates(self._values(rows))
        return about

    def _values(self, rows: Rows) -> NDArray[np.float64]:
        """Takes covariates as tables have them, in the encoder's order."""
        return self._covariates.of(self._kept[rows], self.covariate_names)

    def group(self, name: str) -> list[Any]:
        """Lists what each item has in a column, to split by.

        Args:
            name: ``"fid"`` (the family) or ``"label"`` of samples, ``"chromosome"`` of
                variants.

        Returns:
            One value for each item.

        Raises:
            ArgumentError: There is no such column.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> GenotypeDataset("a.bed").group("fid")
            ['0', '0']
        """
        if name == "fid" and self._by_sample:
            return self._people.fids[self._kept].tolist()
        return super().group(name)

    def _digest(self) -> str:
        """Hashes the content: what the .bed holds, and what was chosen of it."""
        facts = (self._codes.content, self._by_sample, self._encoder.count_A1)
        labels = (self.task, self.classes, self.covariate_names)
        digest = hashlib.blake2b(repr((facts, labels)).encode(), digest_size=16)
        variants = self._variants.to_variants(count_a1=self._encoder.count_A1)
        for texts in (self.ids, variants.ids, variants.counted, variants.other):
            digest.update("\0".join(texts).encode() + b"\1")
        for array in (self._kept, self.labels):
            digest.update(b"" if array is None else array.tobytes())
        if self.covariate_names:
            digest.update(self._values(np.arange(len(self))).tobytes())
        return digest.hexdigest()
