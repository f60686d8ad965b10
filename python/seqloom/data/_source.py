"""`Source`, the interface through which a dataset reads its records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom._ragged import Ragged
from seqloom.data._encoder import Extents, encoded_extents
from seqloom.data._similarity import group_homologous, group_similar
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom._rust import _native
    from seqloom.data._encoder import Letters
    from seqloom.data.label._labels import LabelColumn
    from seqloom.encode._base import SequenceEncoder

    Rows = NDArray[np.int64]

_ROWS_PER_READ = 1 << 12
# Names of groups that are computed from sequences.
SEQUENCE_GROUPS = ("sequence", "similar", "homology")
_RESERVED_COLUMNS = frozenset({"id", "label"})
_BATCH_COLUMNS = _RESERVED_COLUMNS | {"inputs", "sequence", "quality", "lengths", "mask"}


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """Options for reading the records of one batch."""

    encoder: Any = None
    epoch: int | None = None  # Epoch of the jitter; None for no jitter.
    length: int | None = None  # Number of positions; None pads to the longest record.
    multiple: int = 1  # The length is rounded up to a multiple of this number.
    out: NDArray[Any] | None = None  # Array to write the inputs into.
    num_threads: int = 1
    as_letters: bool = False  # If True, return residues, not inputs.


class Fetched(NamedTuple):
    """Sequences before augmentation: the return value of ``Source.fetch``.

    Examples:
        >>> fetched = Fetched.of(["x", "y"], [b"ACGT", b"GG"])
        >>> fetched.ids, fetched.letters[0].lengths.tolist()
        (['x', 'y'], [4, 2])
    """

    ids: list[str]
    letters: Letters

    @classmethod
    def of(cls, ids: list[str], sequences: Iterable[bytes | str]) -> Fetched:
        """Create the object from ids and sequences.

        Args:
            ids: The id of each record.
            sequences: The residues of each record.

        Returns:
            The records, with the residues in one ragged array.

        Examples:
            >>> Fetched.of(["x"], ["ACGT"]).letters[0].to_list()
            [b'ACGT']
        """
        return cls(ids, (Ragged.from_list(sequences), None))


class NativeRecords:
    """Records in a Rust store."""

    def __init__(self, store: _native.RecordStore, letters: Letters) -> None:
        self.store, self.letters = store, letters
        self._extents: tuple[SequenceEncoder, Extents] | None = None

    def extents(self, encoder: SequenceEncoder) -> Extents:
        """Return the number of positions of each record after encoding."""
        if self._extents is None or self._extents[0] is not encoder:
            self._extents = encoder, Extents.of(encoded_extents(encoder, self.letters[0]))
        return self._extents[1]


class Source(ABC):
    """Reads records by row number for a ``Dataset``; subclass it for a custom format.

    A source is immutable and can be pickled. A subclass sets ``kind`` (the name of its
    `seqloom.infer.Kind`), ``size`` (the number of records) and ``paths``, and implements
    ``ids``, ``lengths`` and ``fetch``. Set ``supports_threads = True`` in the class if its
    methods may run in several threads at once; the value is not inherited. All other
    attributes and methods have defaults that suit sequences.

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

    kind: str  # Name of the kind of input (`seqloom.infer.Kind`).
    title: str = "Dataset"  # Name of the function that creates the dataset of this source.
    noun: str = "sequences"  # Plural name of the records.
    size: int
    paths: tuple[str, ...] = ()
    has_letters: bool = True  # False if records are numbers, not sequences.
    has_ids: bool = True  # If False, row numbers replace ids.
    counts_letters: bool = False  # If True, reports count masked residues.
    supports_threads: bool = False  # If True, threads may share the source.
    is_checked: bool = True  # If True, datasets check the sizes of results.
    has_ordinals: bool = True  # If True, batches have an ``ordinal`` column.
    jitter: int = 0  # Maximum random shift of a record, in bases.
    bin_size: int = 1  # Number of bases of each value of the tracks.

    @property
    def names(self) -> list[str] | None:
        """Additional names of the rows, such as column 4 of a BED file."""
        return None

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates; empty without covariates."""
        return ()

    @property
    def facts(self) -> dict[str, Any]:
        """Counts for the report of the dataset, such as skipped records."""
        return {}

    @property
    def native(self) -> NativeRecords | None:
        """Records in a Rust store if Rust can make the batches; else None."""
        return None

    @property
    def record_files(self) -> tuple[str, ...]:
        """Files whose content identifies the records."""
        return self.paths

    @abstractmethod
    def ids(self, rows: Rows) -> list[str]:
        """Return the ids of rows."""

    @abstractmethod
    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the number of residues or values that the encoder reads from each row."""

    @abstractmethod
    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched | dict[str, Any]:
        """Read rows; return sequences, or a dict with ``inputs`` as its first column."""

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield the bytes that the hash of the rows and their labels is computed from."""
        del jitter
        yield repr((labels.task, labels.classes, self.ids(rows))).encode()
        for parts in iterate_letters(self, rows, encoder):
            for letters in filter(None, parts):
                yield letters.offsets.tobytes()
                yield letters.data.tobytes()
        yield labels.to_bytes()

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return additional columns of a batch; the dataset adds ``ordinal``."""
        del rows, epoch
        return {}

    def targets(self, rows: Rows, options: FetchOptions) -> dict[str, NDArray[Any]]:
        """Return columns with values for each position, which ``cached`` stores."""
        del rows, options
        return {}

    def follow_augment(
        self, columns: dict[str, Any], augment: Any, keys: NDArray[np.uint32]
    ) -> None:
        """Change columns with values for each position as augmented sequences change."""
        del columns, augment, keys  # sequences have no such columns

    def group(self, rows: Rows, name: str, labels: NDArray[Any] | None) -> list[Any]:
        """Return one value per row, to split a dataset by groups."""
        del labels
        columns = read_columns(self, rows, 0)
        if self.has_letters and name in SEQUENCE_GROUPS:
            return group_by_sequence(self, rows, name)
        known = SEQUENCE_GROUPS if self.has_letters else ()
        return select_group_column(name, columns, *known)

    def locate(
        self, error: AlphabetError, row: int, epoch: int | None, *, is_augmented: bool
    ) -> AlphabetError:
        """Add the record id to an error, and the path if there is only one file."""
        del epoch
        where = f"{self.paths[0]}: " if len(self.paths) == 1 else ""
        where += f"record {self.ids(np.array([row]))[0]!r}"
        text = f"{where}: {error}"
        if error.character is not None:
            when = " after augmentation" if is_augmented else ""
            text = f"{where}, residue {error.position}{when}: found {error.character!r}"
            text += "" if error.expected is None else f", expected {error.expected}"
        return error.with_message(text, row)

    def fitted(self, to: Any) -> Source:
        """Return the source with statistics of some rows or of a fitted encoder."""
        del to
        return self


