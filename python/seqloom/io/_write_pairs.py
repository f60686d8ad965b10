"""Writing first reads to one file and second reads to another."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from seqloom._files import atomic_paths
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io._mate_ids import check_mates
from seqloom.io._pair_columns import to_pairs
from seqloom.io._write_batch import write_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.io._form import Form
    from seqloom.io._pair_columns import Pairs

_TWO = 2


def check_two(names: Sequence[str]) -> None:
    """Refuses what cannot be written side by side."""
    if len(names) != _TWO:
        raise ArgumentError(f"a pair is two files, got {len(names)}")
    if "-" in names:
        raise ArgumentError(
            "-: standard output is one file and a pair is two; name both, or write the "
            "reads in turn: one path alone"
        )
    if len(set(map(os.path.realpath, names))) < _TWO:
        raise ArgumentError(f"{names[0]}: both mates would be written to the same file")


def write_pairs(names: Sequence[str], pairs: Pairs, forms: Sequence[Form]) -> int:
    """Writes two files of which neither appears unless both are whole."""
    count = 0
    with atomic_paths(names) as parts:
        writers = [
            _native.SequenceWriter(part, None, name=name, **asdict(form))
            for part, name, form in zip(parts, names, forms, strict=True)
        ]
        for pair in to_pairs(pairs):
            check_mates(pair, paths=tuple(names), start=count)
            for writer, batch in zip(writers, pair, strict=True):
                write_batch(writer, batch)
            count += len(pair[0])
        for writer in writers:
            writer.finish()
    return count
