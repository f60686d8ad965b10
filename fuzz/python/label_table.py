"""Read plain and compressed tables of labels, with some or all columns selected."""

from __future__ import annotations

import gzip

from hostile import run, scratch

import seqloom as sl
from seqloom.data.label._table import read_frame, read_table
from seqloom.errors import SeqloomError

_SEQUENCES = ">a\nACGT\n>b\nGGCC\n>c\nTTTT\n"


def _try_one(data: bytes) -> None:
    path, sequences = scratch("labels.tsv"), scratch("labels.fa")
    compressed = data[:1] == b"\1"
    path.write_bytes(gzip.compress(data[1:], 1) if compressed else data[1:])
    sequences.write_text(_SEQUENCES)
    for read in _READERS:
        try:
            read(str(path))
        except SeqloomError as error:
            str(error)
    sl.data.SequenceDataset(str(sequences), labels=str(path))


_READERS = [
    read_frame,
    lambda path: read_table(path, "id", ("label",)),
    sl.data.SequenceDataset,
]


def _seeds() -> list[bytes]:
    tables = [
        b"id\tlabel\na\tyes\nb\tno\nc\tyes\n",
        b'# of a run\nid,label,"n"\na,0.5,1\nb,1e3,\nc,NA,2\n',
        b"id label\na x;y\nb y\nc .\n",
        b"id;label;sequence\na;1;ACGT\nb;2;AC\nc;3;A\n",
    ]
    return [
        *(b"\0" + table for table in tables),
        b"\1" + tables[0],
        b"\0" + gzip.compress(tables[0]),
    ]


if __name__ == "__main__":
    run(_try_one, _seeds())
