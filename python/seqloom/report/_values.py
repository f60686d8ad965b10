"""Classes for the content of a report, such as key figures, tables, plots and logos."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import ShapeError
from seqloom.report._allele_pair import AllelePair

Cell: TypeAlias = str | int | float
Fact: TypeAlias = str | int | float | bool
Scale: TypeAlias = Literal["linear", "whole", "share", "log"]


@dataclass(frozen=True, slots=True)
class Tile:
    """A key figure, shown in large type at the top of the page.

    Args:
        name: The name of the key figure, such as ``"test accuracy"``.
        value: The formatted value, such as ``"96.2 %"``.
        note: A short line below the value, such as the 95 % interval.

    Examples:
        >>> Tile("test accuracy", "96.2 %", note="95.0 to 97.2 %").value
        '96.2 %'
    """

    name: str
    value: str
    note: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title; numbers are aligned to the right, with four decimals.

    Args:
        title: The heading above the table.
        columns: The names of the columns.
        rows: The cells of each row, one for each column.
        note: A line of text below the heading.

    Raises:
        ShapeError: A row is shorter or longer than ``columns``.

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
    """A quantity plotted by epoch, with one value for each epoch, from epoch 1.

    Args:
        name: The quantity, such as ``"loss"``.
        series: The values of each line, by the name of the line, such as ``"training"``;
            missing values are NaN.

    Examples:
        >>> Curve("loss", {"training": [0.9, 0.4], "validation": [0.8, 0.5]}).name
        'loss'
    """

    name: str
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Confusion:
    """A confusion matrix: how often a true class (row) was predicted as a class (column).

    Args:
        name: The set of records, such as ``"test"``.
        classes: The class names, in the order of rows and columns.
        counts: A square matrix of integers.

    Raises:
        ShapeError: ``counts`` is not a square matrix with a row for each class.

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
                f"but {size} classes need {(size, size)}"
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
        """The number of records with the correct prediction."""
        return int(self.matrix.trace())


@dataclass(frozen=True, slots=True)
class Scatter:
    """The true and the predicted values of one regression output.

    Args:
        name: The name of the output, such as ``"gc"``.
        true: The true values, from the table of labels.
        predicted: The predicted values, in the same order.

    Raises:
        ShapeError: The lengths of ``true`` and ``predicted`` differ.

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
        """The true values minus the predicted values."""
        return np.asarray(self.true, float) - np.asarray(self.predicted, float)


@dataclass(frozen=True, slots=True)
class Trace:
    """A line, a set of points, or a set of bars of a plot.

    Args:
        name: The name in the legend. A trace with an empty name is omitted from the
            legend.
        x: The horizontal position of each value; for bars, the edges of the bars, whose
            number is one more than the number of bars.
        y: The vertical value at each position; NaN interrupts a line.
        low: The lower end of an interval at each value; for bars, the value at which the
            bar begins, by default 0.
        high: The upper end of the interval at each value.
        shape: Shape of the trace. A guide is a thin dashed line for comparison, and its
            ends may be infinite.

    Raises:
        ShapeError: The lengths of ``x`` and ``y`` do not match.

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
                f"{wanted} positions in x, got {np.size(self.x)}"
            )


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of one or more traces on common axes.

    Args:
        title: The title above the plot.
        traces: The traces; each has its own colour.
        x_label: The label of the horizontal axis.
        y_label: The label of the vertical axis.
        x_range: The ends of the horizontal axis; if None, the axis is fitted to the
            values.
        y_range: The ends of the vertical axis; if None, the axis is fitted to the
            values.
        x_scale: The scale of the horizontal axis. ``"whole"`` has ticks only at integers,
            for counts and epochs. ``"share"`` shows fractions of 1 as percentages.
            ``"log"`` is logarithmic and needs values above 0.
        y_scale: The scale of the vertical axis, which cannot be logarithmic.
        x_names: Labels for the values 0, 1, 2, ... of the horizontal axis.

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
    """A sequence, or part of a sequence, with a weight for each residue.

    Args:
        title: The title above the sequence, such as its id.
        letters: The residues.
        weights: The weight of each residue; the sign sets the colour, and the absolute
            value sets the shade.
        first: The position of the first residue in the whole sequence.
        note: A line of text below the title.

    Raises:
        ShapeError: The numbers of weights and residues differ.

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
                f"sequence {self.title!r}: {len(self.letters)} residues need as many "
                f"weights, got {np.size(self.weights)}"
            )


@dataclass(frozen=True, slots=True)
class Letters:
    """Sequences with coloured residues.

    Args:
        sequences: The sequences, from top to bottom.
        toward: The legend for weights above 0.
        away: The legend for weights below 0.

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
    """A sequence logo: heights, above or below 0, of the symbols at each position.

    Args:
        title: The title above the logo.
        letters: The symbols of the logo, such as bases.
        heights: The heights of the symbols, ``(positions, letters)``.
        first: The number at the first position of the horizontal axis.
        axis: The label of the horizontal axis.
        unit: The label of the vertical axis.

    Raises:
        ShapeError: ``heights`` does not have one column for each symbol.

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
                f"logo {self.title!r}: heights have the shape {shape}, "
                f"but {len(self.letters)} symbols need (positions, {len(self.letters)})"
            )


Drawing: TypeAlias = Plot | Letters | Logo | AllelePair


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a page with its heading.

    Args:
        title: The heading.
        note: One or two sentences below the heading that explain the content.
        drawings: The plots, sequences or logos, from left to right.
        table: Tables of the main numbers.
        details: Tables of further numbers, which are collapsed at first.

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
    """The content of a page; everything except the title is optional.

    Args:
        title: The heading of the page, such as ``"splice"``.
        lead: One or two sentences below the heading: the task, the model and its data.
        tiles: The key figures, the most important first.
        notes: Warnings, for example about omitted records, or a sequence in both training
            and test set.
        curves: The panels of the learning curve; all have the same number of epochs.
        best_epoch: The epoch (from 1) of the model's weights, which a vertical line marks.
        confusions: A confusion matrix for each evaluated set, the most important first.
        scatters: The true and predicted values of each regression output.
        sections: Further sections with results, in the order of the page.
        tables: Further tables, in the order of the page.
        facts: The settings that are needed to repeat the run, by name.

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
