"""The plain values that a report is made of; they know no model, no file and no task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import ShapeError
from seqloom.report._panels import Drawing, Panel

Cell: TypeAlias = str | int | float
Fact: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Tile:
    """Holds one key figure, shown large at the top of the page.

    Args:
        name: What it is, such as ``"test accuracy"``.
        value: The figure as it is to be read, such as ``"96.2 %"``.
        note: One short line below it, such as the 95 % interval.

    Examples:
        >>> Tile("test accuracy", "96.2 %", note="95.0 to 97.2 %").value
        '96.2 %'
    """

    name: str
    value: str
    note: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Table:
    """Holds a table with a title; numbers are set to the right, floats to four digits.

    Args:
        title: The heading above it.
        columns: One name a column.
        rows: One sequence of cells a row, each as long as ``columns``.
        note: One line below the heading.

    Raises:
        ShapeError: If a row is shorter or longer than the heading.

    Examples:
        >>> table = Table("scores", ("model", "accuracy"), [("linear", 0.93)])
        >>> table.rows[0]
        ('linear', 0.93)
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ShapeError(
                    f"table {self.title!r}: row {number} has {len(row)} cells, "
                    f"the heading has {len(self.columns)}"
                )


@dataclass(frozen=True, slots=True)
class Curve:
    """Holds one panel of the learning curve: one value an epoch, in epoch order from 1.

    Args:
        name: What is measured, such as ``"loss"``.
        series: A line for each name, such as ``"training"``; NaN where there is no value.

    Examples:
        >>> Curve("loss", {"training": [0.9, 0.4], "validation": [0.8, 0.5]}).name
        'loss'
    """

    name: str
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Confusion:
    """Holds how often each true class (row) was called each class (column).

    Args:
        name: Which records were counted, such as ``"test"``.
        classes: The class names, in the order of rows and columns.
        counts: A square of integers.

    Raises:
        ShapeError: If ``counts`` is not a square as wide as ``classes``.

    Examples:
        >>> confusion = Confusion("test", ("EI", "IE"), [[9, 1], [2, 8]])
        >>> confusion.total, confusion.correct
        (20, 17)
    """

    name: str
    classes: Sequence[str]
    counts: ArrayLike

    def __post_init__(self) -> None:
        size = len(self.classes)
        if self.matrix.shape != (size, size):
            raise ShapeError(
                f"confusion {self.name!r}: counts have the shape {self.matrix.shape}, "
                f"{size} classes need {(size, size)}"
            )

    @property
    def matrix(self) -> NDArray[np.int64]:
        """The counts as an array of shape ``(true, predicted)``."""
        return np.asarray(self.counts, dtype=np.int64)

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.matrix.sum())

    @property
    def correct(self) -> int:
        """The number of records that were called what they are."""
        return int(self.matrix.trace())


@dataclass(frozen=True, slots=True)
class Scatter:
    """Holds the true and the predicted values of one regression output.

    Args:
        name: The output's name, such as ``"gc"``.
        true: The values in the label table.
        predicted: The model's values, in the same order.

    Raises:
        ShapeError: If the two differ in length.

    Examples:
        >>> Scatter("gc", [0.4, 0.6], [0.41, 0.58]).name
        'gc'
    """

    name: str
    true: ArrayLike
    predicted: ArrayLike

    def __post_init__(self) -> None:
        true, predicted = np.shape(self.true), np.shape(self.predicted)
        if len(true) != 1 or true != predicted:
            raise ShapeError(
                f"scatter {self.name!r}: true values have the shape {true}, "
                f"predicted values {predicted}; both must be (n,)"
            )

    @property
    def residuals(self) -> NDArray[np.float64]:
        """What is left of each true value without the predicted one."""
        return np.asarray(self.true, float) - np.asarray(self.predicted, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Holds one part of a page under its heading.

    Args:
        title: The heading.
        note: A sentence or two below it: how to read what follows.
        drawings: What is drawn, from left to right.
        table: The numbers that a reader came for.
        details: Further numbers, folded away.

    Examples:
        >>> Section(title="Residuals", note="On 20 records.").title
        'Residuals'
    """

    title: str
    note: str = ""
    drawings: Sequence[Drawing] = ()
    table: Table | None = None
    details: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Holds all that one page shows; every part but the title may be left out.

    Args:
        title: The heading, such as ``"splice"``.
        lead: One or two sentences below it: what was learned from what.
        tiles: The key figures, best first.
        notes: What the reader must not miss (records left out, a sequence in both splits).
        curves: The panels of the learning curve; one epoch count for all.
        best_epoch: The epoch (from 1) whose weights were kept; it is marked.
        confusions: One for each part that was scored, the most telling first.
        scatters: One for each regression output.
        sections: Further results, in the order in which they are to stand.
        course: Panels of what changed in the course of the run.
        course_table: Their numbers.
        tables: Further tables, in the order in which they are to stand.
        facts: What another person needs to run it again, name to value.

    Examples:
        >>> report = Report(title="splice", tiles=(Tile("test accuracy", "96.2 %"),))
        >>> report.tiles[0].name
        'test accuracy'
    """

    title: str
    lead: str = ""
    tiles: Sequence[Tile] = ()
    notes: Sequence[str] = ()
    curves: Sequence[Curve] = ()
    best_epoch: int | None = None
    confusions: Sequence[Confusion] = ()
    scatters: Sequence[Scatter] = ()
    sections: Sequence[Section] = ()
    course: Sequence[Panel] = ()
    course_table: Table | None = None
    tables: Sequence[Table] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
