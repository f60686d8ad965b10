"""The interface between a dataset and what its records are read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom._ragged import Ragged
from seqloom.data._encoder import Extents, extents_of
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom._rust import _native
    from seqloom.data._encoder import Letters
    from seqloom.data.label._labels import LabelColumn
    from seqloom.encode._base import SequenceEncoder

    Rows = NDArray[np.int64]

_AT_ONCE = 1 << 12
_OF_DATASETS = frozenset({"id", "label"})
_OF_BATCHES = _OF_DATASETS | {"inputs", "sequence", "quality", "lengths", "mask"}


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How a dataset wants the records of one batch."""

    encoder: Any = None  # the dataset's
    epoch: int | None = None  # None: as records are without jitter
    length: int | None = None  # positions of a batch; None takes the longest record
    multiple: int = 1  # the longest record is rounded up to a multiple of this
    out: NDArray[Any] | None = None  # memory for the inputs
    num_threads: int = 1
    as_letters: bool = False  # letters are needed, even if the source has inputs


class Fetched(NamedTuple):
    """Records as letters, before augmentation: what ``Source.fetch`` returns.

    Examples:
        >>> fetched = Fetched.of(["x", "y"], [b"ACGT", b"GG"])
        >>> fetched.ids, fetched.letters[0].lengths.tolist()
        (['x', 'y'], [4, 2])
    """

    ids: list[str]
    letters: Letters

    @classmethod
    def of(cls, ids: list[str], sequences: Iterable[bytes | str]) -> Fetched:
        """Join the letters of several records.

        Args:
            ids: The id of each record.
            sequences: The letters of each record.

        Returns:
            The records.

        Examples:
            >>> Fetched.of(["x"], ["ACGT"]).letters[0].to_list()
            [b'ACGT']
        """
        return cls(ids, (Ragged.from_list(sequences), None))


class NativeRecords:
    """Records as Rust reads them."""

    def __init__(self, store: _native.RecordStore, letters: Letters) -> None:
        self.store, self.letters = store, letters
        self._extents: tuple[SequenceEncoder, Extents] | None = None

    def extents(self, encoder: SequenceEncoder) -> Extents:
        """Count the positions that an encoder makes of each record."""
        if self._extents is None or self._extents[0] is not encoder:
            self._extents = encoder, Extents.of(extents_of(encoder, self.letters[0]))
        return self._extents[1]


class Source(ABC):
    """Records by row number: what a ``Dataset`` reads, for a format of your own too.

    A source does not change, and can be pickled. Set ``kind`` (the name of its
    `seqloom.infer.Kind`), ``size`` (the number of records) and ``paths``, and write
    ``ids``, ``lengths`` and ``fetch``. Set ``supports_threads = True`` in the class if
    several threads may call its methods at once; a subclass sets it again. The other
    attributes and methods have defaults for sequences.

    Examples:
        >>> import numpy as np
        >>> import seqloom as sl
        >>> class Repeats(sl.data.Source):
        ...     kind, title, size = "repeats", "Repeats", 3
        ...
        ...     def ids(self, rows):
        ...         return [f"r{row}" for row in rows]
        ...
        ...     def lengths(self, rows, encoder):
        ...         return np.asarray(rows) + 1
        ...
        ...     def fetch(self, rows, options):
        ...         return sl.data.Fetched.of(
        ...             self.ids(rows), ["A" * (row + 1) for row in rows]
        ...         )
        >>> data = sl.data.Dataset(Repeats(), encoder=sl.encode.OneHot("dna"))
        >>> data, data[2]["inputs"].shape
        (Repeats(3 sequences of 1 to 3), (4, 3))
    """

    kind: str  # name of its entry in the registry of kinds (`seqloom.infer.Kind`)
    title: str = "Dataset"  # name of the function that makes a dataset of it
    noun: str = "sequences"  # what its records are called
    size: int  # the number of rows
    paths: tuple[str, ...] = ()  # the files that are read
    has_letters: bool = True  # False: records are numbers
    has_ids: bool = True  # False: ids are numbers, because none were given
    counts_letters: bool = False  # whether reports count the kinds of letters
    supports_threads: bool = False  # whether threads may share it; read of its own class
    is_checked: bool = True  # whether datasets check the sizes of what it returns
    has_ordinals: bool = True  # whether batches have the column ``ordinal``, the row
    jitter: int = 0  # letters by which records move between epochs

    @property
    def names(self) -> list[str] | None:
        """Further names of the rows, such as BED's fourth column."""
        return None

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates, if there are any."""
        return ()

    @property
    def facts(self) -> dict[str, Any]:
        """What reading has found, for the report."""
        return {}

    @property
    def native(self) -> NativeRecords | None:
        """The records where Rust makes batches without the interpreter."""
        return None

    @property
    def record_files(self) -> tuple[str, ...]:
        """The files that tell its records from those of other sources."""
        return self.paths

    @abstractmethod
    def ids(self, rows: Rows) -> list[str]:
        """List ids."""

    @abstractmethod
    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Count the letters, or numbers, that the encoder reads of each record."""

    @abstractmethod
    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched | dict[str, Any]:
        """Read records: letters, or the columns of a batch, ``inputs`` first."""

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield what a hash of these rows and their labels is computed from."""
        del jitter
        yield repr((labels.task, labels.classes, self.ids(rows))).encode()
        for parts in each_letters(self, rows, encoder):
            for letters in filter(None, parts):
                yield letters.offsets.tobytes()
                yield letters.data.tobytes()
        yield labels.to_bytes()

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return further columns of a batch; ``ordinal`` is added to them."""
        del rows, epoch
        return {}

    def group(self, rows: Rows, name: str, labels: NDArray[Any] | None) -> list[Any]:
        """List the values of a column, to split a dataset by them."""
        del labels
        columns = columns_of(self, rows, 0)
        if self.has_letters and name == "sequence":
            # In capitals, so that equal sequences are one group.
            sequences, _ = fetch_letters(self, rows)
            return [letters.upper() for letters in sequences.to_list()]
        known = ("sequence",) if self.has_letters else ()
        return find_group(name, columns, *known)

    def locate(
        self, error: AlphabetError, row: int, epoch: int | None, *, is_augmented: bool
    ) -> AlphabetError:
        """Add to an error the id of its record, and the file if there is one."""
        del epoch
        where = f"{self.paths[0]}: " if len(self.paths) == 1 else ""
        where += f"record {self.ids(np.array([row]))[0]!r}"
        text = f"{where}: {error}"
        if error.character is not None:
            when = " after augmentation" if is_augmented else ""
            text = f"{where}, letter {error.position}{when}: found {error.character!r}"
            text += "" if error.expected is None else f", expected {error.expected}"
        return error.with_message(text, row)

    def fitted(self, to: Any) -> Source:
        """Return the source as standardised by some rows, or by a fitted encoder."""
        del to
        return self


