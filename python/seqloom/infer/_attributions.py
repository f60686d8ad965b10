"""Attributions: a weight for each residue of a sequence, as a table or a page."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from io import TextIOBase
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import as_integer, as_path
from seqloom._files import atomic_path, write_atomic
from seqloom.infer._scores import write_table
from seqloom.report import (
    Letters,
    MarkedSequence,
    Report,
    Section,
    Table,
    make_page,
    percent,
)

# The maximum number of residues of a sequence on a page. A sequence above this limit is
# reduced to the range with the largest weights.
_MAX_SHOWN_RESIDUES = 600
_MAX_MUTATIONS = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attributions:
    """The weights that `explain` returns, one for each residue of each sequence.

    Attributes:
        ids: The ids of the records, in input order.
        sequences: The sequences, without the stop symbol (``*``) at the end if the encoder
            removes this symbol.
        targets: The class or label that was explained for each record.
        scores: The model's score of each unchanged sequence: the logarithm of the odds of a
            class or label, or the predicted value of a regression.
        weights: An array of weights for each record: of shape ``(length,)`` for occlusion,
            and ``(length, letters)`` for mutations, with a column for each new residue.
        letters: The residues by which mutations replace the original residue; empty for
            occlusion.
        window: The number of neighbouring residues that occlusion replaces at once.
        task: The model's task: ``"classify"``, ``"regress"`` or ``"multilabel"``.
        read_as: The sequences as the encoder reads them, such as A for ``a``, and T for U
            with a DNA encoder. None if the encoder reads the residues unchanged.

    Examples:
        >>> weights = [np.array([0.5, -0.25])]
        >>> found = Attributions(["a"], ["AC"], ["yes"], np.array([1.0]), weights)
        >>> found
        Attributions of 1 sequence, by occlusion
    """

    ids: list[str]
    sequences: list[str]
    targets: list[str]
    scores: NDArray[np.floating[Any]]
    weights: list[NDArray[np.floating[Any]]]
    letters: str = ""
    window: int = 1
    task: str = "classify"
    read_as: list[str] | None = None

    def by_letter(self) -> list[NDArray[np.floating[Any]]]:
        """Return one number for each residue, above 0 if the residue raises the score.

        Returns:
            For occlusion, a residue's number is its weight. For mutations, a residue's
            number is the negative mean weight of its substitutions.

        Examples:
            >>> weights = [np.array([[0.0, -1.0, -2.0, -3.0]])]
            >>> data = ["a"], ["A"], ["yes"], np.array([1.0]), weights
            >>> Attributions(*data, letters="ACGT").by_letter()[0].tolist()
            [2.0]
        """
        if not self.letters:
            return self.weights
        pairs = zip(self.read_as or self.sequences, self.weights, strict=True)
        return [
            -weights.sum(axis=1)
            / [max(1, len(self.letters.replace(it, ""))) for it in text]
            for text, weights in pairs
        ]

    def to_tsv(self, path: str | os.PathLike[str] | IO[str]) -> None:
        """Atomically write a table with a row for each residue.

        The columns are ``id``, ``target``, ``position`` (from 0) and ``letter``. For
        occlusion, the table also has the column ``weight``; for mutations, a column for
        each new residue.

        Args:
            path: The path of the file, which is overwritten if it exists, or an open text
                file.

        Raises:
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> weights = [np.array([0.5, -0.25])]
            >>> found = Attributions(["a"], ["AC"], ["yes"], np.array([1.0]), weights)
            >>> found.to_tsv("letters.tsv")
            >>> print(Path("letters.tsv").read_text(), end="")
            id	target	position	letter	weight
            a	yes	0	A	0.5
            a	yes	1	C	-0.25
        """
        if isinstance(path, TextIOBase):
            path.writelines(self._iterate_lines())
            return
        with (
            atomic_path(as_path("path", path)) as part,
            part.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(self._iterate_lines())

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
            >>> weights = [np.array([0.5, -0.25])]
            >>> found = Attributions(["a"], ["AC"], ["yes"], np.array([1.0]), weights)
            >>> found.save("letters.csv")
            >>> Path("letters.csv").read_text().splitlines()[1]
            'a,yes,0,A,0.5'
        """
        write_table(as_path("path", path), self._iterate_rows(), self._make_columns)

    def to_html(self, path: str | os.PathLike[str], *, most: int = 50) -> None:
        """Atomically write an HTML page with coloured residues, as a single file.

        The page also shows the date, the seqloom version and the number of sequences left
        out. For mutations, the page colours each residue by its number from `by_letter`,
        and lists the mutations that change the score most. A sequence with more than 600
        residues is reduced to the 600 consecutive residues with the largest weights.

        Args:
            path: The path of the file, which is overwritten if it exists.
            most: The maximum number of sequences to show, beginning with the first
                sequence.

        Raises:
            ArgumentError: `most` is not a positive integer.
            FileError: The file cannot be written.

        Examples:
            >>> from pathlib import Path
            >>> weights = [np.array([0.5, -0.25])]
            >>> found = Attributions(["a"], ["AC"], ["yes"], np.array([1.0]), weights)
            >>> found.to_html("letters.html")
            >>> "a: yes" in Path("letters.html").read_text()
            True
        """
        most = as_integer("most", most, least=1)
        write_page(as_path("path", path), self, most=most, total=len(self))

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        noun = "sequence" if len(self) == 1 else "sequences"
        method = "mutations" if self.letters else "occlusion"
        return f"Attributions of {len(self):,} {noun}, by {method}"

    def _iterate_lines(self) -> Iterator[str]:
        """Yield the lines of the tab-separated table."""
        yield from ("\t".join(row) + "\n" for row in self._iterate_rows())

    def _iterate_rows(self) -> Iterator[list[str]]:
        """Yield the header and a row for each residue, with numbers in full precision."""
        yield ["id", "target", "position", "letter", *(self.letters or ["weight"])]
        for name, target, text, weights in zip(
            self.ids, self.targets, self.sequences, self.weights, strict=True
        ):
            rows = weights.reshape(len(text), -1)
            for at, (letter, row) in enumerate(zip(text, rows, strict=True)):
                yield [name, target, str(at), letter, *map(str, row)]

    def _make_columns(self) -> dict[str, Any]:
        """Return the columns of the table, by their names."""
        lengths = [len(text) for text in self.sequences]
        weights = np.concatenate([it.reshape(len(it), -1) for it in self.weights])
        names = self.letters or ["weight"]
        return {
            "id": np.repeat(self.ids, lengths),
            "target": np.repeat(self.targets, lengths),
            "position": np.concatenate([np.arange(length) for length in lengths]),
            "letter": list("".join(self.sequences)),
            **dict(zip(names, weights.T, strict=True)),
        }


