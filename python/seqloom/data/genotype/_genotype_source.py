"""`GenotypeSource`, which reads genotype codes and decodes them with an encoder."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._encoder import allocate_batch
from seqloom.data._source import FetchOptions, Source, select_group_column
from seqloom.data.genotype._codes import CodeStore
from seqloom.data.genotype._encoder import GenotypeEncoder, flip_codes, report_constants
from seqloom.data.genotype._statistics import (
    FittedStats,
    covariate_statistics,
    mean_and_scale,
)
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._source import Rows
    from seqloom.data.genotype._files import GenotypeFiles, ReadingOptions
    from seqloom.data.genotype._people import People
    from seqloom.data.genotype._phenotype import Covariates
    from seqloom.data.genotype._variants import ChosenVariants
    from seqloom.data.label._labels import LabelColumn


class GenotypeSource(Source):
    """Reads samples, or variants, of a .bed by index."""

    kind, title = "genotypes", "GenotypeDataset"
    has_letters = False
    has_ordinals = False
    supports_threads, is_checked = True, False
    _training_rows: Rows | None = None  # Rows to fit the encoder on; None for all.
    _fitted_encoder: GenotypeEncoder | None = None  # The encoder is fitted on first use.
    _tables: NDArray[Any] | None = None  # Lookup tables of the fitted encoder.

    def __init__(
        self,
        files: GenotypeFiles,
        people: People,
        variants: ChosenVariants,
        *,
        covariates: Covariates,
        encoder: GenotypeEncoder,
        by_sample: bool,
        reading: ReadingOptions,
        dtype: str,
        output: str,
    ) -> None:
        self._files, self._people, self._variants = files, people, variants
        self._covariates, self._encoder, self._reading = covariates, encoder, reading
        self._by_sample, self._dtype, self._output = by_sample, np.dtype(dtype), output
        self.noun = "samples" if by_sample else "variants"
        self.paths = (files.bed,)
        self.size = len(people) if by_sample else len(variants)
        self._facts: dict[str, Any] = dict(variants.report)
        self._codes = self._open_codes(variants)

    def _open_codes(self, variants: ChosenVariants) -> CodeStore:
        return CodeStore(
            self._files,
            (len(self._people), variants.in_file),
            by_sample=self._by_sample,
            variants=variants.rows,
            reading=self._reading,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """Counts of flipped and constant variants, for the report."""
        return self._facts

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates of items."""
        if self._encoder.is_fitted:
            return self._encoder.covariate_names
        return self._covariates.names

    def ids(self, rows: Rows) -> list[str]:
        """Return the ids of rows."""
        if not self._by_sample:
            return self._variants.ids(rows).tolist()
        names = self._people.names
        return [names[row] for row in rows.tolist()]

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the number of genotypes of each row."""
        del encoder
        return np.full(rows.size, self._codes.row_length)

    def fetch(self, rows: Rows, options: FetchOptions) -> dict[str, Any]:
        """Return decoded genotypes, or codes, and covariates."""
        if self._output == "codes":
            codes = self._codes.gather(rows, options.num_threads)
            # Flip the codes, so that dosages count the same alleles as in the encoder.
            is_flipped = self._variants.is_flipped
            codes = codes if is_flipped is None else flip_codes(codes, is_flipped)
            batch: dict[str, Any] = {"codes": codes}
        else:
            batch = {"inputs": self._decode_rows(rows, options.out, options.num_threads)}
        return batch | self._covariate_column(rows)

    def _decode_rows(
        self, rows: Rows, out: NDArray[Any] | None, num_threads: int
    ) -> NDArray[Any]:
        """Return decoded genotypes, in memory that is reused after the batch is freed."""
        shape = (rows.size, self._codes.row_length)
        if out is None:
            out = allocate_batch(shape, self._dtype)
        elif out.shape != shape or out.dtype != self._dtype or not out.flags.c_contiguous:
            raise ShapeError(
                f"out must be {self._dtype} {shape} in C order, got {out.dtype} {out.shape}"
            )
        if rows.size:
            tables = self._find_tables()
            tables = tables if self._by_sample else tables[:, rows]
            self._codes.decode(rows, tables, out, num_threads=num_threads)
        return out

    def _covariate_column(self, rows: Rows) -> dict[str, Any]:
        """Return the column of covariates; empty without covariates."""
        if not (self._by_sample and self.covariate_names):
            return {}
        values = self._covariates.of(rows, self.covariate_names)
        return {"covariates": self._find_encoder().covariates(values)}

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return the columns ``chromosome`` and ``position``; none for samples."""
        del epoch
        return {} if self._by_sample else self._variants.locations(rows)

    def group(self, rows: Rows, name: str, labels: NDArray[Any] | None) -> list[Any]:
        """Return family, label or covariates of samples, or chromosomes of variants."""
        if name == "fid" and self._by_sample:
            return self._people.fids[rows].tolist()
        columns = self.columns(rows, None)
        if labels is not None:
            columns["label"] = labels
        columns |= self._covariate_column(rows)
        return select_group_column(name, columns)

    def _find_tables(self) -> NDArray[Any]:
        """Return the lookup tables of the encoder, flipped for the alleles of the file."""
        if self._tables is None:
            tables = self._find_encoder().tables(self._dtype)
            if (is_flipped := self._variants.is_flipped) is not None:
                flipped = np.where(is_flipped, tables[[3, 1, 2, 0]], tables)
                tables = np.ascontiguousarray(flipped)
            self._tables = tables
        return self._tables

    def _find_encoder(self) -> GenotypeEncoder:
        """Return the fitted encoder; fit it on the training samples if necessary."""
        if self._encoder.is_fitted:
            return self._encoder
        if self._fitted_encoder is None:
            fitted = self.statistics(self._encoder, self._training_rows)
            self._fitted_encoder = self._encoder.with_fitted(fitted)
            self._facts |= report_constants(self._fitted_encoder)
        return self._fitted_encoder

    def statistics(self, encoder: GenotypeEncoder, rows: Rows | None = None) -> FittedStats:
        """Return the statistics of some samples, or of all samples, for an encoder."""
        if self._variants.is_flipped is not None:
            raise ArgumentError(
                "the encoder flips alleles of this file; to fit a new encoder, open the "
                "file without encoder="
            )
        rows = np.arange(self.size) if rows is None else rows
        if not rows.size:
            raise ArgumentError("statistics need at least one sample, got none")
        total = rows.size if self._by_sample else len(self._people)
        mean, scale, is_constant = mean_and_scale(
            self._codes.count(rows), total, encoder.standardize, count_a1=encoder.count_A1
        )
        values = self._covariates.values[rows] if self._by_sample else np.zeros((1, 0))
        covariate_mean, covariate_scale = covariate_statistics(values)
        return FittedStats(
            variants=self._variants.to_variants(count_a1=encoder.count_A1),
            mean=mean,
            scale=scale,
            is_constant=is_constant,
            covariate_names=self._covariates.names,
            covariate_mean=covariate_mean,
            covariate_scale=covariate_scale,
        )

    def fitted(self, to: GenotypeEncoder | Rows) -> GenotypeSource:
        """Return a source with the statistics of some samples or of an encoder."""
        if isinstance(to, np.ndarray):
            return self._copy_with(_training_rows=to) if self._by_sample else self
        if not self._by_sample:
            raise ArgumentError('the items are variants, but an encoder needs by="sample"')
        if not to.is_fitted:
            return self._copy_with(_encoder=to)
        self._covariates.check_has(to, self._files.bed)
        variants = self._variants.match_encoder(to, self._files.bed)
        is_same = variants.has_same_rows(self._variants)
        return self._copy_with(
            _encoder=to,
            _variants=variants,
            _codes=self._codes if is_same else self._open_codes(variants),
            _facts=self._facts | variants.report | report_constants(to),
        )

    def _copy_with(self, **state: Any) -> GenotypeSource:
        other, fresh = copy.copy(self), {"_fitted_encoder": None, "_tables": None}
        vars(other).update({"_facts": dict(self._facts)} | fresh | state)
        return other

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield bytes to hash: the genotypes' hash, the rows, labels and covariates."""
        del encoder, jitter
        facts = (self._codes.content, self._by_sample, self._encoder.count_A1)
        choices = (labels.task, labels.classes, self.covariate_names)
        yield repr((facts, choices)).encode()
        variants = self._variants.to_variants(count_a1=self._encoder.count_A1)
        for texts in (self.ids(rows), variants.ids, variants.counted, variants.other):
            yield "\0".join(texts).encode() + b"\1"
        yield rows.tobytes()
        yield labels.to_bytes()
        if self.covariate_names:
            yield self._covariates.of(rows, self.covariate_names).tobytes()

    def __getstate__(self) -> dict[str, Any]:
        # Compute the statistics before pickling, so that worker processes do not repeat
        # the computation.
        if self._output == "numbers" or self.covariate_names:
            self._find_tables()
        return dict(self.__dict__)
