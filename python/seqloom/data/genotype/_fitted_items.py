"""Genotypes through an encoder, which learns from some of the samples."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.data.genotype._arrays import Fitted
from seqloom.data.genotype._codes import CodeStore
from seqloom.data.genotype._encoder import GenotypeEncoder, constants_of
from seqloom.data.genotype._genotype_items import GenotypeItems
from seqloom.data.genotype._statistics import covariate_statistics, mean_and_scale
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data.genotype._chosen import ChosenVariants
    from seqloom.data.genotype._covariates import Covariates
    from seqloom.data.genotype._files import GenotypeFiles, Reading
    from seqloom.data.genotype._match import Variants

    Rows = NDArray[np.int64]


class FittedItems(GenotypeItems):
    """Genotypes of files, by an encoder that is given or learns from the samples.

    Args:
        files: The files.
        encoder: The encoder, fitted or not.
        by: What an item is: ``"sample"`` or ``"variant"``.
        reading: How the files are read.

    Examples:
        >>> import seqloom as sl
        >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
        >>> isinstance(sl.data.GenotypeDataset("a.bed"), FittedItems)
        True
    """

    _variants: ChosenVariants
    _covariates: Covariates
    _kept: Rows
    # The samples to learn from, and what is fitted to them at the first use.
    _learn_from: Rows | None = None
    _private: GenotypeEncoder | None = None

    def __init__(
        self, files: GenotypeFiles, encoder: GenotypeEncoder, *, by: str, reading: Reading
    ) -> None:
        super().__init__()
        self._files, self._encoder, self._reading = files, encoder, reading
        self._by_sample, self.noun = by == "sample", f"{by}s"
        self._people = files.people()
        self.paths = (files.bed,)

    def _open(self, *, dtype: str, output: str) -> None:
        """Opens the codes of the chosen variants."""
        self._dtype, self.output = np.dtype(dtype), output
        self._codes = self._open_codes(self._variants)
        self._is_flipped = self._variants.is_flipped

    def _open_codes(self, variants: ChosenVariants) -> CodeStore:
        """Opens the codes of some variants."""
        return CodeStore(
            self._files,
            (len(self._people), variants.in_file),
            by_sample=self._by_sample,
            variants=variants.rows,
            reading=self._reading,
        )

    @property
    def encoder(self) -> GenotypeEncoder | None:
        """What makes numbers: fitted if a fitted one was given; None for variants."""
        return self._encoder if self._by_sample else None

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates that items have."""
        if self._encoder.is_fitted:
            return self._encoder.covariate_names
        return self._covariates.names

    def statistics(self, encoder: GenotypeEncoder, rows: Rows | None = None) -> Fitted:
        """Finds what an encoder is fitted to; ``encoder.fit(part)`` calls it.

        Args:
            encoder: The encoder.
            rows: The samples to learn from; None takes all.

        Returns:
            Means and factors of each variant and covariate.

        Raises:
            ArgumentError: There are no samples.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed")
            >>> data.statistics(data.encoder).mean.tolist()
            [1.0, 1.0]
        """
        if self._variants.is_flipped is not None:
            raise ArgumentError(
                "the encoder flips alleles of this file; to fit a new encoder, open the "
                "file without encoder="
            )
        rows = np.arange(len(self)) if rows is None else rows
        if not rows.size:
            raise ArgumentError("there are no samples to take statistics from")
        counts = self._codes.count(self._lines(rows))
        total = rows.size if self._by_sample else len(self._people)
        return _fit_statistics(
            encoder,
            (counts, total),
            self._variants.to_variants(count_a1=encoder.count_A1),
            names=self._covariates.names,
            covariates=self._covariates.values[self._kept[rows]]
            if self._by_sample
            else None,
        )

    def _encoder_in_use(self) -> GenotypeEncoder:
        """Gives the fitted encoder, or one that is fitted to what is to be learnt from."""
        if self._encoder.is_fitted:
            return self._encoder
        if self._private is None:
            fitted = self.statistics(self._encoder, self._learn_from)
            self._private = self._encoder.with_fitted(fitted)
            self.report |= constants_of(self._private)
        return self._private

    def learning_from(self, rows: Rows) -> Self:
        """Shows the same items by the statistics of some of them, unless fitted.

        ``split`` and ``folds`` say so of the training part.

        Args:
            rows: The samples to learn from.

        Returns:
            A dataset of the same items.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0], [2], [2]], np.int8))
            >>> sl.data.GenotypeDataset("a.bed").learning_from(np.array([0, 1]))[2][
            ...     "inputs"
            ... ]
            array([1.], dtype=float32)
        """
        return self._copy_with(_learn_from=rows) if self._by_sample else self

    def _copy_with(self, **state: Any) -> Self:
        """Makes another view of the same files."""
        other, fresh = copy.copy(self), {"_private": None, "_tables": None}
        vars(other).update({"_report": dict(self.report)} | fresh | state)
        return other

    def with_encoder(self, encoder: GenotypeEncoder) -> Self:
        """Shows the same items through another encoder.

        Args:
            encoder: The encoder; a fitted one decides which variants and covariates items
                have.

        Returns:
            A dataset of the same files and labels; it shares the codes where it can.

        Raises:
            FormatError: The file lacks a variant that the encoder reads.
            LabelError: A covariate that it reads is not given.
            ArgumentError: Items are variants.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1], [1, 0]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed")
            >>> data.with_encoder(data.encoder.fit(data[:2]))[2]["inputs"].tolist()
            [0.0, 0.0]
        """
        if not self._by_sample:
            raise ArgumentError('items are variants: an encoder is for by="sample"')
        if not encoder.is_fitted:
            return self._copy_with(_encoder=encoder, _fingerprint=None)
        self._covariates.check_has(encoder, self._files.bed)
        variants = self._variants.read_by(encoder, self._files.bed)
        is_same = variants.has_rows_of(self._variants)
        return self._copy_with(
            _encoder=encoder,
            _variants=variants,
            _is_flipped=variants.is_flipped,
            _codes=self._codes if is_same else self._open_codes(variants),
            _fingerprint=None,
            report=self.report | variants.report | constants_of(encoder),
        )

    def __getstate__(self) -> dict[str, Any]:
        # Each process would find the same statistics again.
        if self.output == "numbers" or self.covariate_names:
            self._in_use()
        return dict(self.__dict__)


def _fit_statistics(
    encoder: GenotypeEncoder,
    counted: tuple[NDArray[np.int64], int],
    variants: Variants,
    *,
    names: tuple[str, ...],
    covariates: NDArray[np.float64] | None,
) -> Fitted:
    """Computes the statistics that an encoder standardises with."""
    mean, scale, is_constant = mean_and_scale(
        *counted, encoder.standardize, count_a1=encoder.count_A1
    )
    values = np.zeros((1, 0)) if covariates is None else covariates
    covariate_mean, covariate_scale = covariate_statistics(values)
    return Fitted(
        variants=variants,
        mean=mean,
        scale=scale,
        is_constant=is_constant,
        covariate_names=names,
        covariate_mean=covariate_mean,
        covariate_scale=covariate_scale,
    )
