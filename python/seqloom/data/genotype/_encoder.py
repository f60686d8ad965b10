"""From two-bit codes to numbers: what is missing filled in, each variant standardised."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from seqloom._arguments import as_flag
from seqloom._config import JsonConfig
from seqloom.data.collate._collate import is_tensor
from seqloom.data.genotype._statistics import Fitted, check_standardize
from seqloom.errors import ArgumentError, RecordError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from seqloom.data._dataset import Dataset
    from seqloom.data.genotype._statistics import Variants


_EXAMPLES = 3


class Counted(Protocol):
    """A source that computes statistics of its samples."""

    def statistics(self, encoder: GenotypeEncoder, rows: NDArray[np.int64]) -> Fitted:
        """Compute what an encoder is fitted to."""
        ...


@dataclass(frozen=True)
class GenotypeEncoder(JsonConfig):
    """Fills in and standardises genotypes, by statistics of the samples it was fitted to.

    A number is ``(copies - mean) * scale``, computed in float64 and rounded once; what is
    missing becomes the mean. A variant that does not vary among the samples it was fitted
    on becomes 0 everywhere, and is counted in ``constant``. Covariates are standardised to
    unit variance, unless ``standardize`` is None.

    Args:
        impute: ``"mean"``, or None to leave NaN where a genotype is missing.
        standardize: ``"unit"`` for unit variance; ``("beta", a, b)`` for the density of
            that beta distribution at the rarer allele's frequency as weight; None for
            copies as they are.
        count_A1: Whether copies of allele 1 are counted, or of allele 2.
        digest: Names the fitted arrays; empty where there are none.

    Raises:
        ArgumentError: There is no such way to impute or to standardise.

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
    _fitted: Fitted | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        as_flag("count_A1", self.count_A1)
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
        """What a kernel is told, as plain values that JSON has, without learned arrays."""
        return {
            "kind": "genotypes",
            "count_a1": self.count_A1,
            "covariates": list(self.covariate_names),
        }

    @property
    def is_fitted(self) -> bool:
        """Whether it has the statistics of samples."""
        return self._fitted is not None

    @property
    def fitted(self) -> Fitted:
        """The statistics, with the variants that they are of."""
        if self._fitted is None:
            raise ArgumentError(
                "the encoder is not fitted: call encoder = encoder.fit(train) first"
            )
        return self._fitted

    @property
    def variants(self) -> Variants:
        """The variants it reads, in order: their ids and alleles."""
        return self.fitted.variants

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The covariates it was fitted with, in order."""
        return self.fitted.covariate_names

    @property
    def constant(self) -> int:
        """How many variants do not vary, or are all missing, in what it was fitted on."""
        return int(self.fitted.is_constant.sum())

    def fit(self, examples: Dataset) -> GenotypeEncoder:
        """Take the statistics of some samples, and of no others.

        Args:
            examples: The samples to learn from: a dataset, or the training part of one.

        Returns:
            A fitted encoder; this one stays as it is.

        Raises:
            ArgumentError: There are no samples.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1], [2, 0]], np.int8))
            >>> train = sl.data.GenotypeDataset("a.bed")[:2]
            >>> train.encoder.fit(train).fitted.mean.tolist()
            [1.0, 1.0]
        """
        source = cast("Counted", examples.source)
        return self.with_fitted(source.statistics(self, examples.rows))

    def with_fitted(self, fitted: Fitted) -> GenotypeEncoder:
        """Take statistics that were found.

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
        other = replace(self, digest=_digest(fitted.to_arrays()))
        object.__setattr__(other, "_fitted", fitted)
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        """List what was fitted, as plain arrays that a record file can hold.

        Returns:
            Arrays of numbers by name; none where nothing is fitted.

        Examples:
            >>> GenotypeEncoder().arrays()
            {}
        """
        return {} if self._fitted is None else self._fitted.to_arrays()

    def with_arrays(self, arrays: Mapping[str, ArrayLike]) -> GenotypeEncoder:
        """Take back what ``arrays`` gave.

        Args:
            arrays: The arrays by name.

        Returns:
            The fitted encoder that they are of.

        Raises:
            RecordError: They are not those that the digest names.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed")
            >>> fitted = data.encoder.fit(data)
            >>> again = GenotypeEncoder.from_dict(fitted.to_dict())
            >>> again.with_arrays(fitted.arrays()).constant
            1
        """
        found = {name: np.asarray(array) for name, array in arrays.items()}
        if _digest(found) != self.digest:
            raise RecordError(
                "the encoder's arrays do not match the digest in its settings: the files "
                "are of different runs"
            )
        return self.with_fitted(Fitted.from_arrays(found)) if found else self

    def tables(self, dtype: DTypeLike = "float32") -> NDArray[Any]:
        """List what each code becomes, for each variant.

        Args:
            dtype: The type of the numbers.

        Returns:
            An array ``(codes, variants)``: homozygous A1, missing, heterozygous,
            homozygous A2, where A1 is the allele that is counted with ``count_A1``.

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
            # Less than nothing times nothing is -0: adding 0 makes it 0.
            values = (values - fitted.mean) * fitted.scale + 0.0
        return np.ascontiguousarray(values, dtype)

    def decode(self, codes: Any, *, tables: Any = None) -> Any:
        """Make numbers of two-bit codes, wherever they are.

        Codes take a sixteenth of the memory: they can go to a GPU as they are.

        Args:
            codes: An array or a tensor ``(samples, bytes)`` of uint8: four codes a byte,
                the first in the lowest bits, as ``GenotypeDataset(output="codes")`` gives.
            tables: What ``tables`` gives, put beside the codes before; None puts it there.

        Returns:
            Numbers ``(samples, variants)`` of the kind and on the device of the codes.

        Raises:
            ShapeError: There are not so many codes as variants.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed", output="codes")
            >>> data.encoder.fit(data).decode(data.batch([0, 1])["codes"]).tolist()
            [[-1.0, 0.0], [1.0, 0.0]]
        """
        return decode_codes(codes, self.tables() if tables is None else tables)

    def covariates(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Fill in and standardises covariates.

        Args:
            values: A row a sample, as tables have them; NaN where they have none.

        Returns:
            Numbers of the same shape.

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
        """List its arguments, without the fitted statistics.

        Returns:
            The arguments of an encoder that is not fitted.

        Examples:
            >>> GenotypeEncoder(impute=None).settings()["impute"]
        """
        names = (item.name for item in fields(self) if item.init and item.name != "digest")
        return {name: getattr(self, name) for name in names}


def constants_of(encoder: GenotypeEncoder) -> dict[str, Any]:
    """Report the variants that do not vary in what a fitted encoder was fitted to."""
    fitted = encoder.fitted
    ids = fitted.variants.ids[np.flatnonzero(fitted.is_constant)[:_EXAMPLES]]
    return {"constant": encoder.constant, "constant_examples": ids.tolist()}


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Name arrays by 32 hexadecimal digits; none have the empty name."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest() if arrays else ""


def decode_codes(codes: Any, tables: Any) -> Any:
    """Look each code up in the table of its variant."""
    count = tables.shape[1]
    if codes.ndim != 2 or codes.shape[1] != -(-count // 4):  # noqa: PLR2004 - a matrix of two bits
        raise ShapeError(
            f"expected codes (samples, {-(-count // 4)}) for {count} variants, four in a "
            f"byte; got {tuple(codes.shape)}"
        )
    library: Any = np
    if is_tensor(codes):
        library = sys.modules["torch"]
        tables = library.as_tensor(tables, device=codes.device)
    columns = [(codes >> shift) & 3 for shift in (0, 2, 4, 6)]
    each = library.stack(columns, -1).reshape(codes.shape[0], -1)[:, :count]
    is_odd = (each & 1) == 1
    low = library.where(is_odd, tables[1], tables[0])
    high = library.where(is_odd, tables[3], tables[2])
    return library.where(each >= 2, high, low)  # noqa: PLR2004 - the higher bit


def flip_codes(codes: Any, is_flipped: Any) -> Any:
    """Exchange the alleles of some variants: homozygous A1 becomes homozygous A2."""
    marks = np.zeros(4 * codes.shape[1], np.uint8)
    marks[: is_flipped.size] = 3 * is_flipped.astype(np.uint8)
    wanted = (marks.reshape(-1, 4) << np.arange(0, 8, 2, dtype=np.uint8)).sum(axis=1)
    # Codes 00 and 11 have two equal bits.
    equal = ~(codes ^ (codes >> 1)) & 0x55
    return codes ^ ((equal | (equal << 1)) & wanted.astype(np.uint8))