def columns_of(source: Source, rows: Rows, epoch: int | None) -> dict[str, Any]:
    """Return the further columns of rows, with their numbers."""
    columns = source.columns(rows, epoch)
    if source.has_ordinals and "ordinal" not in columns:
        return {"ordinal": rows} | columns
    return columns


def check_size(source: Source, method: str, found: Any, *, size: int) -> None:
    """Refuse what a method of a source returned of other than so many rows."""
    if len(found) != size:
        raise ShapeError(
            f"{type(source).__name__}.{method} returned {len(found):,} for {size:,} rows; "
            f"expected {size:,}, one for each row"
        )


def ids_of(source: Source, rows: Rows) -> list[str]:
    """List the ids of rows, one for each."""
    ids = source.ids(rows)
    check_size(source, "ids", ids, size=rows.size)
    return ids


def lengths_of(source: Source, rows: Rows, encoder: Any) -> Rows:
    """List the lengths of rows, one for each."""
    lengths = source.lengths(rows, encoder)
    check_size(source, "lengths", lengths, size=rows.size)
    return lengths


def check_columns(
    source: Source, method: str, columns: dict[str, Any], *, size: int
) -> None:
    """Refuse columns of a source that have another size, or a name of the dataset's."""
    taken = _OF_DATASETS if method == "fetch" else _OF_BATCHES
    for name, values in columns.items():
        if len(values) != size:
            check_size(source, f"{method}, column {name!r},", values, size=size)
        if name in taken:
            raise ArgumentError(
                f"{type(source).__name__}.{method} returned a column {name!r}; expected "
                f"another name, because the dataset makes {', '.join(sorted(taken))}"
            )


def find_group(name: str, columns: dict[str, Any], *others: str) -> list[Any]:
    """Return the values of a column by its name."""
    if name in columns:
        return list(columns[name])
    known = ", ".join(map(repr, (*columns, *others)))
    raise ArgumentError(
        f"items have no column {name!r} to group by; their columns are {known or 'none'}"
    )


def are_all(rows: Rows, size: int) -> bool:
    """Return True if the rows are all rows of a source, in order."""
    return rows.size == size and bool((rows == np.arange(size)).all())


def fetch_letters(source: Source, rows: Rows, encoder: Any = None) -> Letters:
    """Read letters as they are before augmentation, without jitter."""
    found = source.fetch(rows, FetchOptions(encoder=encoder, as_letters=True))
    if isinstance(found, dict):
        raise ArgumentError(f"{source.title} has no letters")
    return found.letters


def each_letters(source: Source, rows: Rows, encoder: Any = None) -> Iterator[Letters]:
    """Yield the letters of many rows, some at once; those in memory without a copy."""
    native = source.native
    if native is not None and are_all(rows, source.size):
        yield native.letters
        return
    for start in range(0, rows.size, _AT_ONCE):
        yield fetch_letters(source, rows[start : start + _AT_ONCE], encoder)
