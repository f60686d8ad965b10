"""A file format of your own: a source that reads it, and one entry in the registry.

A file of beads begins with the line ``beads 1``. Each further line is a record: its id, a
blank, and its letters in groups of four, with ``-`` between the groups.

    beads 1
    first ACGT-TTGA-CC
    second GGCA-A

Importing this module registers the format. Then `seqloom.infer.predict` reads it, and so
do the commands, started by

    python -c "import custom_format; from seqloom.cli import main; main()" train a.beads ...

An installed package names ``custom_format:BEADS`` in the group ``seqloom.kinds`` of its entry
points instead; then `seqloom train a.beads` finds it alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import seqloom as sl

FIRST_LINE = b"beads 1\n"


class BeadSource(sl.data.Source):
    """The records of files of beads."""

    kind, title = "beads", "BeadDataset"
    supports_threads = True  # all letters are in memory, and no method changes them

    def __init__(self, files: Sequence[Path]) -> None:
        lines = [line for file in files for line in file.read_text().splitlines()[1:]]
        pairs = [line.split(" ", 1) for line in lines]
        self.record_ids = [name for name, _ in pairs]
        self.letters = [letters.replace("-", "") for _, letters in pairs]
        self.paths, self.size = tuple(map(str, files)), len(pairs)

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """List the ids of some records."""
        return [self.record_ids[int(row)] for row in rows]

    def lengths(self, rows: NDArray[np.int64], encoder: Any) -> NDArray[np.int64]:
        """Count the letters of some records."""
        del encoder  # counts all letters
        return np.array([len(self.letters[int(row)]) for row in rows], np.int64)

    def fetch(self, rows: NDArray[np.int64], options: Any) -> sl.data.Fetched:
        """Read the letters of some records."""
        del options  # all letters are in memory
        return sl.data.Fetched.of(self.ids(rows), [self.letters[int(row)] for row in rows])


def are_beads(files: Sequence[Path]) -> bool:
    """Recognise the format by its first line."""
    return all(file.is_file() and _first_line(file) == FIRST_LINE for file in files)


def _first_line(file: Path) -> bytes:
    """Read the beginning of a file."""
    with file.open("rb") as opened:
        return opened.read(len(FIRST_LINE))


def open_beads(
    files: Sequence[Path], *, labels: Any, encoder: Any = None, augment: Any = None
) -> sl.data.Dataset:
    """Open files of beads with their labels, if any are given."""
    source = BeadSource(files)
    column = sl.data.join_labels(labels, source.record_ids)
    return sl.data.Dataset(source, encoder=encoder, augment=augment, labels=column)


BEADS = sl.infer.Kind(
    name="beads", open=open_beads, recognises=are_beads, files="beads (a made-up format)"
)
sl.infer.register_kind(BEADS)
