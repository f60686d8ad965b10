"""Items and batches of genotypes: rows of codes, made into numbers by an encoder."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.data._ids import Ids
from seqloom.data._numbered import NumberedItems
from seqloom.data._position import positions
from seqloom.data._ring import empty
from seqloom.data.genotype._decode import flip_codes
from seqloom.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from seqloom.data.genotype._codes import CodeStore
    from seqloom.data.genotype._encoder import GenotypeEncoder

    Rows = NDArray[np.int64]


class GenotypeItems(NumberedItems):
    """Rows of two-bit codes by number.

    Attributes:
        output: ``"numbers"``, or ``"codes"`` to leave them as they are.

    Examples:
        >>> import seqloom as sl
        >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
        >>> isinstance(sl.data.GenotypeDataset("a.bed"), GenotypeItems)
        True
    """

    _codes: CodeStore
    _dtype: np.dtype[Any]
    output: str
    # Which variants have their alleles the other way round than the encoder.
    _is_flipped: NDArray[np.bool_] | None = None
    _tables: NDArray[Any] | None = None

    @abstractmethod
    def _encoder_in_use(self) -> GenotypeEncoder:
        """Gives the encoder that numbers are made by."""

    @abstractmethod
    def _lines(self, rows: Rows) -> Rows:
        """Finds the lines of codes that items are."""

    def plain(self) -> Self:
        """Shows the same items without augmentation, of which there is none.

        Returns:
            This dataset.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed")
            >>> data.plain() is data
            True
        """
        return self

    def items_at(self, rows: Rows, epoch: int | None = None) -> list[dict[str, Any]]:
        """Fetches several items at once.

        Args:
            rows: Their positions, from 0.
            epoch: Items are the same in all.

        Returns:
            One dict each.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> sl.data.GenotypeDataset("a.bed").items_at(np.array([1]))[0]["id"]
            'iid2'
        """
        del epoch
        batch = self._columns(rows)
        return [
            dict(zip(batch, values, strict=True))
            for values in zip(*batch.values(), strict=True)
        ]

    def batch(
        self,
        indices: ArrayLike,
        *,
        epoch: int | None = None,
        out: NDArray[Any] | None = None,
        num_threads: int | None = None,
        length: int | None = None,
        multiple: int = 1,
    ) -> dict[str, Any]:
        """Fetches several items at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            epoch: Items are the same in all.
            out: Where ``inputs`` are written; memory of its own if None.
            num_threads: How many threads may work; None takes one.
            length: As for sequences; items of genotypes are never padded.
            multiple: The same.

        Returns:
            ``id`` (``Ids``), ``inputs`` (items, numbers) or ``codes``, and what items
            have beside: ``label`` and ``covariates`` of samples, ``chromosome`` and
            ``position`` of variants.

        Raises:
            ArgumentError: Indices are not integers.
            OutOfRangeError: There is no such item.
            ShapeError: ``out`` is no such array.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> data = sl.data.GenotypeDataset("a.bed", standardize=None)
            >>> data.batch([1, 0])["inputs"].tolist()
            [[2.0, 1.0], [0.0, 1.0]]
        """
        del epoch, length, multiple
        rows = positions(indices, len(self))
        return self._columns(rows, out=out, num_threads=num_threads or 1)

    def _columns(
        self, rows: Rows, *, out: NDArray[Any] | None = None, num_threads: int = 1
    ) -> dict[str, Any]:
        """Puts the columns of a batch together."""
        names = Ids(lambda: self._ids(rows), rows.size)
        if self.output == "codes":
            made: Any = {"codes": self._gather(rows, num_threads)}
        else:
            made = {"inputs": self._numbers(rows, out, num_threads)}
        return {"id": names, **made, **self._about(rows, 0)}

    def _gather(self, rows: Rows, num_threads: int) -> NDArray[np.uint8]:
        """Copies codes, alleles as the encoder has them."""
        codes = self._codes.gather(self._lines(rows), num_threads)
        if self._is_flipped is None:
            return codes
        return flip_codes(codes, self._is_flipped)

    def _numbers(
        self, rows: Rows, out: NDArray[Any] | None, num_threads: int
    ) -> NDArray[Any]:
        """Makes numbers of codes, in memory that is used again once they have died."""
        shape = (rows.size, self._codes.row_length)
        if out is None:
            out = empty(shape, self._dtype)
        elif out.shape != shape or out.dtype != self._dtype or not out.flags.c_contiguous:
            raise ShapeError(
                f"out must be {self._dtype} {shape} in C order, got {out.dtype} {out.shape}"
            )
        if rows.size:
            tables = self._in_use() if self._codes.by_sample else self._in_use()[:, rows]
            self._codes.decode(self._lines(rows), tables, out, num_threads=num_threads)
        return out

    def _in_use(self) -> NDArray[Any]:
        """Gives the tables of the encoder, for alleles as the file has them."""
        if self._tables is None:
            tables = self._encoder_in_use().tables(self._dtype)
            if self._is_flipped is not None:
                flipped = np.where(self._is_flipped, tables[[3, 1, 2, 0]], tables)
                tables = np.ascontiguousarray(flipped)
            self._tables = tables
        return self._tables

    def to_numpy(self) -> dict[str, Any]:
        """Fetches everything at once.

        Returns:
            What ``batch`` gives for all items, in order.

        Examples:
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1]], np.int8))
            >>> sl.data.GenotypeDataset("a.bed").to_numpy()["inputs"].shape
            (2, 2)
        """
        return self._columns(np.arange(len(self)))
