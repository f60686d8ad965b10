"""Attributions: what each letter of some sequences counts, as numbers and as a page."""

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

# Of a longer sequence a page shows the part where most is at stake.
_LONGEST = 600
_STRONGEST = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attributions:
    """What each letter of some sequences counts for a model: what `explain` returns.

    Attributes:
        ids: The records' names, in input order.
        sequences: Their letters, without a stop that the encoder leaves out.
        targets: The class or label that each was explained for.
        scores: The score of each as it is: the logarithm of the odds of a class or a label,
            or a value.
        weights: An array for each record: ``(length,)`` of occlusion; of mutations
            ``(length, letters)``, by the letter that is put there.
        letters: The letters that mutations put there; none of occlusion.
        window: The letters that occlusion replaced at once.
        task: The model's task: ``"classify"``, ``"regress"`` or ``"multilabel"``.
        read_as: The sequences as the encoder reads them, such as A for ``a``, and T for U
            with an encoder of DNA. None: as they are.

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
        """Return one number for each letter, above 0 where it raises the score.

        Returns:
            Of occlusion the weights; of mutations the mean of those that replace the letter
            by another one, times -1.

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
        """Write a table with a row for each letter, whole or not at all.

        Its columns are ``id``, ``target``, ``position`` (from 0), ``letter``, and
        ``weight``, or for mutations one for each letter that is put there.

        Args:
            path: The file; an older one is replaced. Or a file that is open for text.

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
            path.writelines(self._lines())
            return
        with (
            atomic_path(as_path("path", path)) as part,
            part.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(self._lines())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table in the format that the file's name asks for.

        It is written whole or not at all, and has the columns of `to_tsv`.

        Args:
            path: The file; an older one is replaced. A name that ends in ``.csv`` has
                commas, one that ends in ``.parquet`` is Parquet (extra ``parquet``); others
                have tabs.

        Raises:
            ArgumentError: The name ends as of another format, such as ``.xlsx``.
            FileError: The file cannot be written.
            MissingExtraError: Parquet needs a package that is not installed.

        Examples:
            >>> from pathlib import Path
            >>> weights = [np.array([0.5, -0.25])]
            >>> found = Attributions(["a"], ["AC"], ["yes"], np.array([1.0]), weights)
            >>> found.save("letters.csv")
            >>> Path("letters.csv").read_text().splitlines()[1]
            'a,yes,0,A,0.5'
        """
        write_table(as_path("path", path), self._rows(), self._columns)

    def to_html(self, path: str | os.PathLike[str], *, most: int = 50) -> None:
        """Write a page that colours the letters, one file of HTML, whole or not at all.

        The page says how many sequences it does not draw, the date and the
        version. Of mutations it colours what `by_letter` gives, and lists the strongest
        ones. Of a sequence of more than 600 letters it draws the 600 that count most in
        sum.

        Args:
            path: The file; an older one is replaced.
            most: The sequences that are drawn at most, the first ones.

        Raises:
            ArgumentError: `most` is not an integer from 1 on.
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

    def _lines(self) -> Iterator[str]:
        """Return the lines of the table, with tabs."""
        yield from ("\t".join(row) + "\n" for row in self._rows())

    def _rows(self) -> Iterator[list[str]]:
        """Return the head and a row a letter; numbers are shortest texts that read back."""
        yield ["id", "target", "position", "letter", *(self.letters or ["weight"])]
        for name, target, text, weights in zip(
            self.ids, self.targets, self.sequences, self.weights, strict=True
        ):
            rows = weights.reshape(len(text), -1)
            for at, (letter, row) in enumerate(zip(text, rows, strict=True)):
                yield [name, target, str(at), letter, *map(str, row)]

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the table, by their heads."""
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
    """Write the page of the first records, and say how many of all are not on it."""
    drawn = min(most, len(found))
    left_out = total - drawn
    note = (
        f"The first {drawn:,} of {total:,} sequences are drawn, {left_out:,} are not; a "
        "table (to_tsv, --out NAME.tsv) holds all."
    )
    report = Report(
        title="Which letters count",
        lead=_lead(found),
        notes=(note,) if left_out else (),
        sections=tuple(_sections(found, drawn)),
        facts={
            **(sources or {}),
            "date": datetime.now().astimezone().date().isoformat(),
            "version": f"seqloom {metadata.version('seqloom')}",
        },
    )
    write_atomic(path, make_page(report))


