"""How records are read, from files and from tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seqloom.data.label._header_line import check_column, column_position
from seqloom.io._settings import check_choice

_USUAL = {"quality": "phred33", "comments": "error", "whitespace": "error", "ids": "error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Options of reading."""

    quality: str = "phred33"
    comments: str = "error"
    whitespace: str = "error"
    ids: str = "error"
    sequence_column: str = "sequence"
    id_column: str = "id"

    def __post_init__(self) -> None:
        for name in _USUAL:
            check_choice(name, getattr(self, name))
        check_column("sequence_column", self.sequence_column)
        check_column("id_column", self.id_column)

    @property
    def of_files(self) -> dict[str, Any]:
        """What ``open_sequences`` is told beside the path."""
        given = {name: getattr(self, name) for name in _USUAL}
        return {name: it for name, it in given.items() if it != _USUAL[name]}

    @property
    def leaves_out(self) -> bool:
        """Whether something of a file is left out, which its index would not do."""
        return bool(self.of_files.keys() & {"comments", "whitespace", "ids"})

    def find_sequences(self, what: str, names: list[str]) -> str:
        """Finds the column of sequences."""
        column_position(
            what, names, self.sequence_column, hint="sequence_column (--sequence-column)"
        )
        return self.sequence_column

    def check_ids(self, what: str, names: list[str]) -> None:
        """Refuses a chosen column of ids that the table does not have."""
        if self.id_column != "id":
            column_position(what, names, self.id_column)
