"""One sequence record, and how its header is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SequenceRecord:
    """One record of a sequence file.

    Args:
        id: The header up to the first blank.
        description: The rest of the header, without the blanks between.
        sequence: The letters, exactly as in the file, without line ends.
        quality: One byte a letter in FASTQ, None in FASTA.

    Examples:
        >>> SequenceRecord("chr1", "human", b"ACGT").sequence
        b'ACGT'
    """

    id: str
    description: str
    sequence: bytes
    quality: bytes | None = None


def header_id(header: bytes) -> bytes:
    """Takes the id out of a header."""
    return header.split(None, 1)[0] if header.strip() else b""


def header_text(header: bytes) -> str:
    """Reads a header's bytes as text, whatever they are."""
    return header.decode("utf-8", "backslashreplace")
