"""`Labels`, the options of labels, and `LabelColumn`, labels as numbers."""

from __future__ import annotations

import glob
import inspect
import itertools
import math
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_choice, quote
from seqloom._warning import warn_user
from seqloom.data._frame import to_values
from seqloom.data._paths import expand_paths
from seqloom.data.label._table import check_column, column_names
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


Cells = tuple[str, ...]
# Separators of the labels in one cell of a table.
NAME_SEPARATOR = re.compile(r"[,;|]")
# Missing values: the strings of pandas, common lower-case spellings, and ".".
MISSING_TEXTS = (
    *("", ".", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("NaT", "NULL", "null", "None"),
)
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
# Booleans in tables, by their case-folded text.
BOOLEANS = {"false": "0", "true": "1"}
BY_FILE = "file"
_COMPRESSION_SUFFIXES = {".gz", ".bgz", ".bz2", ".xz", ".zst"}
# Maximum number of keys that are compared to paths, because a dict from id to label may
# have millions of keys.
_MAX_KEYS = 1000
TASKS = ("classify", "regress", "multilabel")
CODINGS = ("auto", "01", "12")


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """Labels converted to numbers, and the rows that have a label."""

    task: str | None = None  # None if there are no labels.
    classes: Cells = ()  # Names of classes or of columns.
    # Class indices (int64), values (float32), or zeros and ones (float32).
    values: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None  # Rows with a label; None selects all rows.
    unmatched: Cells = ()  # Ids that have a label but no record.
    report: dict[str, Any] = field(default_factory=dict[str, Any])

    def to_bytes(self) -> bytes:
        """Return the labels as bytes for a hash; empty without labels."""
        return b"" if self.values is None else self.values.tobytes()


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or a missing value of pandas."""
    if type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(float(value))  # pyright: ignore[reportUnknownArgumentType]


def as_marks(missing: Any) -> tuple[str, ...]:
    """Return the strings that mark missing labels, from one string or several."""
    if isinstance(missing, (str, int, float)) and not isinstance(missing, bool):
        return (str(missing),)
    if isinstance(missing, bytes) or not isinstance(missing, Iterable):
        raise ArgumentError(
            f"missing must be one or more strings that mark a missing label, got "
            f"{quote(missing)}; pass () if there are no such strings"
        )
    return tuple(map(str, missing))  # pyright: ignore[reportUnknownArgumentType]


def to_cells(values: list[Any]) -> list[Cells]:
    """Return labels as strings; None and NaN become empty."""
    return [label_to_cells(value) for value in values]


def label_to_cells(value: Any) -> Cells:
    """Return one label as strings: its numbers, or its names joined by semicolons."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return (value_to_cell(value),)
    row: Any = value  # pyright: ignore[reportUnknownVariableType]
    if getattr(row, "ndim", 1) == 0:
        return (value_to_cell(row.item()),)
    items: list[Any] = list(row)
    if all(isinstance(item, str) for item in items):
        if wrong := next(filter(NAME_SEPARATOR.search, items), None):
            raise LabelError(
                f"label {wrong!r} of {quote(items)} has a comma, a semicolon or a bar, "
                "which separate labels: remove it from the name, or pass a column of 0 "
                "and 1 for each label"
            )
        return (";".join(items),)
    return tuple(map(value_to_cell, items))


def value_to_cell(value: Any) -> str:
    """Return one value as a string: True is "1", and a missing value is empty."""
    if is_missing(value):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    is_truth = isinstance(value, (bool, np.bool_))
    return ("1" if value else "0") if is_truth else str(value).strip()


def _check_keywords(maker: Callable[..., Any], old: dict[str, Any]) -> None:
    """Raise for an unknown keyword, and suggest the most similar one."""
    options = [field.name for field in fields(Labels) if field.name != "source"]
    parameters = inspect.signature(maker).parameters.values()
    plain = [it.name for it in parameters if it.kind is not it.VAR_KEYWORD]
    for name in sorted(old.keys() - set(options)):
        near = get_close_matches(name, [*plain, *options], n=1)
        if not near:
            hint = f"it takes {', '.join(plain)}"
        elif near[0] in plain:
            hint = f"did you mean {near[0]}=?"
        else:
            hint = f"did you mean labels=sl.data.Labels({near[0]}=...)?"
        raise TypeError(f"{maker.__name__}() has no argument {name}=; {hint}")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The source of the labels of a dataset, and the options for reading them.

    Pass a ``Labels`` object as ``labels`` to any dataset or stream. In this version
    datasets also accept the options of ``Labels`` as separate keywords, with a
    ``DeprecationWarning``.

    Args:
        source: Tables (TSV, CSV, white space; plain or gzip; Parquet), a data frame, or a
            dict from id to label. An array or a list in record order and a function of the
            record are accepted too. With ``"file"``, each file is a class. By default, the
            label column of the dataset is read, if it exists. Each dataset documents
            further sources.
        id_column: The column of ids in tables, by default ``id``; for samples of a .bed,
            FID and IID, or IID alone.
        label_column: The column of labels in tables, files or intervals, by default
            ``label``; for samples of a .bed, the only column besides the ids. Several
            columns must all contain numbers.
        label_from_header: A regular expression that finds the label in the header. The
            label is the group named ``label``, the first group if no group has this name,
            or the whole match if there are no groups. This option replaces ``source``, and
            only ``SequenceDataset`` supports it.
        classes: The names of the classes, sorted by default; any other label raises an
            error.
        task: The type of the labels. With ``auto``, text and integers are classes; for
            samples of a .bed, only control and case codes are classes and other numbers are
            values.
        coding: The codes of control and case in a phenotype: ``"01"``, ``"12"``, or
            ``"auto"``, which decides by the values. Only ``GenotypeDataset`` has this
            option.
        missing: The strings that mark a missing label, instead of the defaults: NA, NaN,
            ``"."`` and similar, and -9 for samples of a .bed. A string that is listed in
            ``classes`` is never a missing label.
        unlabelled: ``"error"`` raises for a record without a label; ``"skip"`` skips such
            records and counts them.

    Raises:
        ArgumentError: An option is invalid, or two options contradict each other.

    Examples:
        >>> import seqloom as sl
        >>> labels = sl.data.Labels({"x": "no", "y": "yes"}, unlabelled="skip")
        >>> records = {"x": "ACGT", "y": "GGCC", "z": "TTTT"}
        >>> print(sl.data.SequenceDataset(records, labels=labels))
        2 sequences of 4; no 1, yes 1
    """

    source: Any = None
    _: KW_ONLY
    id_column: str | None = None
    label_column: str | Sequence[str] | None = None
    label_from_header: str | re.Pattern[str] | None = None
    classes: Iterable[str] | None = None
    task: Literal["auto", "classify", "regress", "multilabel"] = "auto"
    coding: Literal["auto", "01", "12"] = "auto"
    missing: Iterable[str] | None = None
    unlabelled: Literal["error", "skip"] = "error"

    def __post_init__(self) -> None:
        as_choice("unlabelled", self.unlabelled, ("error", "skip"))
        check_task(self.task)
        as_choice("coding", self.coding, CODINGS)
        if self.coding != "auto" and self.task not in {"auto", "classify"}:
            raise ArgumentError(
                f'coding="{self.coding}" means controls and cases; leave it out for '
                f'task="{self.task}"'
            )
        if self.id_column is not None:
            check_column("id_column", self.id_column)
        if self.source is not None and self.label_from_header is not None:
            raise ArgumentError("pass labels or label_from_header, not both")
        # Copy iterators, because they can be read only once.
        self._set("label_column", column_names("label_column", self.label_column))
        self._set("classes", None if self.classes is None else class_names(self.classes))
        self._set("missing", None if self.missing is None else as_marks(self.missing))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        labels: Any,
        usual: Labels,
        old: dict[str, Any] | None = None,
        *,
        maker: Callable[..., Any] | None = None,
    ) -> Labels:
        """Return a `Labels` object with the defaults of a dataset."""
        # Old keywords of datasets: `phenotype`, and the fields of `Labels`.
        old = dict(old or {})
        if maker is not None:
            is_genotypes = maker.__name__ == "GenotypeDataset"
            if is_genotypes and labels is None and "phenotype" in old:
                labels = old.pop("phenotype")
                warn_user("phenotype= is now labels=: use labels=", DeprecationWarning)
            _check_keywords(maker, old)
        if old:
            options = ", ".join(f"{name}=..." for name in old)
            warn_user(
                f"options of labels are fields of Labels: pass labels=Labels(source, "
                f"{options})",
                DeprecationWarning,
            )
        if "missing" in old:
            old = {**old, "missing": as_marks(old["missing"])}
        if not isinstance(labels, Labels):
            return replace(usual, source=labels, **old)
        if twice := replace(usual, **old).changes(usual):
            raise ArgumentError(
                f"pass {twice[0]} as an option of Labels(...), not to the dataset"
            )
        names = ("id_column", "label_column", "missing")
        lacking = [name for name in names if getattr(labels, name) is None]
        return replace(labels, **{name: getattr(usual, name) for name in lacking})

    def changes(self, defaults: Labels) -> list[str]:
        """Return the names of the options that differ from the defaults."""
        names = [field.name for field in fields(self) if field.name != "source"]
        return [name for name in names if getattr(self, name) != getattr(defaults, name)]

    def check_unsupported(self, *names: str, of: str) -> None:
        """Raise for options that only another dataset supports."""
        changed = set(self.changes(Labels()))
        if strange := [name for name in names if name in changed]:
            raise ArgumentError(f"{strange[0]} is only for {of}; leave it out of Labels")

    @property
    def skips(self) -> bool:
        """True if records without a label are skipped."""
        return self.unlabelled == "skip"


def check_task(task: str) -> None:
    """Raise if a value is not the name of a task."""
    as_choice("task", task, ("auto", *TASKS))


def class_names(classes: Any) -> Cells:
    """Return the names of classes as strings, in order."""
    is_ordered = not isinstance(classes, (str, bytes, set, frozenset))
    is_many = is_ordered and isinstance(classes, Iterable)
    names: list[Any] = to_values(classes) if is_many else [None]
    if not all(isinstance(name, (str, bytes, numbers.Real)) for name in names):
        raise ArgumentError(
            f'classes must be a list of names, such as ["no", "yes"], got {quote(classes)}'  # pyright: ignore[reportUnknownArgumentType]
        )
    return tuple(value_to_cell(name) for name in names)


DEFAULTS = Labels(id_column="id", label_column="label", missing=MISSING_TEXTS)


def labels_by_file(labels: Any, paths: Sequence[str]) -> list[Any] | None:
    """Return the label of each file, or None if the labels are not by file."""
    if isinstance(labels, str) and labels == BY_FILE:
        return list(map(_file_stem, paths))
    if not isinstance(labels, Mapping):
        return None
    by_file: dict[Any, Any] = dict(labels)  # pyright: ignore[reportUnknownArgumentType]
    known = set(map(_full_path, paths))
    if not any(_matches_files(key, known) for key in itertools.islice(by_file, _MAX_KEYS)):
        return None
    entries = {
        _full_path(path): by_file[key] for key in by_file for path in expand_paths(str(key))
    }
    if lacking := [path for path in paths if _full_path(path) not in entries]:
        raise LabelError(
            f"{lacking[0]}: the dict from file to label lacks this file; add its label"
        )
    return [entries[_full_path(path)] for path in paths]


def _matches_files(key: Any, known: set[str]) -> bool:
    """Return whether a key is a path or pattern of the dataset's files."""
    if not isinstance(key, (str, os.PathLike)):
        return False
    text = str(os.fspath(key))  # pyright: ignore[reportUnknownArgumentType]
    if _full_path(text) in known:
        return True
    matches = glob.iglob(text) if "*" in text else ()  # noqa: PTH207 - absolute or relative
    return any(_full_path(path) in known for path in matches)


def _full_path(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - links stay


def _file_stem(path: str) -> str:
    """Return the name of a file without the suffixes of format and compression."""
    name = Path(path)
    name = name.with_suffix("") if name.suffix.lower() in _COMPRESSION_SUFFIXES else name
    return name.stem
