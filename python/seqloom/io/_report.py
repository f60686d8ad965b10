"""What was left out while a file was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from seqloom.errors import FormatError


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What was read so far, and what was left out.

    Args:
        records: How many records were read.
        left_out: How many faults were passed over, by kind (`FormatError` lists the
            kinds). A record with a fault is left out; where a fault hides that a record
            began, one fault may stand for several.
        faults: With ``on_error="collect"``, the first thousand of them, in the order of
            the file: errors with record, line and byte that were not raised.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import open_sequences
        >>> _ = Path("a.fa").write_text(">a\\nAC GT\\n>b\\nGG\\n")
        >>> with open_sequences("a.fa", on_error="collect") as reader:
        ...     [record.id for record in reader], reader.report.left_out
        (['b'], {'letter': 1})
        >>> reader.report.faults[0].line, reader.report.faults[0].byte
        (2, 5)
    """

    records: int
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    faults: tuple[FormatError, ...] = ()


Fault = tuple[str, int | None, str | None, int | None, int | None, str]


def fault_of(path: str, fault: Fault) -> FormatError:
    """Makes the error that a fault would have been."""
    kind, record, name, line, byte, message = fault
    who = "" if record is None else f"record {record}" + (f" ({name}), " if name else ", ")
    where = "" if line is None else f"{who}line {line}, byte {byte or 0}: "
    return FormatError(
        f"{path}: {where}{message}",
        kind=kind,
        path=path,
        record=record,
        line=line,
        byte=byte,
    )
