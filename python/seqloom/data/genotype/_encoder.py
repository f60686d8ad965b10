"""`GenotypeEncoder`, which imputes and standardises two-bit genotype codes."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from seqloom._arguments import as_bool
from seqloom._config import JsonConfig
from seqloom._text import MAX_EXAMPLES
from seqloom.data.collate._collate import is_tensor
from seqloom.data.genotype._statistics import FittedStats, check_standardize
from seqloom.errors import ArgumentError, RecordError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from seqloom.data._dataset import Dataset
    from seqloom.data.genotype._statistics import Variants


class StatisticsSource(Protocol):
    """A source that computes the statistics of its genotypes for an encoder."""

    def statistics(self, encoder: GenotypeEncoder, rows: NDArray[np.int64]) -> FittedStats:
        """Return the statistics of rows for an encoder."""
        ...


@dataclass(frozen=True)
class GenotypeEncoder(JsonConfig):
    """Imputes and standardises genotypes with the statistics of the fitted samples.

    A genotype becomes ``(dosage - mean) * scale``, computed in float64 and then rounded;
    missing genotypes become the mean. A variant that is constant in the fitted samples
    becomes 0, and is counted in ``constant``. Covariates are standardised to unit variance,
    unless ``standardize`` is None.

    Args:
        impute: ``"mean"``, or None to leave missing genotypes as NaN.
        standardize: ``"unit"`` for unit variance; ``("beta", a, b)`` to weight each variant
            by the density of the beta distribution at its minor allele frequency; None for
            plain dosages.
        count_A1: If True, dosages count allele 1; if False, they count allele 2.
        digest: A hash of the fitted arrays; empty before fitting.

    Raises:
        ArgumentError: ``impute`` or ``standardize`` is invalid.

    Examples:
        >>> import seqloom as sl
        >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1], [1, -127]], np.int8))
        >>> data = sl.data.GenotypeDataset("a.bed")
        >>> encoder = GenotypeEncoder(standardize=None).fit(data)
        >>> print(encoder)
        2 variants, imputed by mean, not standardised
        >>> encoder.constant, data.with_encoder(encoder)[2]["inputs"].tolist()
        (1, [1.0, 1.0])
    """

    supports_threads = True

    impute: str | None = "mean"
    standardize: str | tuple[str, float, float] | None = "unit"
    count_A1: bool = True
    digest: str = ""
    encodes: ClassVar[str] = "genotypes"
    _fitted: FittedStats | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        as_bool("count_A1", self.count_A1)
        if self.impute is not None and self.impute != "mean":
            raise ArgumentError(f'impute must be "mean" or None, got {self.impute!r}')
        object.__setattr__(self, "standardize", check_standardize(self.standardize))

    def __str__(self) -> str:
        count = f"{self._fitted.mean.size:,} variants, " if self._fitted else ""
        filled = "imputed by mean" if self.impute else "not imputed"
        if self.standardize is None:
            return f"{count}{filled}, not standardised"
        how = "to unit variance"
        if self.standardize != "unit":
            how = f"by beta({self.standardize[1]}, {self.standardize[2]})"
        return f"{count}{filled}, standardised {how}"

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """The settings as JSON values, without the fitted arrays."""
        return {
            "kind": "genotypes",
            "count_a1": self.count_A1,
            "covariates": list(self.covariate_names),
        }

    @property
    def is_fitted(self) -> bool:
        """True if the encoder is fitted."""
        return self._fitted is not None

    @property
    def fitted(self) -> FittedStats:
        """The variants and their statistics."""
        if self._fitted is None:
            raise ArgumentError(
                "the encoder is not fitted: call encoder = encoder.fit(train) first"
            )
        return self._fitted

    @property
    def variants(self) -> Variants:
        """Ids and alleles of the variants that the encoder was fitted on, in order."""
        return self.fitted.variants

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """Names of the covariates that the encoder was fitted on, in order."""
        return self.fitted.covariate_names

    @property
    def constant(self) -> int:
        """The number of variants without variance in the fitted samples."""
        return int(self.fitted.is_constant.sum())

    def fit(self, examples: Dataset) -> GenotypeEncoder:
        """Return a new encoder that is fitted on some samples.

        Args:
            examples: The samples: a dataset, or its training set.

        Returns:
            A fitted copy of the encoder; the original encoder does not change.

        Raises:
            ArgumentError: The dataset has no samples.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1], [2, 0]], np.int8))
            >>> train = sl.data.GenotypeDataset("a.bed")[:2]
            >>> train.encoder.fit(train).fitted.mean.tolist()
            [1.0, 1.0]
        """
        source = cast("StatisticsSource", examples.source)
        return self.with_fitted(source.statistics(self, examples.rows))

    def with_fitted(self, fitted: FittedStats) -> GenotypeEncoder:
        """Return an encoder with the given statistics.

        Args:
            fitted: The statistics.

        Returns:
            A fitted encoder.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> encoder = GenotypeEncoder()
            >>> fitted = encoder.fit(sl.data.GenotypeDataset("a.bed"))
            >>> encoder.with_fitted(fitted.fitted) == fitted
            True
        """
        other = replace(self, digest=_digest_arrays(fitted.to_arrays()))
        object.__setattr__(other, "_fitted", fitted)
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fitted statistics as arrays, to save them in a file.

        Returns:
            Arrays of numbers by name; empty before fitting.

        Examples:
            >>> GenotypeEncoder().arrays()
            {}
        """
        return {} if self._fitted is None else self._fitted.to_arrays()

    def with_arrays(self, arrays: Mapping[str, ArrayLike]) -> GenotypeEncoder:
        """Return an encoder with the statistics that ``arrays`` returned.

        Args:
            arrays: The arrays by name.

        Returns:
            The fitted encoder.

        Raises:
            RecordError: The arrays do not match the digest.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed")
            >>> fitted = data.encoder.fit(data)
            >>> again = GenotypeEncoder.from_dict(fitted.to_dict())
            >>> again.with_arrays(fitted.arrays()).constant
            1
        """
        converted = {name: np.asarray(array) for name, array in arrays.items()}
        if _digest_arrays(converted) != self.digest:
            raise RecordError(
                "the encoder's arrays do not match the digest in its settings: the files "
                "are of different runs"
            )
        return self.with_fitted(FittedStats.from_arrays(converted)) if converted else self

    def tables(self, dtype: DTypeLike = "float32") -> NDArray[Any]:
        """Return the lookup tables, with the number for each code of each variant.

        Args:
            dtype: The type of the numbers.

        Returns:
            An array ``(codes, variants)``; the codes are homozygous A1, missing,
            heterozygous and homozygous A2.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed")
            >>> data.encoder.fit(data).tables().tolist()
            [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]
        """
        fitted = self.fitted
        copies = np.array([2.0, np.nan, 1.0, 0.0] if self.count_A1 else [0, np.nan, 1, 2])
        values = np.broadcast_to(copies[:, None], (4, fitted.mean.size))
        if self.impute == "mean":
            values = np.where(np.isnan(values), fitted.mean, values)
        if self.standardize is not None:
            # Adding 0 turns -0 into 0.
            values = (values - fitted.mean) * fitted.scale + 0.0
        return np.ascontiguousarray(values, dtype)

    def decode(self, codes: Any, *, tables: Any = None) -> Any:
        """Convert two-bit codes to numbers, on the device of the codes.

        Two-bit codes need 1/16 of the memory of float32, so the copy to a GPU is faster.

        Args:
            codes: A uint8 array or tensor of shape ``(samples, bytes)`` with four codes per
                byte, the first code in the lowest bits, as in batches of
                ``GenotypeDataset(output="codes")``.
            tables: The result of ``tables``, on the device of the codes; None computes the
                tables.

        Returns:
            Numbers of shape ``(samples, variants)``, as an array or tensor on the device of
            the codes.

        Raises:
            ShapeError: The number of codes is not the number of variants.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed", output="codes")
            >>> data.encoder.fit(data).decode(data.batch([0, 1])["codes"]).tolist()
            [[-1.0, 0.0], [1.0, 0.0]]
        """
        return decode_codes(codes, self.tables() if tables is None else tables)

    def covariates(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Impute and standardise covariates.

        Args:
            values: One row for each sample, with NaN for missing values.

        Returns:
            The standardised covariates, in the same shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0], [2]], np.int8))
            >>> age = {"iid1": 30, "iid2": 50}
            >>> data = sl.data.GenotypeDataset("a.bed", covariates=age)
            >>> data.encoder.fit(data).covariates(np.array([[40.0], [60.0]])).tolist()
            [[0.0], [2.0]]
        """
        fitted = self.fitted
        filled = np.where(np.isnan(values), fitted.covariate_mean, values)
        if self.standardize is None:
            return filled.astype(np.float32)
        return ((filled - fitted.covariate_mean) * fitted.covariate_scale).astype(
            np.float32
        )

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the encoder, without fitted statistics.

        Returns:
            A dict from argument name to value.

        Examples:
            >>> GenotypeEncoder(impute=None).settings()["impute"]
        """
        names = (item.name for item in fields(self) if item.init and item.name != "digest")
        return {name: getattr(self, name) for name in names}


