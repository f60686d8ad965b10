"""The picture of one variant: both sequences, and what each base contributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom._arguments import as_bool, as_integer, as_path, quote
from seqloom._files import write_atomic
from seqloom._text import join_first_names
from seqloom._threads import count_threads, limit_blas
from seqloom.data.interval._spans import Genome
from seqloom.data.variant._alleles import STATUS, resolve_alleles, variant_windows
from seqloom.data.variant._variant_input import VariantInput
from seqloom.errors import ArgumentError
from seqloom.infer._effects_job import spell_alleles
from seqloom.infer._loop import require_reverse_complement
from seqloom.infer._variant_effects import find_width
from seqloom.infer._variant_networks import open_networks
from seqloom.infer._variant_scores import AlleleScorer, ScoreSettings
from seqloom.report import (
    AllelePair,
    Report,
    Section,
    check_svg,
    make_alleles_svg,
    make_page,
)

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from seqloom.data.variant._alleles import AlleleTable
    from seqloom.infer._predict import Model

    Floats = NDArray[np.float64]

_BASE_CODES = np.frombuffer(b"ACGT", np.uint8)
# Changes of outputs above this part of the largest change are regarded as equal.
_EQUAL_SHARE = 0.99


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class VariantExplanation:
    """Both alleles of a variant, with the contribution of each base to the score.

    Attributes:
        variant: The variant in normal form: ``"chr1:1234:CA:C"``.
        target: The output that is explained.
        scores: The scores of the reference and of the alternative allele.
        letters: The aligned sequences of both alleles; ``-`` is a gap.
        positions: The position of each base in the genome, from 1; None for inserted bases
            and beyond the contig.
        weights: For each allele, a number for each base: the mean decrease of the score if
            another base replaces it. For models with an output at each position, the
            output. NaN in gaps.
        unit: The kind of weights: ``"log-odds"``, ``"score"`` or ``"output"``.

    Examples:
        >>> explanation = VariantExplanation(
        ...     variant="chr1:5:A:G",
        ...     target="open",
        ...     scores=(0.9, 0.2),
        ...     letters=("TAC", "TGC"),
        ...     positions=[4, 5, 6],
        ...     weights=(np.array([0.1, 2.0, 0.0]), np.zeros(3)),
        ...     unit="log-odds",
        ... )
        >>> explanation.letters[1]
        'TGC'
    """

    variant: str
    target: str
    scores: tuple[float, float]
    letters: tuple[str, str]
    positions: list[int | None]
    weights: tuple[Floats, Floats]
    unit: str

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Atomically write an HTML page with the picture, as a single file.

        Args:
            path: The path of the file, which is overwritten if it exists.

        Raises:
            FileError: The file cannot be written.

        Examples:
            >>> explanation = VariantExplanation(
            ...     variant="chr1:5:A:G",
            ...     target="open",
            ...     scores=(0.9, 0.2),
            ...     letters=("TAC", "TGC"),
            ...     positions=[4, 5, 6],
            ...     weights=(np.array([0.1, 2.0, 0.0]), np.zeros(3)),
            ...     unit="log-odds",
            ... )
            >>> explanation.to_html("variant.html")
        """
        note = (
            f"The height of a base is the mean decrease of the {self.unit} of "
            f"{self.target} if another base replaces it. Bases above 0 raise the score."
        )
        if self.unit == "output":
            note = (
                f"Bars are the values of {self.target} at each base. The numbers are the "
                "largest values."
            )
        section = Section(title="Both alleles", note=note, drawings=(self._align(),))
        lead = f"The variant changes {self.target} from {self._format_scores()}."
        report = Report(title=self.variant, lead=lead, sections=(section,))
        write_atomic(as_path("path", path), make_page(report))

    def to_svg(self, path: str | os.PathLike[str]) -> None:
        """Atomically write the picture as an SVG file.

        Args:
            path: The path of the file, whose name ends in ``.svg``.

        Raises:
            ArgumentError: The name does not end in ``.svg``.
            FileError: The file cannot be written.

        Examples:
            >>> explanation = VariantExplanation(
            ...     variant="chr1:5:A:G",
            ...     target="open",
            ...     scores=(0.9, 0.2),
            ...     letters=("TAC", "TGC"),
            ...     positions=[4, 5, 6],
            ...     weights=(np.array([0.1, 2.0, 0.0]), np.zeros(3)),
            ...     unit="log-odds",
            ... )
            >>> explanation.to_svg("variant.svg")
        """
        check_svg(as_path("path", path))
        write_atomic(path, self._repr_svg_().encode())

    def _repr_svg_(self) -> str:
        """Return the picture, which notebooks show."""
        return make_alleles_svg(self._align(), self._title())

    def __repr__(self) -> str:
        return f"VariantExplanation of {self._title()}"

    def _title(self) -> str:
        return f"{self.variant}, {self.target}: {self._format_scores()}"

    def _format_scores(self) -> str:
        return f"{self.scores[0]:.3g} to {self.scores[1]:.3g}"

    def _align(self) -> AllelePair:
        ref, alt = self.variant.split(":")[-2:]
        one, other = self.scores
        return AllelePair(
            title=(
                f"{self.target} at each base"
                if self.unit == "output"
                else f"contribution of each base to {self.target}"
            ),
            captions=(
                f"Reference {ref}: {self.target} {one:.3g}",
                f"Alternative {alt}: {self.target} {other:.3g}",
            ),
            letters=self.letters,
            values=self.weights,
            positions=self.positions,
            axis=f"position on {self.variant.rsplit(':', 3)[0]}",
            unit=self.unit,
            has_bars=self.unit == "output",
        )