def read_columns(source: Source, rows: Rows, epoch: int | None) -> dict[str, Any]:
    """Return the additional columns of a batch, and the ordinals of its rows."""
    columns = source.columns(rows, epoch)
    if source.has_ordinals and "ordinal" not in columns:
        return {"ordinal": rows} | columns
    return columns


def check_row_count(source: Source, method: str, values: Any, *, size: int) -> None:
    """Raise if a method of a source returned the wrong number of rows."""
    if len(values) != size:
        raise ShapeError(
            f"{type(source).__name__}.{method} returned {len(values):,} for {size:,} rows; "
            f"expected {size:,}, one for each row"
        )


def read_ids(source: Source, rows: Rows) -> list[str]:
    """Return the ids of rows; raise unless each row has one id."""
    ids = source.ids(rows)
    check_row_count(source, "ids", ids, size=rows.size)
    return ids


def read_lengths(source: Source, rows: Rows, encoder: Any) -> Rows:
    """Return the lengths of rows; raise unless each row has one length."""
    lengths = source.lengths(rows, encoder)
    check_row_count(source, "lengths", lengths, size=rows.size)
    return lengths


def check_source_columns(
    source: Source, method: str, columns: dict[str, Any], *, size: int
) -> None:
    """Raise if a column of a source has the wrong size or a reserved name."""
    taken = _RESERVED_COLUMNS if method == "fetch" else _BATCH_COLUMNS
    for name, values in columns.items():
        if len(values) != size:
            check_row_count(source, f"{method}, column {name!r},", values, size=size)
        if name in taken:
            raise ArgumentError(
                f"{type(source).__name__}.{method} returned a column {name!r}; expected "
                f"another name, because the dataset adds {', '.join(sorted(taken))}"
            )


def select_group_column(name: str, columns: dict[str, Any], *others: str) -> list[Any]:
    """Return the values of a column; raise if it does not exist."""
    if name in columns:
        return list(columns[name])
    known = ", ".join(map(repr, (*columns, *others)))
    raise ArgumentError(
        f"there is no column {name!r} to group by; columns: {known or 'none'}"
    )


def group_by_sequence(
    source: Source, rows: Rows, name: str, *, pairs: Iterable[tuple[int, int]] = ()
) -> list[Any]:
    """Group equal, similar or homologous sequences; pairs of rows are homologous too."""
    letters, _ = fetch_letters(source, rows)
    # Sequences that differ only in soft-masking are equal.
    sequences = [it.upper() for it in letters.to_list()]
    if name == "sequence":
        return sequences
    if name == "similar":
        return group_similar(sequences)
    return group_homologous(sequences, pairs)


def selects_all_rows(rows: Rows, size: int) -> bool:
    """Return whether the rows are all rows of a source, in order."""
    return rows.size == size and bool((rows == np.arange(size)).all())


def fetch_letters(source: Source, rows: Rows, encoder: Any = None) -> Letters:
    """Return sequences without augmentation and jitter."""
    fetched = source.fetch(rows, FetchOptions(encoder=encoder, as_letters=True))
    if isinstance(fetched, dict):
        raise ArgumentError(f"{source.title} has no sequences")
    return fetched.letters


def iterate_letters(source: Source, rows: Rows, encoder: Any = None) -> Iterator[Letters]:
    """Yield the sequences of rows in blocks, without a copy if they are in memory."""
    native = source.native
    if native is not None and selects_all_rows(rows, source.size):
        yield native.letters
        return
    for start in range(0, rows.size, _ROWS_PER_READ):
        yield fetch_letters(source, rows[start : start + _ROWS_PER_READ], encoder)
