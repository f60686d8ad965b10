"""Scores of the reference and alternative windows of variants, and their comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data.variant._alleles import variant_windows
from seqloom.errors import ArgumentError, ShapeError
from seqloom.infer._changed_rows import Alternatives, Moves
from seqloom.infer._variant_networks import WindowScores
from seqloom.nn._track_metrics import profile_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome
    from seqloom.data.variant._alleles import AlleleTable
    from seqloom.infer._variant_networks import ExportedNetwork, WindowNetwork

    Columns = dict[str, NDArray[np.float64]]

# The distance of windows that cannot overlap; it exceeds the length of each chromosome.
_GROUP_DISTANCE = 1 << 40
COMPARISONS = ("difference", "log_ratio", "logit", "jensen_shannon")
_COMPLEMENT = np.arange(256, dtype=np.uint8)
_COMPLEMENT[np.frombuffer(b"ACGTacgt", np.uint8)] = np.frombuffer(b"TGCATGCA", np.uint8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """Settings of the windows, the averages and the comparison of two alleles."""

    width: int
    compare: tuple[str, ...]
    reverse_complement: bool
    shifts: tuple[int, ...]
    within: int | None
    indels: str

    @property
    def left(self) -> int:
        """Number of bases before the variant."""
        return self.width // 2


@dataclass(frozen=True, slots=True)
class Orientation:
    """For each row: whether its gene is on the minus strand, and its visible range."""

    is_minus: NDArray[np.bool_]
    limits: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None


class AlleleScorer:
    """Scores both alleles of variants with one or more networks.

    A score is the mean over networks, strands and shifts. Both alleles are scored in the
    same way, and compared after averaging.
    """

    def __init__(
        self,
        networks: Sequence[WindowNetwork | ExportedNetwork],
        genome: Genome,
        settings: ScoreSettings,
    ) -> None:
        self.networks, self.genome, self.settings = networks, genome, settings

    def compare(self, table: AlleleTable, orientation: Orientation) -> Columns:
        """Return the columns of scores and effects, each with a value for each row."""
        groups = self._group_rows(table)
        parts = [
            self._score_alleles(table, orientation, groups, shift=shift, anchor=anchor)
            for shift in self.settings.shifts
            for anchor in (
                ("left", "right") if self.settings.indels == "both" else ("left",)
            )
        ]
        references = _mean_scores([reference for reference, _ in parts])
        names = self.name_outputs(references.values.shape[1])
        columns: Columns = {}
        for number, rows in enumerate(groups):
            other = _mean_scores([alternatives[number] for _, alternatives in parts])
            one = references.take(rows)
            found = (
                self._compare_scores(one, other, names)
                if self.settings.within is None
                else self._find_extremes(
                    (one.values, other.values), table.take(rows), names
                )
            )
            for name, values in found.items():
                columns.setdefault(name, np.zeros(len(table)))[rows] = values
        return columns

    def _group_rows(self, table: AlleleTable) -> list[NDArray[np.int64]]:
        """Return the rows whose alternative windows have one width."""
        inserted = table.alts.lengths - table.refs.lengths
        # In SpliceAI, the window of an insertion is longer.
        extra = np.maximum(inserted, 0) * (self.settings.indels == "spliceai")
        return [np.flatnonzero(extra == size) for size in np.unique(extra)]

    def _score_alleles(
        self,
        table: AlleleTable,
        orientation: Orientation,
        groups: list[NDArray[np.int64]],
        *,
        shift: int,
        anchor: Any,
    ) -> tuple[WindowScores, list[WindowScores]]:
        """Score reference windows, each distinct window once, and alternative windows."""
        options: Any = {
            "left": self.settings.left - shift,
            "width": self.settings.width,
            "anchor": anchor,
        }
        windows = variant_windows(
            self.genome, table, allele="reference", limits=orientation.limits, **options
        )
        first, numbers = _find_distinct(windows, orientation.is_minus)
        parts: list[Alternatives] = []
        for rows in groups:
            part, own = table.take(rows), _take(orientation, rows)
            inserted = part.alts.lengths - part.refs.lengths
            if self.settings.indels == "spliceai":
                options["columns"] = self.settings.width + max(int(inserted.max()), 0)
            others = variant_windows(self.genome, part, limits=own.limits, **options)
            moves = Moves(inserted, np.full(len(part), anchor == "right"))
            parts.append(Alternatives(others, numbers[rows], moves))
        minus = [orientation.is_minus[rows] for rows in groups]
        found, others = self._score_windows(
            windows[first],
            orientation.is_minus[first],
            parts,
            minus=minus,
            places=_find_places(table.take(first), _take(orientation, first)),
        )
        return found.take(numbers), others

    def score_changes(
        self, window: NDArray[np.uint8], changed: NDArray[np.uint8]
    ) -> tuple[WindowScores, WindowScores]:
        """Return the scores of a window, and of windows that differ from it."""
        none = np.zeros(len(changed), np.int64)
        part = Alternatives(changed, none, Moves.of_substitutions(len(changed)))
        one, (other,) = self._score_windows(
            window[None], np.zeros(1, bool), [part], minus=[none > 0]
        )
        return one, other

    def _score_windows(
        self,
        references: NDArray[np.uint8],
        is_minus: NDArray[np.bool_],
        parts: list[Alternatives],
        *,
        minus: list[NDArray[np.bool_]],
        places: NDArray[np.int64] | None = None,
    ) -> tuple[WindowScores, list[WindowScores]]:
        """Return the mean scores of all networks, and of both strands if requested."""
        found: list[list[WindowScores]] = [[] for _ in range(1 + len(parts))]
        for is_other in (False, True) if self.settings.reverse_complement else (False,):
            turned = [it ^ is_other for it in (is_minus, *minus)]
            windows = _orient(references, turned[0])
            changed = [
                _orient_part(it, own) for it, own in zip(parts, turned[1:], strict=True)
            ]
            # The reverse complements of windows have the opposite order.
            own_places = None if places is None else np.where(turned[0], -places, places)
            for network in self.networks:
                one, others = network.score(windows, changed, own_places)
                for scores, it, own in zip(found, (one, *others), turned, strict=True):
                    scores.append(it.orient(own))
        one, *others = map(_mean_scores, found)
        return one, others

    def name_outputs(self, count: int) -> tuple[str, ...]:
        """Return the names of the outputs; a network without a task has numbers."""
        names = self.networks[0].names
        return names or tuple(f"output_{i}" for i in range(count))

    def _compare_scores(
        self, reference: WindowScores, alternative: WindowScores, names: Sequence[str]
    ) -> Columns:
        """Compare scores; scores of positions are replaced by their mean."""
        one, other = (it.mean_of_positions() for it in (reference, alternative))
        effects: Columns = {"reference": one, "alternative": other}
        if "difference" in self.settings.compare:
            effects["difference"] = other - one
        if "log_ratio" in self.settings.compare:
            with np.errstate(divide="ignore", invalid="ignore"):
                effects["log_ratio"] = np.log2(other) - np.log2(one)
        if "jensen_shannon" in self.settings.compare:
            _require_counts(reference, alternative)
            effects["jensen_shannon"] = profile_distances(
                reference.values, alternative.values
            )
        if "logit" in self.settings.compare:
            if reference.log_odds is None or alternative.log_odds is None:
                raise ArgumentError(
                    'compare="logit" (--compare logit) needs a model of classes or labels '
                    "in a run folder; use difference"
                )
            effects["logit"] = alternative.log_odds - reference.log_odds
        return {
            f"{effect}_{name}": values[:, column]
            for column, name in enumerate(names)
            for effect, values in effects.items()
        }

    def _find_extremes(
        self,
        pair: tuple[NDArray[np.float64], NDArray[np.float64]],
        table: AlleleTable,
        names: Sequence[str],
    ) -> Columns:
        """Return the largest gain and loss of each output, with their positions."""
        one, other = pair
        within = self.settings.within or 0
        positions = one.shape[2] if one.ndim > 2 else 0  # noqa: PLR2004
        if not positions:
            raise ShapeError(
                f"within (--within) is {within}, but the model has no output at each "
                f"position: its outputs have the shape {one.shape[1:]}; leave within out"
            )
        centre = self.settings.left - (self.settings.width - positions) // 2
        if centre - within < 0 or centre + within >= positions:
            raise ShapeError(
                f"within must be smaller than {within} or width larger than "
                f"{self.settings.width}, because the model returns outputs of shape "
                f"{one.shape[1:]} with {max(centre, 0)} positions before the variant"
            )
        change = np.empty_like(one)
        pairs = zip(table.refs.lengths.tolist(), table.alts.lengths.tolist(), strict=True)
        for row, (removed, added) in enumerate(pairs):
            # SpliceAI does not fill a deletion, so its window has fewer outputs.
            missing = max(removed - added, 0) if self.settings.indels == "spliceai" else 0
            change[row] = align_positions(
                other[row, :, : other.shape[2] - missing],
                one[row],
                centre=centre,
                sizes=(removed, added),
            )
        change = (change - one)[:, :, centre - within : centre + within + 1]
        columns: Columns = {}
        for column, name in enumerate(names):
            for effect, values in (("gain", change), ("loss", -change)):
                best = values[:, column].argmax(axis=1)
                columns[f"{effect}_{name}"] = values[np.arange(len(values)), column, best]
                columns[f"{effect}_position_{name}"] = best - float(within)
        return columns


def _require_counts(*scores: WindowScores) -> None:
    """Raise unless the scores are counts at each position."""
    if all(it.has_positions and (it.values >= 0).all() for it in scores):
        return
    raise ArgumentError(
        'compare="jensen_shannon" (--compare jensen_shannon) needs a model of tracks, '
        "whose outputs are counts of 0 or more at each position; use difference"
    )


def align_positions(
    alternative: NDArray[np.float64],
    reference: NDArray[np.float64],
    *,
    centre: int,
    sizes: tuple[int, int],
) -> NDArray[np.float64]:
    """Return the outputs of an alternative allele at the positions of the reference."""
    # Deleted positions get 0. The outputs of inserted bases and of the base before them
    # are replaced by their maximum (Jaganathan et al., 2019). Positions beyond the end of
    # the alternative window get the output of the reference.
    removed, added = sizes
    if added > removed:
        start = min(centre + removed, alternative.shape[1]) - 1
        stop = centre + added
        merged = alternative[:, start:stop].max(axis=1, keepdims=True)
        alternative = np.hstack([alternative[:, :start], merged, alternative[:, stop:]])
    elif removed > added:
        zeros = np.zeros((len(alternative), removed - added))
        start = centre + added
        alternative = np.hstack([alternative[:, :start], zeros, alternative[:, start:]])
    count = reference.shape[1]
    return np.hstack([alternative[:, :count], reference[:, alternative.shape[1] :]])


def _find_distinct(
    windows: NDArray[np.uint8], is_minus: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each distinct window and strand, and its number by row."""
    keys = [
        row.tobytes() + bytes([k])
        for row, k in zip(windows, is_minus.tolist(), strict=True)
    ]
    _, first, rows = np.unique(
        np.array(keys, object), return_index=True, return_inverse=True
    )
    return first, rows