def explain_variant(
    model: Model | Any,
    variant: str,
    genome: str | os.PathLike[str],
    *,
    target: str | None = None,
    width: int | None = None,
    around: int = 25,
    reverse_complement: bool = False,
    encoder: Any = None,
    num_threads: int | None = None,
) -> VariantExplanation:
    """Compute what each base contributes to the score, for both alleles of a variant.

    The result is a picture: a notebook shows it, and `VariantExplanation.to_html` and
    `VariantExplanation.to_svg` write it.

    Args:
        model: A model, or a list of models (folds), as for `variant_effects`.
        variant: Contig, position from 1, REF and ALT: ``"chr1:1234:CA:C"``, such as
            ``effects.alleles[0]``.
        genome: A FASTA file: plain, bgzip or gzip.
        target: The output to explain; by default, the output that the variant changes most.
        width: The number of bases of a window; by default, the length of the training
            sequences.
        around: The number of bases to show on each side of the variant.
        reverse_complement: If True, explain the mean score of both strands.
        encoder: The encoder of a network without one; by default, one-hot DNA.
        num_threads: The number of threads; by default the number of available CPU cores.

    Returns:
        The aligned sequences, and a number for each base.

    Raises:
        ArgumentError: An argument has the wrong type or value, or the variant has no
            literal alleles.
        FileError: A file cannot be read.
        FormatError: REF differs from the genome.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> table = {"sequence": ["ACGT", "ACGA"], "label": ["yes", "no"]}
        >>> data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
        >>> _ = Path("genome.fa").write_text(">chr1\\nACGTACGTAC\\n")
        >>> found = sl.infer.explain_variant(run, "chr1:5:A:AG", "genome.fa", around=1)
        >>> found.letters, found.positions
        (('TA-', 'TAG'), [4, 5, None])
    """
    threads = count_threads(num_threads)
    around = as_integer("around", around, least=0)
    networks = open_networks(model, encoder, threads=threads)
    if both := as_bool("reverse_complement", reverse_complement):
        require_reverse_complement(networks[0].encoder)
    settings = ScoreSettings(
        width=find_width(width, networks[0].width),
        compare=("difference",),
        reverse_complement=both,
        shifts=(0,),
        within=None,
        indels="left",
    )
    opened = Genome(str(as_path("genome", genome).expanduser()))
    scorer, table = AlleleScorer(networks, opened, settings), _resolve(variant, opened)
    with limit_blas(threads):
        return _explain(scorer, table, target=target, around=around)


def _resolve(variant: str, genome: Genome) -> AlleleTable:
    """Return a variant in normal form, as a table of one row."""
    parts = str(variant).rsplit(":", 3)
    if len(parts) != len(("chrom", "pos", "ref", "alt")) or not parts[1].isdecimal():
        raise ArgumentError(
            f'variant must be like "chr1:1234:CA:C" (contig, position, REF and ALT), got '
            f"{quote(variant)}"
        )
    names = ("chrom", "pos", "ref", "alt")
    source = VariantInput({name: [part] for name, part in zip(names, parts, strict=True)})
    report = source.report(genome)
    table = resolve_alleles(next(source.batches()), genome, report=report)
    report.raise_for_mismatch()
    if not table.usable.all() or len(table) > 1:
        status = STATUS[int(table.status[0])]
        raise ArgumentError(f"variant {quote(variant)} cannot be scored: {status}")
    return table