def report_constants(encoder: GenotypeEncoder) -> dict[str, Any]:
    """Return the number of constant variants, and examples of them, for a report."""
    fitted = encoder.fitted
    ids = fitted.variants.ids[np.flatnonzero(fitted.is_constant)[:MAX_EXAMPLES]]
    return {"constant": encoder.constant, "constant_examples": ids.tolist()}


def _digest_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a hash of arrays: 32 hexadecimal digits; empty without arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest() if arrays else ""


def decode_codes(codes: Any, tables: Any) -> Any:
    """Convert each code to a number, with the lookup table of the variant."""
    count = tables.shape[1]
    if codes.ndim != 2 or codes.shape[1] != -(-count // 4):  # noqa: PLR2004 - a matrix
        raise ShapeError(
            f"expected codes (samples, {-(-count // 4)}) for {count} variants, four in a "
            f"byte; got {tuple(codes.shape)}"
        )
    library: Any = np
    if is_tensor(codes):
        library = sys.modules["torch"]
        tables = library.as_tensor(tables, device=codes.device)
    columns = [(codes >> shift) & 3 for shift in (0, 2, 4, 6)]
    codes_of_variants = library.stack(columns, -1).reshape(codes.shape[0], -1)[:, :count]
    is_odd = (codes_of_variants & 1) == 1
    low = library.where(is_odd, tables[1], tables[0])
    high = library.where(is_odd, tables[3], tables[2])
    return library.where(codes_of_variants >= 2, high, low)  # noqa: PLR2004 - the higher bit


def flip_codes(codes: Any, is_flipped: Any) -> Any:
    """Flip the alleles of some variants: homozygous A1 becomes homozygous A2."""
    marks = np.zeros(4 * codes.shape[1], np.uint8)
    marks[: is_flipped.size] = 3 * is_flipped.astype(np.uint8)
    wanted = (marks.reshape(-1, 4) << np.arange(0, 8, 2, dtype=np.uint8)).sum(axis=1)
    # Homozygous codes (00 and 11) have two equal bits.
    equal = ~(codes ^ (codes >> 1)) & 0x55
    return codes ^ ((equal | (equal << 1)) & wanted.astype(np.uint8))
