"""The input kinds of sequences: sequence files, and intervals of a genome."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom._arguments import quote
from seqloom.data import Dataset, IntervalDataset, Labels, SequenceDataset, guess_alphabet
from seqloom.data._frame import Frame
from seqloom.data._sources import is_sequence_table
from seqloom.data.interval._intervals import Intervals, read_intervals
from seqloom.data.label._table import format_column_names, suggest_name
from seqloom.errors import ArgumentError, LabelError, MissingFileError
from seqloom.infer._kinds import (
    BUILT_IN_KINDS,
    Files,
    Given,
    Kind,
    find_files_kind,
    is_path,
)
from seqloom.models._examples import check_examples

# The attributes of records (seqloom, Biopython) that contain the sequence.
_SEQUENCE_ATTRIBUTES = ("sequence", "seq")
_MAX_SHOWN_CHARACTERS = 20  # maximum number of characters of a sequence in a message
# Command-line options that are also arguments of `SequenceDataset`.
_READING_OPTIONS = frozenset(
    {"whitespace", "comments", "ids", "quality", "sequence_column", "id_from_header"}
)


# Sequences


def _open_sequences(
    data: Any, *, labels: Any, encoder: Any = None, augment: Any = None, **reading: Any
) -> Dataset:
    """Open sequence files, tables of sequences, or sequences in memory as a dataset."""
    is_word = isinstance(data, str) and data.isascii() and data.isalpha()
    if is_word and not Path(data).exists():
        end = '..."]' if len(data) > _MAX_SHOWN_CHARACTERS else '"]'
        raise MissingFileError(
            f"{data}: no such file; pass a single sequence as a list: "
            f'["{data[:_MAX_SHOWN_CHARACTERS]}{end}'
        )
    if not is_path(data) and Frame.of(data) is None:
        data = _require_files_or_sequences(data)
    if isinstance(labels, Labels) and labels.id_column is not None:
        # The id column of the table of labels is also the id column of a table of
        # sequences.
        reading["id_column"] = labels.id_column
    return SequenceDataset(data, labels=labels, encoder=encoder, augment=augment, **reading)


def _require_files_or_sequences(data: Any) -> Any:
    """Raise if data are neither files nor sequences; convert an iterator to a list."""
    if isinstance(data, Mapping):
        return data  # pyright: ignore[reportUnknownVariableType]
    if hasattr(data, "dataset") or hasattr(data, "shard"):
        check_examples("data", data)
    found: list[Any] = list(data) if hasattr(data, "__iter__") else [None]
    if not all(map(_can_be_sequence, found)):
        raise ArgumentError(
            "data must be a file, an open file, several files, sequences (list, dict or "
            f"data frame), or a dataset with the model's encoder, got {quote(data)}"
        )
    return data if hasattr(data, "__len__") else found


def _can_be_sequence(row: Any) -> bool:
    """Return whether an element of a list may be a file or a sequence."""
    is_bytes = getattr(getattr(row, "dtype", None), "itemsize", 0) == 1
    has_letters = any(hasattr(row, name) for name in _SEQUENCE_ATTRIBUTES)
    is_row = isinstance(row, (bytes, bytearray, Mapping, tuple, list)) or is_path(row)
    return is_row or is_bytes or has_letters


def _find_alphabet(
    files: Files, *, symbols: str = "strip_terminal_stop", **options: Any
) -> str:
    """Infer the alphabet from all residues of sequence files."""
    names = ("sequence_column", "comments", "whitespace", "ids")
    reading = {name: options[name] for name in names if name in options}
    return guess_alphabet(files, symbols=symbols, **reading)


def _are_tables(files: Files, *, sequence_column: str = "sequence", **_: Any) -> bool:
    """Return whether all files are tables of sequences."""
    return all(is_sequence_table(file, sequence_column) for file in files)


BUILT_IN_KINDS.append(
    Kind(
        name="sequences",
        open=_open_sequences,
        recognises=lambda _: False,  # used for files that no other kind recognises
        options=_READING_OPTIONS,
        can_finetune=True,
        other_options=frozenset({"label_from_header", "label_from_file"}),
        find_alphabet=_find_alphabet,
        reads_tables=True,
        has_labels=_are_tables,
    )
)


# Intervals of a genome


def _open_intervals(
    files: Files,
    *,
    intervals: Sequence[Path],
    labels: Any,
    length: int | None = None,
    ignore_strand: bool = False,
    **settings: Any,
) -> Dataset:
    """Open a dataset of genome intervals, with labels from a table or the BED file."""
    table = read_intervals(intervals)
    data = IntervalDataset(
        files[0],
        table,
        labels=_choose_labels(labels, table) if labels else None,
        width=length,
        strand=not ignore_strand,
        **settings,
    )
    _reject_conflicting_classes(table.what, data)
    return data


def _choose_labels(labels: Labels, intervals: Intervals) -> Labels:
    """Use columns of the BED file as labels if no table of labels is given."""
    if labels.source == "file" and "file" in intervals.columns:
        raise LabelError(
            f"{intervals.what}: its column 'file' conflicts with --label-from-file: "
            "give --label-column file instead, or rename the column"
        )
    if labels.source is not None:
        return labels
    if labels.id_column:
        raise ArgumentError(
            "--id-column is a column of --labels TABLE: also give --labels TABLE"
        )
    columns = tuple(labels.label_column or ("label",))
    missing = [name for name in columns if name not in intervals.columns]
    if not missing:
        return replace(labels, source=columns)
    known = f"; it has {format_column_names(intervals.columns)}"
    known += f"{suggest_name(missing[0], intervals.columns)}: give one as "
    known += "--label-column, or"
    raise LabelError(
        f"{intervals.what}: has no column {missing[0]!r} for the labels"
        f"{known if intervals.columns else ': give'} --labels TABLE, or "
        "--label-from-file where each file is one class"
    )


def _reject_conflicting_classes(what: str, data: Dataset) -> None:
    """Raise if an interval is listed twice with different classes."""
    if data.task != "classify" or data.labels is None:
        return
    first: dict[str, int] = {}
    labels: list[int] = data.labels.tolist()
    pairs = zip(data.ids, labels, strict=True)
    conflicts = [
        (id_, label) for id_, label in pairs if first.setdefault(id_, label) != label
    ]
    if conflicts:
        name, label = conflicts[0]
        one, other = data.classes[first[name]], data.classes[label]
        raise LabelError(
            f"{what}: intervals listed with two different classes: {len(conflicts):,}, "
            f"such as {name}, as {one!r} and as {other!r}; keep one line for each interval"
        )


def _check_genome(files: Files, given: Given) -> None:
    """Raise unless the input is a single FASTA file, the genome."""
    if len(files) != 1:
        raise ArgumentError(
            f"--intervals needs one genome file, got {len(files)} files: join them first; "
            "pass files of intervals after --intervals"
        )
    if not find_files_kind(files).has_letters:
        raise ArgumentError(
            f"{files[0]}: is not a genome in FASTA; give the genome first, as in "
            f"GENOME.fa --intervals {files[0]}; got --intervals {given['intervals'][0]}"
        )


_CONVERT_ADVICE = "not with --intervals: clean the genome first, with seqloom convert"

BUILT_IN_KINDS.append(
    Kind(
        name="intervals",
        open=_open_intervals,
        recognises=lambda _: False,
        options=frozenset({"intervals", "length", "edge", "ignore_strand", "jitter"}),
        other_options=frozenset({"label_from_file"}),
        by_option="intervals",
        refusals={
            **dict.fromkeys(_READING_OPTIONS, _CONVERT_ADVICE),
            "label_from_header": (
                "not with --intervals; give --label-column, a column of the intervals"
            ),
        },
        check_files=_check_genome,
        find_alphabet=_find_alphabet,
        has_labels=lambda *_, **__: True,
        has_chromosomes=True,
    )
)
