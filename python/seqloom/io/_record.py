"""One sequence record, and how its header is read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SequenceRecord:
    """One record of a sequence file.

    Args:
        id: The header's first word.
        description: The rest of the header, without the blanks between.
        sequence: The letters, exactly as in the file, without line ends.
        quality: One quality letter a letter in FASTQ, as in the file; None in FASTA.
        header: The whole header as in the file, where the record was read from one; it
            is written again as long as id and description are those in it.

    Examples:
        >>> SequenceRecord("chr1", "human", b"ACGT").sequence
        b'ACGT'
    """

    id: str
    description: str
    sequence: bytes
    quality: bytes | None = None
    header: bytes | None = field(default=None, repr=False, compare=False)


def header_id(header: bytes) -> bytes:
    """Takes the id out of a header."""
    return header.split(None, 1)[0] if header.strip() else b""


def header_text(header: bytes) -> str:
    """Reads a header's bytes as text, whatever they are."""
    return header.decode("utf-8", "backslashreplace")


def split_header(header: bytes) -> tuple[str, str]:
    """Splits a header into id and description."""
    name, *rest = header.split(None, 1) or [b""]
    return header_text(name), header_text(rest[0].strip()) if rest else ""
