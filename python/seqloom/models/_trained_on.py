"""What a network was trained on: how long the records were, and of which files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._config import JsonConfig
from seqloom._text import printable
from seqloom.data._parts import has_letters
from seqloom.data._paths import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn(JsonConfig):
    """Describes the records of a training part and the files that they came from.

    Attributes:
        records: How many records there were.
        lengths: The letters of the shortest and of the longest; None where they have none.
        files: The names of the files, without their folders.
        digests: What tells each file again: a hash of its size, its begin and its end.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> found = TrainedOn.of(sl.data.SequenceDataset("a.fa"))
        >>> found.lengths, found.files
        ((2, 4), ('a.fa',))
    """

    records: int
    lengths: tuple[int, int] | None
    files: tuple[str, ...]
    digests: tuple[str, ...]

    @classmethod
    def of(cls, part: Any) -> Self:
        """Describes a training part; the files are those that tell its records apart."""
        lengths = np.asarray(part.lengths) if has_letters(part) else np.empty(0, np.int64)
        files = files_of(part)
        return cls(
            records=len(part),
            lengths=(int(lengths.min()), int(lengths.max())) if lengths.size else None,
            files=tuple(names_of(files)),
            digests=tuple(file_digest(str(file)) for file in files),
        )

    def find_again(self, paths: Iterable[Path]) -> list[Path]:
        """Finds those of some files that the network was trained on."""
        files = (path for path in paths if path.is_file())
        return [path for path in files if file_digest(str(path)) in self.digests]

    def spell_lengths(self) -> str:
        """Says how long the records were that taught; nothing of those without letters."""
        return "" if self.lengths is None else f"{_range(*self.lengths)} letters"

    def describe_strange_lengths(self, data: Any, *, share: float = 0.0) -> str:
        """Says how many records have other lengths, if they are more than a share."""
        if self.lengths is None or not has_letters(data):
            return ""
        shortest, longest = self.lengths
        lengths = np.asarray(data.lengths)
        strange = lengths[(lengths < shortest) | (lengths > longest)]
        if strange.size <= share * lengths.size:
            return ""
        return (
            f"{strange.size:,} of {lengths.size:,} {data.noun} have "
            f"{_range(int(strange.min()), int(strange.max()))} letters, but the model was "
            f"trained on {_range(shortest, longest)}: such scores may mean nothing; cut "
            f"the {data.noun}, or train on such lengths"
        )


def files_of(part: Any) -> list[Path]:
    """Lists the files of a part; of intervals in a genome those of the intervals."""
    paths: tuple[str, ...] = getattr(part, "record_files", getattr(part, "paths", ()))
    return [path for path in map(Path, paths) if path.is_file()]


def names_of(files: Iterable[Path]) -> list[str]:
    """Names files without their folders, which say more of a machine than of the data."""
    return [printable(file.name) for file in files]


def _range(first: int, last: int) -> str:
    """Spells a range of counts."""
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
