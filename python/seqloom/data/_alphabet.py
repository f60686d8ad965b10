"""Guess whether files contain DNA, RNA or proteins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._rust import _native
from seqloom.data._encoder import add_file_position
from seqloom.data._inputs import Inputs, SourceOptions
from seqloom.data._sources import read_sources
from seqloom.errors import AlphabetError, ArgumentError
from seqloom.io._settings import check_not_stream
from seqloom.io._summary import RESIDUES, count_residues, find_alphabet, format_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.io._settings import Comments, IdRule, Whitespace
    from seqloom.io._summary import AlphabetGuess

_GAP_CHARACTERS = "-."


def guess_alphabet(
    paths: Any,
    *,
    sequence_column: str = "sequence",
    comments: Comments = "error",
    whitespace: Whitespace = "error",
    ids: IdRule = "error",
    symbols: str = "strip_terminal_stop",
) -> str:
    """Guess from all residues whether sequences are DNA, RNA or protein.

    Sequences are nucleotides if nearly all residues are A, C, G, T, U or N. Other
    characters in nucleotide sequences raise an error, and so does a mixture of T and U.

    Args:
        paths: A file, a pattern, several files or patterns, or sequences in memory, as for
            ``SequenceDataset``.
        sequence_column: The column of sequences in a table.
        comments: ``"skip"`` ignores FASTA lines that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` removes blanks within sequences.
        ids: ``"number"`` accepts empty headers.
        symbols: The option ``symbols`` of the encoder; ``"zeros"`` and ``"keep"`` accept
            the gap characters ``-`` and ``.`` at any position.

    Returns:
        ``"dna"``, ``"rna"`` or ``"protein"``.

    Raises:
        FileError: A file cannot be read.
        FormatError: A file is not a sequence file.
        ArgumentError: The residues fit both DNA and protein.
        AlphabetError: A character is not in the alphabet that nearly all other characters
            belong to.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nMEEPQSDPSVEPPLSQ\\n")
        >>> guess_alphabet("a.fa")
        'protein'
    """
    options = SourceOptions(
        comments=comments, whitespace=whitespace, ids=ids, sequence_column=sequence_column
    )
    sources = read_sources(paths, options)
    inputs = Inputs(sources.paths, options, sources.batches)
    counts = np.zeros(256, np.int64)
    for path in inputs.paths:
        if path not in inputs.held:
            check_not_stream(path)
        for batch in inputs.batches(path):
            counts += _native.count_letters(batch.sequences.data)
    if symbols in {"zeros", "keep"}:
        counts[list(_GAP_CHARACTERS.encode())] = 0
    found = find_alphabet(counts)
    if found.strange:
        _raise_invalid(found, inputs, total=int(counts.sum()))
    if found.name is None:
        raise ArgumentError(
            f"{', '.join(inputs.paths)}: DNA and protein both fit {counts.sum():,} residues"
            f" {''.join(sorted(count_residues(counts)))}; choose with --alphabet dna or "
            "--alphabet protein"
        )
    return found.name


def _raise_invalid(found: AlphabetGuess, inputs: Inputs, *, total: int) -> NoReturn:
    strange = found.strange
    rest = total - sum(strange.values())
    expected = (
        f"{found.name}, like {rest:,} of {total:,} residues (exceptions: "
        f"{format_counts(strange)}); correct the file{_suggest_option(found)}"
    )
    for path, record, name, letters in _find_records(inputs, "".join(strange)):
        position = next(i for i, it in enumerate(letters) if it.upper() in strange)
        letter = letters[position]
        error = AlphabetError("", position=position, character=letter, expected=expected)
        raise add_file_position(error, (path, record), name, augmented=False)
    raise AlphabetError(f"{', '.join(inputs.paths)}: expected {expected}")


def _suggest_option(found: AlphabetGuess) -> str:
    """Return a hint with the option that accepts the invalid characters, if any."""
    strange = found.strange.keys()
    if strange <= set(_GAP_CHARACTERS):
        return ', or symbols="zeros" (--symbols zeros) encodes - and . as zeros'
    if strange <= {"T", "U"}:
        return ', or rna_as_dna=True of OneHot("dna") (--rna-as-dna) reads U as T'
    if strange <= RESIDUES["protein"].difference("UO*"):
        return ', or, if the file has proteins, pass OneHot("protein") (--alphabet protein)'
    return ""


def _find_records(inputs: Inputs, letters: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield file, index, id and sequence of records that contain certain characters."""
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
