"""Panels of a picture and plots of a page; names and numbers only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from seqloom.errors import ShapeError


@dataclass(frozen=True, slots=True)
class Bars:
    """Holds counts in bins side by side.

    Args:
        title: What the edges measure.
        edges: Where bins begin, and where the last one ends: one more than counts.
        counts: How many fell into each bin.
        axis: What the edges are.
        is_wide: Whether the edges span so much that their logarithms are drawn.
        unit: What is counted.

    Examples:
        >>> Bars("lengths", [1, 5, 9], [3, 4], axis="letters").counts
        [3, 4]
    """

    title: str
    edges: Sequence[float]
    counts: Sequence[int]
    axis: str = field(default="", kw_only=True)
    is_wide: bool = field(default=False, kw_only=True)
    unit: str = field(default="sequences", kw_only=True)


@dataclass(frozen=True, slots=True)
class Lines:
    """Holds values by position, a line for each name, and a band around them.

    Args:
        title: What the values are.
        places: The position of each value.
        series: A value for each place, for each name.
        band: The lower and the upper end of a band at each place, with its name.
        axis: What the places are.
        top: The highest value that the axis should show; None leaves it to the values.
        is_share: Whether values are shares, written as per cent.

    Examples:
        >>> Lines("quality", [0, 1], {"mean": [37.5, 36.0]}, axis="position").axis
        'position'
    """

    title: str
    places: Sequence[float]
    series: Mapping[str, Sequence[float]]
    band: tuple[str, Sequence[float], Sequence[float]] | None = field(
        default=None, kw_only=True
    )
    axis: str = field(default="", kw_only=True)
    top: float | None = field(default=None, kw_only=True)
    is_share: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Areas:
    """Holds shares by position that lie on each other, an area for each name.

    Args:
        title: What is shared out.
        edges: Where each span begins, and where the last one ends: one more than shares.
        series: A fraction of 1 for each span, for each name, the lowest area first.
        axis: What the edges are.

    Examples:
        >>> Areas("time", [0, 1, 2], {"model": [0.5, 0.9]}, axis="seconds").axis
        'seconds'
    """

    title: str
    edges: Sequence[float]
    series: Mapping[str, Sequence[float]]
    axis: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Shares:
    """Holds one share for each name, the largest first.

    Args:
        title: What is shared out.
        shares: Fractions of 1 by name.

    Examples:
        >>> Shares("letters", {"A": 0.75, "C": 0.25}).shares["C"]
        0.25
    """

    title: str
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Holds quantiles of p-values beside those that chance alone would give.

    Args:
        title: What was tested.
        expected: Their negative logarithms to the base of 10 where chance alone decides.
        observed: Those that were found, in the same order.

    Examples:
        >>> Quantiles("test", [0.3, 0.6], [0.2, 0.9]).expected
        [0.3, 0.6]
    """

    title: str
    expected: Sequence[float]
    observed: Sequence[float]


Panel: TypeAlias = Areas | Bars | Lines | Shares | Quantiles


@dataclass(frozen=True, slots=True)
class Trace:
    """Holds one line, one set of points, or one set of bars of a plot.

    Args:
        name: What the legend calls it; nothing leaves it out of the legend.
        x: Where its values are; of bars the edges, one more than there are values.
        y: Its values; a NaN parts a line in two.
        low: The lower end of an interval at each value.
        high: The upper end.
        shape: How it is drawn. A guide is a quiet dashed line to compare with.

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
        title: What stands above it.
        traces: What is drawn; each has a colour of its own.
        x_label: What the horizontal axis measures.
        y_label: What the vertical axis measures.
        x_range: Where the horizontal axis begins and ends; None leaves it to the values.
        y_range: The same of the vertical axis.
        is_counted: Whether the horizontal axis has whole numbers only, such as epochs.

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
    is_counted: bool = field(default=False, kw_only=True)


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
