"""The scores of a model for each record, and tables of scores in files."""

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import TextIOBase
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_path
from seqloom._files import atomic_path, reading, write_atomic
from seqloom._text import printable
from seqloom.errors import (
    ArgumentError,
    FormatError,
    MissingExtraError,
    MissingFileError,
    ShapeError,
)
from seqloom.models import Task

_NAME_COLUMN = "interval_name"
# Unsupported file extensions, each with advice.
_UNSUPPORTED_ENDINGS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "; a spreadsheet program opens .csv"),
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip"), "; compress it afterwards"),
    ".bcf": "; effects of variants can also be written as .vcf.gz",
    **dict.fromkeys((".json", ".jsonl", ".npz", ".npy", ".feather", ".arrow"), ""),
}


class Scores:
    """The scores of a model, with a row for each record and a column for each output.

    Args:
        ids: The ids of the records, in input order.
        classes: The names of the columns.
        values: Probabilities or values, ``(records, columns)``.
        outputs: The outputs of the network (logits) from which the values are computed, in
            the same shape. None if the outputs are not available, as for scores from a
            table.
        names: The names of intervals, such as the fourth column of BED; None if records
            have no names.

    Raises:
        ShapeError: The shape of the values, or the number of names, differs from the ids
            and classes.

    Examples:
        >>> from pathlib import Path
        >>> scores = Scores(["a"], ["EI", "IE"], np.array([[0.9, 0.1]]))
        >>> scores.to_tsv("scores.tsv")
        >>> print(Path("scores.tsv").read_text(), end="")
        id	EI	IE
        a	0.9	0.1
    """

    __slots__ = ("_values", "classes", "ids", "names", "outputs")

    def __init__(
        self,
        ids: Sequence[str],
        classes: Sequence[str],
        values: NDArray[np.floating],
        *,
        outputs: NDArray[np.floating] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.ids = list(ids)
        self.names = None if names is None else list(names)
        self.classes = tuple(classes)
        self._values = np.asarray(values, np.float32)
        if self._values.shape != (len(self.ids), len(self.classes)):
            raise ShapeError(
                f"values of shape {self._values.shape} are not {len(self.ids)} records "
                f"by {len(self.classes)} columns"
            )
        if self.names is not None and len(self.names) != len(self.ids):
            raise ShapeError(f"got {len(self.names)} names for {len(self.ids)} records")
        self.outputs = outputs

    def to_numpy(self) -> NDArray[np.float32]:
        """Return a copy of the scores as an array.

        Returns:
            A new array ``(records, columns)``.

        Examples:
            >>> Scores(["a"], ["gc"], np.array([[0.5]])).to_numpy().shape
            (1, 1)
        """
        return self._values.copy()

    def to_tsv(self, path: str | os.PathLike[str] | IO[str]) -> None:
        """Atomically write a table; `read_tsv` reads exactly the same numbers.

        The first column is ``id``, or ``record_id`` if a class has the name ``id``.
        Intervals with names have a second column, ``interval_name``.

        Args:
            path: The path of the file, which is overwritten if it exists, or an open text
                file.

        Examples:
            >>> from pathlib import Path
            >>> Scores(["a"], ["gc"], np.array([[1 / 3]])).to_tsv("gc.tsv")
            >>> print(Path("gc.tsv").read_text(), end="")
            id	gc
            a	0.33333334
        """
        if isinstance(path, TextIOBase):
            path.writelines(self._iterate_lines())
        else:
            write_atomic(as_path("path", path), "".join(self._iterate_lines()).encode())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Atomically write a table in the format of the file's extension.

        The table has the columns that `to_tsv` writes.

        Args:
            path: The path of the file, which is overwritten if it exists. A ``.csv`` file
                has commas, a ``.parquet`` file is Parquet (extra ``parquet``), and all
                other files have tabs.

        Raises:
            ArgumentError: The extension of the file belongs to an unsupported format, such
                as ``.xlsx``.
            FileError: The file cannot be written.
            MissingExtraError: The file is Parquet, and the package pyarrow is not
                installed.

        Examples:
            >>> from pathlib import Path
            >>> Scores(["a"], ["gc"], np.array([[0.5]])).save("gc.csv")
            >>> Path("gc.csv").read_text()
            'id,gc\\na,0.5\\n'
        """
        write_table(as_path("path", path), self._iterate_rows(), self._make_columns)

    @classmethod
    def read_tsv(cls, path: str | os.PathLike[str]) -> "Scores":
        """Read a table that `to_tsv` wrote.

        Args:
            path: The path of the table.

        Returns:
            The scores, with exactly the same numbers.

        Raises:
            FormatError: The file is not a table of scores, or is truncated.
            MissingFileError: The file does not exist.
            FileError: The file cannot be read.

        Examples:
            >>> Scores(["a"], ["gc"], np.array([[1 / 3]])).to_tsv("gc.tsv")
            >>> Scores.read_tsv("gc.tsv").to_numpy().tolist()
            [[0.3333333432674408]]
        """
        path = as_path("path", path)
        if not path.is_file():
            found = "is not a file" if path.exists() else "no such file"
            raise MissingFileError(f"{path}: {found}; expected a table of scores")
        with reading(path):
            text = path.read_bytes()
        try:
            *lines, last = text.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            reason = f"{path}: not a text in UTF-8 ({error})"
            raise FormatError(reason, path=str(path)) from None
        if last:
            reason = f"{path}: truncated, its last line has no line break; write it again"
            raise FormatError(reason, kind="cut", path=str(path))
        head, *rows = (line.split("\t") for line in lines or [""])
        if head[0] != _id_column(head[1:]) or any(len(row) != len(head) for row in rows):
            raise FormatError(f"{path}: not a table of scores", path=str(path))
        first = 2 if head[1:2] == [_NAME_COLUMN] else 1  # the first column of values
        try:
            values = np.array([row[first:] for row in rows], np.float64)
        except ValueError as error:
            raise FormatError(f"{path}: not a number ({error})", path=str(path)) from None
        values = values.reshape(len(rows), len(head) - first)
        names = [row[1] for row in rows] if first > 1 else None
        return cls([row[0] for row in rows], head[first:], values, names=names)

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001 - NumPy's protocol
        return np.array(self._values, dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Scores of {len(self):,} records: {printable(', '.join(self.classes))}"

    def _iterate_lines(self) -> Iterator[str]:
        """Yield the lines of the tab-separated table."""
        yield from ("\t".join(row) + "\n" for row in self._iterate_rows())

    def _iterate_rows(self) -> Iterator[list[str]]:
        """Yield the header and a row for each record, with numbers in full precision."""
        texts = self._text_columns()
        yield [*texts, *self.classes]
        for row, *names in zip(self._values, *texts.values(), strict=True):
            yield [*names, *map(str, row)]

    def _text_columns(self) -> dict[str, list[str]]:
        """Return the columns that contain text, by name."""
        names = {} if self.names is None else {_NAME_COLUMN: self.names}
        return {_id_column(self.classes): self.ids, **names}

    def _make_columns(self) -> dict[str, Any]:
        """Return all columns of the table, by name."""
        return self._text_columns() | dict(zip(self.classes, self._values.T, strict=True))


def compute_exact_scores(task: Task, scores: Scores) -> NDArray[np.floating[Any]]:
    """Return the scores; compute them from the logits, if available, to avoid rounding."""
    return scores.to_numpy() if scores.outputs is None else task.activate(scores.outputs)


def ranking_values(task: Task, scores: Scores) -> NDArray[np.floating[Any]]:
    """Return log-odds if known, because log-odds have fewer ties than probabilities."""
    return scores.to_numpy() if scores.outputs is None else task.order(scores.outputs)


def measure_scores(
    task: Task, labels: NDArray[Any], scores: Scores, *, rows: Any = slice(None)
) -> dict[str, float]:
    """Compute the metrics of the scores of all records, or of selected records."""
    values, order = compute_exact_scores(task, scores), ranking_values(task, scores)
    return task.measure(labels[rows], values[rows], order=order[rows])


def _id_column(classes: Sequence[str]) -> str:
    """Return a name for the id column that differs from the names of all classes."""
    name = "id"
    while name in classes:
        name = f"record_{name}"
    return name


def find_table_format(path: str | os.PathLike[str]) -> str:
    """Return the table format that a file's extension selects: tsv, csv or parquet."""
    ending = PurePath(path).suffix.lower()
    if ending in _UNSUPPORTED_ENDINGS:
        raise ArgumentError(
            f"{path}: tables can be written as .tsv, .csv or .parquet, not as {ending}"
            f"{_UNSUPPORTED_ENDINGS[ending]}"
        )
    if ending == ".parquet":
        import_parquet(path)
    return ending[1:] if ending in {".csv", ".parquet"} else "tsv"


def write_table(
    path: Path, rows: Iterator[list[str]], columns: Callable[[], Mapping[str, Any]]
) -> None:
    """Write rows of text (the first is the header), or columns as Parquet."""
    kind = find_table_format(path)
    if kind == "parquet":
        library, parquet = import_parquet(path)
        table = library.table(dict(columns()))
        with atomic_path(path) as part:
            parquet.write_table(table, part)
        return
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        if kind == "csv":
            csv.writer(file, lineterminator="\n").writerows(rows)
        else:
            file.writelines("\t".join(row) + "\n" for row in rows)


def import_parquet(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Import pyarrow and its Parquet module."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: Parquet needs pyarrow: pip install pyarrow; or use a name "
            "that ends in .tsv or .csv"
        ) from error
    return pa, parquet
