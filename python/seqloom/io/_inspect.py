"""Summarise a sequence file in one pass."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import MAX_EXAMPLES
from seqloom.errors import FormatError
from seqloom.io._open import open_sequences
from seqloom.io._profile import LengthBin, bin_positions, summarise_quality
from seqloom.io._records import decode_header, parse_id
from seqloom.io._settings import StandardInput, count_origin_bytes, path_or_stdin
from seqloom.io._summary import (
    RESIDUES,
    Summary,
    Tally,
    count_residues,
    find_alphabet,
    hash_ids,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Generator

    from numpy.typing import NDArray

    from seqloom.io._open import OpenOptions
    from seqloom.io._settings import Comments, IdRule, PathOrFile, Quality, Whitespace

_LENGTH_BINS = 10
_TAIL_RATIO = 20
_UNAMBIGUOUS_BASES = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}


def inspect(
    path: str | os.PathLike[str],
    *,
    quality: Quality = "phred33",
    comments: Comments = "error",
    whitespace: Whitespace = "error",
    ids: IdRule = "error",
) -> Summary:
    """Read a sequence file in one pass and summarise its contents.

    Args:
        path: The path of the file, or ``"-"`` for standard input. A file with repeated ids
            is read twice to find examples of these ids; this is not possible for standard
            input.
        quality: The quality encoding of FASTQ: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``. The returned summary lists the encodings that fit the file.
        comments: ``"skip"`` skips FASTA lines that begin with ``;`` or ``#``.
        whitespace: ``"strip"`` removes white space within FASTA sequences.
        ids: ``"number"`` replaces a missing id by the record's number.

    Returns:
        Format, compression, records, lengths, residues, alphabet, GC, duplicate ids,
        qualities, and residues and scores by position.

    Raises:
        ArgumentError: An option has an unknown value.
        FileError: The file cannot be read, or it is a named pipe.
        FormatError: The file is not a sequence file, or it is truncated.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">a\\nACGUACGU\\n>a\\nGGNN\\n")
        >>> print(inspect("a.fa"))
        file           a.fa (20 bytes)
        format         fasta
        compression    none
        records        2
        residues       12: G 33.3 %, A 16.7 %, C 16.7 %, N 16.7 %, U 16.7 %
        lengths        4 to 8, median 6, mean 6.0
        alphabet       rna
        invalid        N 2
        lower case     0
        GC             60.0 %
        duplicate ids  1 (a)
    """
    origin = path_or_stdin(path)
    tally = Tally()
    options: OpenOptions = {
        "quality": quality,
        "comments": comments,
        "whitespace": whitespace,
        "ids": ids,
    }
    with _suggest_readers(), open_sequences(origin, **options) as reader:
        tally.add(reader.batches(1 << 16, max_bytes=1 << 24))
    examples, duplicates = _count_duplicates(origin, tally.id_hashes, options)
    return summarise_tally(
        tally,
        quality,
        path=reader.path,
        format=reader.format,
        compression=reader.compression,
        file_bytes=count_origin_bytes(origin),
        duplicate_ids=duplicates,
        duplicate_examples=examples,
    )


def summarise_tally(tally: Tally, quality: Quality, **facts: Any) -> Summary:
    """Create the summary from counts of the records and properties of the file."""
    lengths, counts = tally.lengths, count_residues(tally.counts)
    qualities = tally.profile.qualities.sum(axis=0).astype(np.int64)
    means = tally.profile.means.astype(np.int64)
    alphabet = find_alphabet(tally.counts).name
    plain = _UNAMBIGUOUS_BASES[alphabet or "protein"]
    return Summary(
        records=lengths.size,
        letters=dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        shortest=int(lengths.min()),
        median=float(np.median(lengths)),
        mean=float(lengths.mean()),
        longest=int(lengths.max()),
        histogram=_make_length_histogram(lengths),
        alphabet=alphabet,
        outside={it: n for it, n in sorted(counts.items()) if it not in plain},
        lower_case=int(tally.counts[ord("a") : ord("z") + 1].sum()),
        gc=None if alphabet == "protein" else _compute_gc_content(counts),
        quality=summarise_quality(qualities, means, encoding=quality),
        positions=bin_positions(tally.profile, int(lengths.max()), encoding=quality),
        **facts,
    )


@contextmanager
def _suggest_readers() -> Generator[None]:
    """Name the function that reads genotypes or intervals in an error message."""
    try:
        yield
    except FormatError as error:
        if error.cause == "PLINK":
            error.add_note("use seqloom.io.inspect_bed for a PLINK .bed")
        if error.cause == "BED":
            error.add_note(
                "sl.data.IntervalDataset(genome, bed), or GENOME.fa --intervals BED, reads "
                "intervals of a genome"
            )
        raise


def _compute_gc_content(counts: dict[str, int]) -> float | None:
    """Return the GC content, or None if residues other than bases occur."""
    if not any(counts.keys() <= RESIDUES[name] for name in ("dna", "rna")):
        return None
    strong, weak = (sum(counts.get(it, 0) for it in group) for group in ("GC", "ATU"))
    return strong / (strong + weak) if strong + weak else None


def _count_duplicates(
    origin: PathOrFile, names: NDArray[np.uint64], options: OpenOptions
) -> tuple[tuple[str, ...], int]:
    """Count repeated ids; read the file again only to find examples of them."""
    kinds, numbers = np.unique(names, return_counts=True)
    twice = kinds[numbers > 1]
    examples: dict[str, None] = {}
    if twice.size and not isinstance(origin, StandardInput):
        with open_sequences(origin, **options) as reader:
            for batch in reader.batches(1 << 16, max_bytes=1 << 24):
                rows = np.isin(hash_ids(batch), twice).nonzero()[0].tolist()
                headers = (batch.headers[row].tobytes() for row in rows)
                examples |= dict.fromkeys(decode_header(parse_id(it)) for it in headers)
    return tuple(islice(examples, MAX_EXAMPLES)), names.size - kinds.size


def _make_length_histogram(lengths: NDArray[np.int64]) -> tuple[LengthBin, ...]:
    """Count sequence lengths in about ten bins with integer limits."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    # Use logarithmic bins for distributions with a long tail.
    if longest > _TAIL_RATIO * float(np.median(lengths)):
        raw = np.geomspace(max(shortest, 1), longest + 1, _LENGTH_BINS + 1)
        raw[0] = shortest
    else:
        raw = np.linspace(shortest, longest + 1, _LENGTH_BINS + 1)
    edges = np.unique(np.ceil(raw).astype(np.int64))
    counts, _ = np.histogram(lengths, edges)
    bounds: list[int] = edges.tolist()
    return tuple(
        LengthBin(start, stop - 1, int(n))
        for start, stop, n in zip(bounds, bounds[1:], counts, strict=False)
    )
