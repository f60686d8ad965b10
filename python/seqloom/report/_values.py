"""The values that a report shows: figures, tables, plots, letters, and their sections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import ShapeError

Cell: TypeAlias = str | int | float
Fact: TypeAlias = str | int | float | bool
Scale: TypeAlias = Literal["linear", "whole", "share", "log"]


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


@dataclass(frozen=True, slots=True)
class Trace:
    """Holds one line, one set of points, or one set of bars of a plot.

    Args:
        name: Its name in the legend; one without a name is not in the legend.
        x: The place of each value; of bars the edges, one more than there are values.
        y: Its values; a NaN interrupts a line.
        low: The lower end of an interval at each value; of bars, where each begins if
            not at 0.
        high: The upper end.
        shape: How it is drawn. A guide is a thin dashed line to compare with, which may
            have infinite ends.

    Raises:
        ShapeError: If ``x`` and ``y`` do not go together.

    Examples:
        >>> Trace("training", [1, 2], [0.9, 0.4]).shape
        'line'
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = field(default=None, kw_only=True)
    high: ArrayLike | None = field(default=None, kw_only=True)
    shape: Literal["line", "points", "bars", "guide"] = field(default="line", kw_only=True)

    def __post_init__(self) -> None:
        wanted = np.size(self.y) + (self.shape == "bars")
        if np.size(self.x) != wanted:
            raise ShapeError(
                f"trace {self.name!r}: {np.size(self.y)} values of {self.shape} need "
                f"{wanted} places, got {np.size(self.x)}"
            )


@dataclass(frozen=True, slots=True)
class Plot:
    """Holds traces that share two axes.

    Args:
        title: Its title.
        traces: What is drawn; each has a colour of its own.
        x_label: What the horizontal axis measures.
        y_label: What the vertical axis measures.
        x_range: Where the horizontal axis begins and ends; None fits it to the values.
        y_range: The same of the vertical axis.
        x_scale: What the numbers of the horizontal axis are: ``"whole"`` for counts and
            epochs, ``"share"`` for fractions of 1 that are shown as per cent, ``"log"``
            for numbers above 0 on a logarithmic axis.
        y_scale: The same of the vertical axis, which is never logarithmic.
        x_names: Names in place of the numbers 0, 1, 2, ... of the horizontal axis.

    Examples:
        >>> plot = Plot("loss", [Trace("training", [1, 2], [0.9, 0.4])], x_label="epoch")
        >>> plot.x_label
        'epoch'
    """

    title: str
    traces: Sequence[Trace]
    x_label: str = field(default="", kw_only=True)
    y_label: str = field(default="", kw_only=True)
    x_range: tuple[float, float] | None = field(default=None, kw_only=True)
    y_range: tuple[float, float] | None = field(default=None, kw_only=True)
    x_scale: Scale = field(default="linear", kw_only=True)
    y_scale: Scale = field(default="linear", kw_only=True)
    x_names: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class MarkedSequence:
    """Holds a sequence, or a part of one, with a number for each letter.

    Args:
        title: What stands above it, such as its id.
        letters: The letters.
        weights: What each counts; the sign chooses the colour, the size the shade.
        first: The position of the first letter in the whole sequence.
        note: A line below the title.

    Raises:
        ShapeError: If there are not as many weights as letters.

    Examples:
        >>> MarkedSequence("a", "ACGT", [0, 2, -1, 0]).letters
        'ACGT'
    """

    title: str
    letters: str
    weights: ArrayLike
    first: int = field(default=0, kw_only=True)
    note: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if np.size(self.weights) != len(self.letters):
            raise ShapeError(
                f"sequence {self.title!r}: {len(self.letters)} letters need as many "
                f"weights, got {np.size(self.weights)}"
            )


@dataclass(frozen=True, slots=True)
class Letters:
    """Holds sequences whose letters are coloured.

    Args:
        sequences: What is shown, from top to bottom.
        toward: What a weight above 0 means.
        away: What one below 0 means.

    Examples:
        >>> row = MarkedSequence("a", "ACGT", [0, 2, -1, 0])
        >>> Letters([row], toward="for yes", away="for no").toward
        'for yes'
    """

    sequences: Sequence[MarkedSequence]
    toward: str = field(kw_only=True)
    away: str = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Logo:
    """Holds a height for each letter at each position: above 0 it stands up, below down.

    Args:
        title: What stands above it.
        letters: The letters.
        heights: Their heights, ``(positions, letters)``.
        first: The first position.
        axis: What the positions count.
        unit: What the heights measure.

    Raises:
        ShapeError: If there is not a column for each letter.

    Examples:
        >>> Logo("yes minus no", "AC", [[0.5, -0.5], [0.0, 0.0]]).first
        0
    """

    title: str
    letters: str
    heights: ArrayLike
    first: int = field(default=0, kw_only=True)
    axis: str = field(default="position", kw_only=True)
    unit: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        shape = np.shape(self.heights)
        if len(shape) != 2 or shape[1] != len(self.letters):  # noqa: PLR2004 - two axes
            raise ShapeError(
                f"logo {self.title!r}: heights have the shape {shape}, {len(self.letters)} "
                f"letters need (positions, {len(self.letters)})"
            )


Drawing: TypeAlias = Plot | Letters | Logo


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
    tables: Sequence[Table] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