def write_page(
    path: os.PathLike[str],
    found: Attributions,
    *,
    most: int,
    total: int,
    sources: Mapping[str, str] | None = None,
) -> None:
    """Write a page that shows the first records and the number of records not shown."""
    drawn = min(most, len(found))
    left_out = total - drawn
    note = (
        f"This page shows the first {drawn:,} of {total:,} sequences, without the other "
        f"{left_out:,}; a table (to_tsv, --out NAME.tsv) contains all of them."
    )
    report = Report(
        title="Attributions",
        lead=_describe_method(found),
        notes=(note,) if left_out else (),
        sections=tuple(_make_sections(found, drawn)),
        facts={
            **(sources or {}),
            "date": datetime.now().astimezone().date().isoformat(),
            "version": f"seqloom {metadata.version('seqloom')}",
        },
    )
    write_atomic(path, make_page(report))


def colour_sequence(
    title: str, letters: str, weights: NDArray[Any], *, longest: int, note: str = ""
) -> MarkedSequence:
    """Return a coloured sequence, or the range of it with the largest weights."""
    sums = np.cumsum(np.append(0.0, np.abs(weights)))
    width = min(longest, len(letters))
    first = int(np.argmax(sums[width:] - sums[:-width]))
    stop = first + width
    part = f"residues {first:,} to {stop - 1:,} of {len(letters):,}"
    notes = filter(None, (note, part if width < len(letters) else ""))
    return MarkedSequence(
        title, letters[first:stop], weights[first:stop], first=first, note="; ".join(notes)
    )


def _describe_method(found: Attributions) -> str:
    """Describe in a sentence how the weights were computed."""
    is_one = found.window == 1
    what = "Each residue was" if is_one else f"Each window of {found.window:,} residues was"
    by, name = "N (X in proteins)", "occlusion"
    if found.letters:
        by, name = "every other residue", "in silico mutagenesis"
    return f"{what} replaced by {by}, and the model scored the sequence again ({name})."


def _make_sections(found: Attributions, drawn: int) -> Iterator[Section]:
    """Yield the sections of the page: the coloured sequences and the table of mutations."""
    score = {
        "classify": "the log-odds of the class above the sequence, ln(p/(1-p))",
        "multilabel": "the log-odds of the label, ln(p/(1-p))",
        "regress": "the predicted value",
        "profile": "the logarithm of the predicted count of the track",
    }
    change = "with another residue, on average" if found.letters else "without it"
    weights = found.by_letter()
    sequences = [_mark_record(found, record, weights[record]) for record in range(drawn)]
    yield Section(
        title="Residues",
        note=(
            f"The score is {score[found.task]}. The darker a residue, the more the score "
            f"changes {change}. Each sequence has its own colour scale. Positions count "
            "from 0."
        ),
        drawings=(Letters(sequences, toward="raises the score", away="lowers the score"),),
    )
    if found.letters:
        yield Section(title="Strongest mutations", table=_mutations_table(found, drawn))


def _mark_record(found: Attributions, record: int, weights: NDArray[Any]) -> MarkedSequence:
    """Return a coloured sequence with its score and the residue with the largest weight."""
    score, text = float(found.scores[record]), found.sequences[record]
    name = f"{found.ids[record]}: {found.targets[record]}"
    if found.task != "regress":
        name = f"{name} ({percent(np.exp(-np.logaddexp(0, -score)))})"
    at = int(np.abs(weights).argmax())
    strongest = f"strongest residue {text[at]} at {at:,}: {weights[at]:+.3g}"
    note = f"score {score:.3g}; {strongest}"
    return colour_sequence(name, text, weights, longest=_MAX_SHOWN_RESIDUES, note=note)


def _mutations_table(found: Attributions, drawn: int) -> Table:
    """Return a table of the mutations that change the scores of the shown records most."""
    rows: list[tuple[str, int, str, float]] = []
    for record in range(drawn):
        weights, text = found.weights[record], found.sequences[record]
        order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:_MAX_MUTATIONS]
        for at, column in np.stack(np.unravel_index(order, weights.shape), 1).tolist():
            what = f"{text[at]} to {found.letters[column]}"
            rows.append((found.ids[record], at, what, float(weights[at, column])))
    rows.sort(key=lambda row: -abs(row[-1]))
    columns = "id", "position", "mutation", "change"
    return Table("mutations", columns, [it for it in rows if it[-1]][:_MAX_MUTATIONS])