def _find_places(table: AlleleTable, orientation: Orientation) -> NDArray[np.int64]:
    """Return positions whose differences are those of windows that may overlap."""
    none = np.zeros(len(table), np.int64)
    limits = orientation.limits or (none, none)
    columns = np.stack([table.contigs, orientation.is_minus, *limits])
    groups = np.unique(columns, axis=1, return_inverse=True)[1]
    return groups.reshape(-1) * _GROUP_DISTANCE + table.starts


def _orient(
    windows: NDArray[np.uint8], is_reversed: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Return the reverse complements of some windows, and the other windows unchanged."""
    return np.where(is_reversed[:, None], _COMPLEMENT[windows[:, ::-1]], windows)


def _orient_part(part: Alternatives, is_reversed: NDArray[np.bool_]) -> Alternatives:
    """Return alternatives with the reverse complements of some windows."""
    moves = part.moves._replace(is_left=part.moves.is_left ^ is_reversed)
    return part._replace(array=_orient(part.array, is_reversed), moves=moves)


def _take(orientation: Orientation, rows: NDArray[np.int64]) -> Orientation:
    limits = orientation.limits
    return Orientation(
        orientation.is_minus[rows],
        None if limits is None else (limits[0][rows], limits[1][rows]),
    )


def _mean_scores(parts: Sequence[WindowScores]) -> WindowScores:
    """Return the mean of scores, and the log-odds of the mean probability."""
    values = np.stack([part.values for part in parts]).mean(axis=0)
    odds = [part.log_odds for part in parts if part.log_odds is not None]
    if len(odds) < len(parts):
        return WindowScores(values, None)
    yes = np.logaddexp.reduce([-np.logaddexp(0, -it) for it in odds], axis=0)
    no = np.logaddexp.reduce([-np.logaddexp(0, it) for it in odds], axis=0)
    return WindowScores(values, yes - no)
