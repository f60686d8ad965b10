"""Add a file format: a source that reads it, and a `Kind` that registers it.

The example format is called beads. A file begins with the line ``beads 1``. Every other
line is a record: an id, a space, and the bases in groups of four, separated by ``-``.

    beads 1
    first ACGT-TTGA-CC
    second GGCA-A

Importing this module registers the format, for `seqloom.infer.predict` and for commands
that are started like this:

    python -c "import custom_format; from seqloom.cli import main; main()" train a.beads ...

An installed package can register ``custom_format:BEADS`` in the entry point group
``seqloom.kinds`` instead. Then `seqloom train a.beads` works without the import.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import seqloom as sl

FIRST_LINE = b"beads 1\n"


class BeadSource(sl.data.Source):
    """Records of beads files."""

    kind, title = "beads", "BeadDataset"
    supports_threads = True  # sequences are in memory, and methods only read

    def __init__(self, files: Sequence[Path]) -> None:
        lines = [line for file in files for line in file.read_text().splitlines()[1:]]
        pairs = [line.split(" ", 1) for line in lines]
        self.record_ids = [name for name, _ in pairs]
        self.sequences = [text.replace("-", "") for _, text in pairs]
        self.paths, self.size = tuple(map(str, files)), len(pairs)

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids of the given rows."""
        return [self.record_ids[int(row)] for row in rows]

    def lengths(self, rows: NDArray[np.int64], encoder: Any) -> NDArray[np.int64]:
        """Return the sequence lengths of the given rows."""
        del encoder  # sequence lengths do not depend on the encoder
        return np.array([len(self.sequences[int(row)]) for row in rows], np.int64)

    def fetch(self, rows: NDArray[np.int64], options: Any) -> sl.data.Fetched:
        """Return the sequences of the given rows."""
        del options  # sequences are in memory
        return sl.data.Fetched.of(
            self.ids(rows), [self.sequences[int(row)] for row in rows]
        )


def is_beads_format(files: Sequence[Path]) -> bool:
    """Return whether all files begin with the first line of the format."""
    return all(file.is_file() and _first_line(file) == FIRST_LINE for file in files)


def _first_line(file: Path) -> bytes:
    """Read the start of a file, up to the length of the format's first line."""
    with file.open("rb") as opened:
        return opened.read(len(FIRST_LINE))


def open_beads(
    files: Sequence[Path], *, labels: Any, encoder: Any = None, augment: Any = None
) -> sl.data.Dataset:
    """Return a dataset of beads files, with labels if `labels` contains any."""
    source = BeadSource(files)
    column = sl.data.join_labels(labels, source.record_ids)
    return sl.data.Dataset(source, encoder=encoder, augment=augment, labels=column)


BEADS = sl.infer.Kind(
    name="beads",
    open=open_beads,
    recognises=is_beads_format,
    files="beads (an example format)",
)
sl.infer.register_kind(BEADS)