def _explain(
    scorer: AlleleScorer, table: AlleleTable, *, target: str | None, around: int
) -> VariantExplanation:
    """Score both alleles, and explain each."""
    left, width = scorer.settings.left, scorer.settings.width
    sizes = int(table.refs.lengths[0]), int(table.alts.lengths[0])
    if max(sizes) > width - left:
        raise ArgumentError(
            f"width must be at least {2 * max(sizes)} for this variant, got {width}"
        )
    after = min(around, width - left - max(sizes))
    columns = _align(sizes, left, before=min(around, left), after=after)
    windows = [
        variant_windows(scorer.genome, table, left=left, width=width, allele=allele)[0]
        for allele in ("reference", "alternative")
    ]
    pair = scorer.score_changes(windows[0], windows[1][None])
    names = scorer.name_outputs(pair[0].values.shape[1])
    output = _find_output(names, target, np.stack([it.values[0] for it in pair]))
    explain = _find_positions if pair[0].has_positions else _explain_bases
    tracks = [
        explain(scorer, window, each, output=output)
        for window, each in zip(windows, columns, strict=True)
    ]
    return VariantExplanation(
        variant=spell_alleles(table, scorer.genome)[0],
        target=names[output],
        scores=(tracks[0].score, tracks[1].score),
        letters=(tracks[0].letters, tracks[1].letters),
        positions=_list_positions(columns[0], table, scorer),
        weights=(tracks[0].weights, tracks[1].weights),
        unit=tracks[0].unit,
    )


def _align(
    sizes: tuple[int, int], left: int, *, before: int, after: int
) -> list[NDArray[np.int64]]:
    """Return the index of each column in the window of each allele; -1 in gaps."""
    inside = np.arange(max(sizes))
    return [
        np.concatenate(
            [
                np.arange(left - before, left),
                np.where(inside < size, left + inside, -1),
                np.arange(left + size, left + size + after),
            ]
        )
        for size in sizes
    ]


def _list_positions(
    columns: NDArray[np.int64], table: AlleleTable, scorer: AlleleScorer
) -> list[int | None]:
    """Return the position of each column; None for insertions and beyond the contig."""
    first = int(table.starts[0]) - scorer.settings.left + 1
    end = int(scorer.genome.lengths[table.contigs[0]])
    is_base = (columns >= 0) & (columns + first > 0) & (columns + first <= end)
    pairs = zip(columns.tolist(), is_base.tolist(), strict=True)
    return [first + at if known else None for at, known in pairs]


def _find_output(names: tuple[str, ...], target: str | None, scores: Floats) -> int:
    """Return the index of the target; by default, of the output that changes most."""
    if target is None:
        pair = scores.reshape(2, len(names), -1)
        change = np.abs(pair[1] - pair[0]).max(axis=1)
        # Of two classes whose probabilities change equally, the more probable one.
        is_largest = change >= _EQUAL_SHARE * change.max()
        return int(np.where(is_largest, pair.max(axis=(0, 2)), -np.inf).argmax())
    if target not in names:
        raise ArgumentError(
            f"target must be one of {join_first_names(names)}, got {quote(target)}"
        )
    return names.index(target)


class _Track(NamedTuple):
    """The bases, the score and the weights of one allele."""

    letters: str
    score: float
    weights: Floats
    unit: str


def _explain_bases(
    scorer: AlleleScorer,
    window: NDArray[np.uint8],
    columns: NDArray[np.int64],
    *,
    output: int,
) -> _Track:
    """Score every substitution of the bases that are shown."""
    letters = _read_letters(window, columns)
    is_base = np.isin(letters, _BASE_CODES)
    places = np.repeat(columns[is_base], len(_BASE_CODES))
    mutants = np.repeat(window[None], len(places), axis=0)
    mutants[np.arange(len(places)), places] = np.resize(_BASE_CODES, len(places))
    one, others = scorer.score_changes(window, mutants)
    unit, pair = "score", (one.values, others.values)
    if one.log_odds is not None and others.log_odds is not None:
        unit, pair = "log-odds", (one.log_odds, others.log_odds)
    change = (pair[0][0, output] - pair[1][:, output]).reshape(-1, len(_BASE_CODES))
    weights = np.full(len(columns), np.nan)
    weights[is_base] = change.sum(axis=1) / (len(_BASE_CODES) - 1)
    return _Track(letters.tobytes().decode(), float(one.values[0, output]), weights, unit)


def _find_positions(
    scorer: AlleleScorer,
    window: NDArray[np.uint8],
    columns: NDArray[np.int64],
    *,
    output: int,
) -> _Track:
    """Return the outputs of the bases that are shown; the score is their maximum."""
    values = scorer.score_changes(window, window[None])[0].values[0, output]
    # A network may have fewer positions than its input, with the same middle.
    at = columns - (len(window) - len(values)) // 2
    is_shown = (columns >= 0) & (at >= 0) & (at < len(values))
    weights = np.full(len(columns), np.nan)
    weights[is_shown] = values[at[is_shown]]
    score = float(weights[is_shown].max(initial=-np.inf))
    text = _read_letters(window, columns).tobytes().decode()
    return _Track(text, score, weights, "output")


def _read_letters(
    window: NDArray[np.uint8], columns: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Return the base of each column; ``-`` in gaps."""
    return np.where(columns >= 0, window[columns], ord("-")).astype(np.uint8)
