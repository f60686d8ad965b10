"""Labels as a caller names them, as text and as numbers."""

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
from seqloom.data._frame import values_of
from seqloom.data._paths import expand
from seqloom.data.label._table import check_column, column_names
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


Cells = tuple[str, ...]
# What stands between several names in one cell.
BETWEEN_NAMES = re.compile(r"[,;|]")
# What pandas reads as missing, lower case where people write it so, and a point.
MISSING = (
    *("", ".", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan"),
    *("NaT", "NULL", "null", "None"),
)
_NOTHING = {"NoneType", "NAType", "NaTType"}
# Booleans as texts of a table, by their folded text: as those of a data frame.
TRUTH = {"false": "0", "true": "1"}
BY_FILE = "file"
_CONTAINERS = {".gz", ".bgz", ".bz2", ".xz", ".zst"}
# A dict by id may have millions of keys; one by file shows it in the first.
_LOOKED_AT = 1000
TASKS = ("classify", "regress", "multilabel")
CODINGS = ("auto", "01", "12")


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """Labels as numbers, and the rows that have one."""

    task: str | None = None  # None: there are no labels
    classes: Cells = ()  # names of classes, values or labels
    # int64 class indices; float32 values; or float32 zeros and ones
    values: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None  # None: all
    unmatched: Cells = ()  # ids of labels without a record
    report: dict[str, Any] = field(default_factory=dict[str, Any])  # what was left out

    def to_bytes(self) -> bytes:
        """Copy the labels for a hash; empty without labels."""
        return b"" if self.values is None else self.values.tobytes()


def is_nothing(value: Any) -> bool:
    """Tell None, NaN, and what pandas has for it."""
    if type(value).__name__ in _NOTHING:
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(float(value))  # pyright: ignore[reportUnknownArgumentType]


def marks_of(missing: Any) -> tuple[str, ...]:
    """Take one text that is no label, or several."""
    if isinstance(missing, (str, int, float)) and not isinstance(missing, bool):
        return (str(missing),)
    if isinstance(missing, bytes) or not isinstance(missing, Iterable):
        raise ArgumentError(
            f"missing must be a text that is no label, or several; got {quote(missing)}: "
            "give () where every text is one"
        )
    return tuple(map(str, missing))  # pyright: ignore[reportUnknownArgumentType]


def cells_of(values: list[Any]) -> list[Cells]:
    """Write labels as text; None and NaN are no label."""
    return [as_cells(value) for value in values]


def as_cells(value: Any) -> Cells:
    """Write one label as text; several names are one cell, several numbers several."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return (as_cell(value),)
    row: Any = value  # pyright: ignore[reportUnknownVariableType]
    if getattr(row, "ndim", 1) == 0:
        return (as_cell(row.item()),)
    items: list[Any] = list(row)
    if all(isinstance(item, str) for item in items):
        if wrong := next(filter(BETWEEN_NAMES.search, items), None):
            raise LabelError(
                f"label {wrong!r} of {quote(items)} has a comma, a semicolon or a bar, "
                "which stand between labels: write the name without one, or give a column "
                "of 0 and 1 for each label"
            )
        return (";".join(items),)
    return tuple(map(as_cell, items))


def as_cell(value: Any) -> str:
    """Write one value as text: truth is 1, and nothing is empty."""
    if is_nothing(value):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    is_truth = isinstance(value, (bool, np.bool_))
    return ("1" if value else "0") if is_truth else str(value).strip()


def _check_known(maker: Callable[..., Any], old: dict[str, Any]) -> None:
    """Refuse a keyword that a function never had, and name the nearest one."""
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
    """Says where the labels of a dataset come from, and how they are read.

    Pass it as ``labels`` to any dataset or stream. In this version datasets also take
    these options as keywords of their own, with a ``DeprecationWarning``.

    Args:
        source: Tables (TSV, CSV, white space; plain or gzip; Parquet), a data frame, a dict
            from id to label, an array or a list in the order of the records, a function of
            the record, or ``"file"`` where each file is a class. None is the dataset's own
            column, if it has one. Each dataset says what else it takes.
        id_column: The tables' column of ids, by default ``id``; for samples of a .bed FID
            and IID, or IID alone.
        label_column: The column of labels, of the tables or else of files or intervals
            themselves; by default ``label``, for samples of a .bed the only column.
            Several columns are of numbers.
        label_from_header: A regular expression: its group, in the header, is the label. The
            group is the one named ``label``, else the first one, else all that it matches.
            Instead of a source, and only for ``SequenceDataset``.
        classes: The classes in order, by default sorted; another label is an error.
        task: What labels are; ``auto`` takes text and integers for classes, of a .bed codes
            of control and case, and other numbers for values.
        coding: What a phenotype of 0, 1 and 2 means: control and case, or (``auto``) what
            the values show. Only for ``GenotypeDataset``.
        missing: The texts that are no label; they replace NA, NaN, a point and the like,
            and -9 for samples of a .bed. A name that ``classes`` has is a class.
        unlabelled: A record without a label: an error, or left out and counted.

    Raises:
        ArgumentError: An option is none of what is listed, or two do not go together.

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
            raise ArgumentError("give labels or label_from_header, not both")
        # An iterator may be gone through once, and a dataset does so more often.
        self._set("label_column", column_names("label_column", self.label_column))
        self._set("classes", None if self.classes is None else class_names(self.classes))
        self._set("missing", None if self.missing is None else marks_of(self.missing))

    def _set(self, name: str, value: object) -> None:
        """Set a field of a frozen object while it is made."""
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
        """Take a `Labels` or its source, completed by what a dataset usually reads."""
        # Old keywords of datasets: `phenotype`, and the fields of `Labels`.
        old = dict(old or {})
        if maker is not None:
            is_genotypes = maker.__name__ == "GenotypeDataset"
            if is_genotypes and labels is None and "phenotype" in old:
                labels = old.pop("phenotype")
                warn_user("phenotype= is now labels=: rename it", DeprecationWarning)
            _check_known(maker, old)
        if old:
            options = ", ".join(f"{name}=..." for name in old)
            warn_user(
                f"options of labels are fields of Labels: give labels=Labels(source, "
                f"{options})",
                DeprecationWarning,
            )
        if "missing" in old:
            old = {**old, "missing": marks_of(old["missing"])}
        if not isinstance(labels, Labels):
            return replace(usual, source=labels, **old)
        if twice := replace(usual, **old).changes(usual):
            raise ArgumentError(
                f"labels is a Labels(...), which has {twice[0]} too: give it there"
            )
        names = ("id_column", "label_column", "missing")
        lacking = [name for name in names if getattr(labels, name) is None]
        return replace(labels, **{name: getattr(usual, name) for name in lacking})

    def changes(self, usual: Labels) -> list[str]:
        """List the options that differ from the usual ones."""
        names = [field.name for field in fields(self) if field.name != "source"]
        return [name for name in names if getattr(self, name) != getattr(usual, name)]

    def check_usual(self, *names: str, of: str) -> None:
        """Refuse options that only another dataset has."""
        changed = set(self.changes(Labels()))
        if strange := [name for name in names if name in changed]:
            raise ArgumentError(f"{strange[0]} is only for {of}; leave it out of Labels")

    @property
    def skips(self) -> bool:
        """Whether records without a label are left out."""
        return self.unlabelled == "skip"


def check_task(task: str) -> None:
    """Refuse what is no task."""
    as_choice("task", task, ("auto", *TASKS))


def class_names(classes: Any) -> Cells:
    """Take the names of classes, in their order; numbers are written as labels are."""
    is_ordered = not isinstance(classes, (str, bytes, set, frozenset))
    is_many = is_ordered and isinstance(classes, Iterable)
    names: list[Any] = values_of(classes) if is_many else [None]
    if not all(isinstance(name, (str, bytes, numbers.Real)) for name in names):
        raise ArgumentError(
            'classes must be their names in order, such as ["no", "yes"], got '
            f"{quote(classes)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    return tuple(as_cell(name) for name in names)


USUAL = Labels(id_column="id", label_column="label", missing=MISSING)


def labels_of_files(labels: Any, paths: Sequence[str]) -> list[Any] | None:
    """Return each file its label: its own name, or what a dict says."""
    if isinstance(labels, str) and labels == BY_FILE:
        return list(map(_stem, paths))
    if not isinstance(labels, Mapping):
        return None
    given: dict[Any, Any] = dict(labels)  # pyright: ignore[reportUnknownArgumentType]
    known = set(map(_full, paths))
    if not any(_is_among(key, known) for key in itertools.islice(given, _LOOKED_AT)):
        return None
    named = {_full(path): given[key] for key in given for path in expand(str(key))}
    if lacking := [path for path in paths if _full(path) not in named]:
        raise LabelError(
            f"{lacking[0]}: the dict of labels by file has no label for it; name each file"
        )
    return [named[_full(path)] for path in paths]


def _is_among(key: Any, known: set[str]) -> bool:
    """Tell whether a key names files of the dataset."""
    if not isinstance(key, (str, os.PathLike)):
        return False
    text = str(os.fspath(key))  # pyright: ignore[reportUnknownArgumentType]
    if _full(text) in known:
        return True
    found = glob.iglob(text) if "*" in text else ()  # noqa: PTH207 - absolute or relative
    return any(_full(path) in known for path in found)


def _full(path: str) -> str:
    """Write a path in one way."""
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - links stay


def _stem(path: str) -> str:
    """Take the name of a file without what says its format and container."""
    name = Path(path)
    name = name.with_suffix("") if name.suffix.lower() in _CONTAINERS else name
    return name.stem