def mark_sequence(
    title: str, letters: str, weights: NDArray[Any], *, longest: int, note: str = ""
) -> MarkedSequence:
    """Mark a sequence; of a long one the part with the largest weights in sum."""
    sums = np.cumsum(np.append(0.0, np.abs(weights)))
    width = min(longest, len(letters))
    first = int(np.argmax(sums[width:] - sums[:-width]))
    stop = first + width
    part = f"letters {first:,} to {stop - 1:,} of {len(letters):,}"
    notes = filter(None, (note, part if width < len(letters) else ""))
    return MarkedSequence(
        title, letters[first:stop], weights[first:stop], first=first, note="; ".join(notes)
    )


def _lead(found: Attributions) -> str:
    """Say what was done."""
    is_one = found.window == 1
    what = "Each letter was" if is_one else f"Each {found.window:,} letters were"
    by, name = "N (X in a protein)", "occlusion"
    if found.letters:
        by, name = "each other letter", "in silico mutagenesis"
    return f"{what} replaced by {by}, and the model scored the sequence again ({name})."


def _sections(found: Attributions, drawn: int) -> Iterator[Section]:
    """Draw the first records, and list their strongest mutations."""
    score = {
        "classify": "the log-odds of the class above the letters, ln(p/(1-p))",
        "multilabel": "the log-odds of the label, ln(p/(1-p))",
        "regress": "the value",
    }
    change = "with another letter, on average" if found.letters else "without it"
    weights = found.by_letter()
    sequences = [_mark(found, record, weights[record]) for record in range(drawn)]
    yield Section(
        title="Letters",
        note=(
            f"The score is {score[found.task]}. The stronger the colour of a letter, the "
            f"more the score changes {change}. Each sequence has a scale of its own. "
            "Positions count from 0."
        ),
        drawings=(Letters(sequences, toward="raises the score", away="lowers the score"),),
    )
    if found.letters:
        yield Section(title="The strongest mutations", table=_strongest(found, drawn))


def _mark(found: Attributions, record: int, weights: NDArray[Any]) -> MarkedSequence:
    """Mark one record, with its score above and its strongest letter."""
    score, text = float(found.scores[record]), found.sequences[record]
    name = f"{found.ids[record]}: {found.targets[record]}"
    if found.task != "regress":
        name = f"{name} ({percent(np.exp(-np.logaddexp(0, -score)))})"
    at = int(np.abs(weights).argmax())
    strongest = f"strongest letter {text[at]} at {at:,}: {weights[at]:+.3g}"
    note = f"score {score:.3g}; {strongest}"
    return mark_sequence(name, text, weights, longest=_LONGEST, note=note)


def _strongest(found: Attributions, drawn: int) -> Table:
    """List the strongest mutations of the records that are drawn."""
    rows: list[tuple[str, int, str, float]] = []
    for record in range(drawn):
        weights, text = found.weights[record], found.sequences[record]
        order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:_STRONGEST]
        for at, column in np.stack(np.unravel_index(order, weights.shape), 1).tolist():
            what = f"{text[at]} to {found.letters[column]}"
            rows.append((found.ids[record], at, what, float(weights[at, column])))
    rows.sort(key=lambda row: -abs(row[-1]))
    columns = "id", "at", "mutation", "change"
    return Table("mutations", columns, [it for it in rows if it[-1]][:_STRONGEST])
