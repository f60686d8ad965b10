"""The alphabet of files that nobody named one for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native
from seqloom.data._path import expand
from seqloom.errors import ArgumentError
from seqloom.io import open_sequences
from seqloom.io._alphabet import alphabet_of
from seqloom.io._regular import check_regular

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray


def guess_alphabet(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> str:
    """Decides on all letters of some files whether they are DNA, RNA or protein.

    Args:
        paths: A file, a pattern, or several of them.

    Returns:
        ``"dna"``, ``"rna"`` or ``"protein"``: a name that ``OneHot`` knows.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file is no sequence file.
        ArgumentError: DNA and protein both fit, or no alphabet does.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nMEEPQSDPSVEPPLSQ\\n")
        >>> guess_alphabet("a.fa")
        'protein'
    """
    files = expand(paths)
    counts = np.sum([_counts(path) for path in files], axis=0)
    try:
        return alphabet_of(counts)
    except ArgumentError as error:
        raise ArgumentError(f"{', '.join(files)}: {error}") from None


def _counts(path: str) -> NDArray[np.int64]:
    """Counts the letters of one file."""
    check_regular(path)
    counts = np.zeros(256, np.int64)
    with open_sequences(path) as reader:
        for batch in reader.batches(1 << 16, max_bytes=1 << 24):
            counts += _native.count_letters(batch.sequences.data)
    return counts
