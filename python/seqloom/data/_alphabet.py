"""The alphabet of files that nobody named one for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._rust import _native
from seqloom.data._encoder import in_file
from seqloom.data._inputs import Inputs, SourceOptions
from seqloom.data._sources import sources_of
from seqloom.errors import AlphabetError, ArgumentError
from seqloom.io._settings import check_regular
from seqloom.io._summary import LETTERS, count_letters, find_alphabet, list_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.io._settings import Comments, IdRule, Whitespace
    from seqloom.io._summary import FoundAlphabet

_GAPS = "-."


def guess_alphabet(
    paths: Any,
    *,
    sequence_column: str = "sequence",
    comments: Comments = "error",
    whitespace: Whitespace = "error",
    ids: IdRule = "error",
    symbols: str = "strip_terminal_stop",
) -> str:
    """Decide on all letters of some sequences whether they are DNA, RNA or protein.

    Sequences of which nearly all letters are A, C, G, T, U or N are no proteins: any letter
    among them that DNA or RNA does not have is an error, and so are T and U together.

    Args:
        paths: A file, a pattern, several of them, or whatever else ``SequenceDataset``
            takes.
        sequence_column: A table's column of sequences.
        comments: ``"skip"`` leaves out lines of FASTA that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` leaves out blanks among letters.
        ids: ``"number"`` takes headers without a word.
        symbols: What the encoder is told: with ``"zeros"`` or ``"keep"``, the symbols -
            and . may stand anywhere.

    Returns:
        ``"dna"``, ``"rna"`` or ``"protein"``: a name that ``OneHot`` knows.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file is no sequence file.
        ArgumentError: DNA and protein both fit.
        AlphabetError: A letter is not in the alphabet that nearly all others are of.

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
    inputs = Inputs(sources.paths, options, sources.batches)
    counts = np.zeros(256, np.int64)
    for path in inputs.paths:
        if path not in inputs.held:
            check_regular(path)
        for batch in inputs.batches(path):
            counts += _native.count_letters(batch.sequences.data)
    if symbols in {"zeros", "keep"}:
        counts[list(_GAPS.encode())] = 0
    found = find_alphabet(counts)
    if found.strange:
        _refuse(found, inputs, total=int(counts.sum()))
    if found.name is None:
        raise ArgumentError(
            f"{', '.join(inputs.paths)}: DNA and protein both fit {counts.sum():,} letters "
            f"{''.join(sorted(count_letters(counts)))}; say which: --alphabet dna or "
            "--alphabet protein"
        )
    return found.name


def _refuse(found: FoundAlphabet, inputs: Inputs, *, total: int) -> NoReturn:
    """Refuse letters that do not belong, with the place of the first."""
    strange = found.strange
    rest = total - sum(strange.values())
    expected = (
        f"{found.name}, as the other {rest:,} of {total:,} letters are (not: "
        f"{list_counts(strange)}); correct the file{_name_remedy(found)}"
    )
    for path, record, name, letters in _records_with(inputs, "".join(strange)):
        position = next(i for i, it in enumerate(letters) if it.upper() in strange)
        letter = letters[position]
        error = AlphabetError("", position=position, character=letter, expected=expected)
        raise in_file(error, (path, record), name, augmented=False)
    raise AlphabetError(f"{', '.join(inputs.paths)}: expected {expected}")


def _name_remedy(found: FoundAlphabet) -> str:
    """Name the option that reads letters which do not belong, if there is one."""
    strange = found.strange.keys()
    if strange <= set(_GAPS):
        return ', or symbols="zeros" (--symbols zeros) reads - and . as nothing known'
    if strange <= {"T", "U"}:
        return ', or rna_as_dna=True of OneHot("dna") (--rna-as-dna) reads U as T'
    if strange <= LETTERS["protein"].difference("UO*"):
        return ', or, if it holds proteins, say OneHot("protein") (--alphabet protein)'
    return ""


def _records_with(inputs: Inputs, letters: str) -> Iterator[tuple[str, int, str, str]]:
    """Go through the records that have some letters: file, number, id and letters."""
    wanted = np.frombuffer((letters + letters.lower()).encode("latin-1"), np.uint8)
    for path in inputs.paths:
        before = 0
        for batch in inputs.batches(path):
            hits = np.isin(batch.sequences.data, wanted).nonzero()[0]
            rows = np.searchsorted(batch.sequences.offsets, hits, side="right") - 1
            for row in np.unique(rows).tolist():
                record = batch[row]
                yield path, before + row, record.id, record.sequence.decode("latin-1")
            before += len(batch)
