"""The alphabet of files that nobody named one for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._source_options import SourceOptions
from seqloom.data._sources import sources_of
from seqloom.data._store import Inputs
from seqloom.errors import ArgumentError
from seqloom.io._origin import check_regular
from seqloom.io._tally import find_alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray


def guess_alphabet(
    paths: Any,
    *,
    sequence_column: str = "sequence",
    comments: str = "error",
    whitespace: str = "error",
    ids: str = "error",
) -> str:
    """Decides on all letters of some sequences whether they are DNA, RNA or protein.

    Args:
        paths: A file, a pattern, several of them, or whatever else ``SequenceDataset``
            takes.
        sequence_column: A table's column of sequences.
        comments: ``"skip"`` leaves out lines of FASTA that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` leaves out blanks among letters.
        ids: ``"number"`` takes headers without a word.

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
    options = SourceOptions(
        comments=comments,
        whitespace=whitespace,
        ids=ids,
        sequence_column=sequence_column,
    )
    sources = sources_of(paths, options)
    held = {path: held.batch for path, held in sources.held.items()}
    inputs = Inputs(sources.paths, options, held)
    counts = np.sum([_counts(path, inputs) for path in inputs.paths], axis=0)
    try:
        return find_alphabet(counts)
    except ArgumentError as error:
        raise ArgumentError(f"{', '.join(inputs.paths)}: {error}") from None


def _counts(path: str, inputs: Inputs) -> NDArray[np.int64]:
    """Counts the letters of one file."""
    if path not in inputs.held:
        check_regular(path)
    counts = np.zeros(256, np.int64)
    for batch in inputs.batches(path):
        counts += _native.count_letters(batch.sequences.data)
    return counts
