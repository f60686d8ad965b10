"""Which sequence has which label, and what is left over."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._warning import warn_user
from seqloom.data.label._cells import MISSING
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.data._records import Records
    from seqloom.data.label._labels import Labels
    from seqloom.data.label._source import Source

_EXAMPLES = 3
_CODE = re.compile(r"-9+(\.0+)?")


@dataclass(frozen=True, slots=True)
class JoinedLabels:
    """Which sequences have a label."""

    kept: NDArray[np.int64]  # positions of sequences with a label
    unmatched: tuple[str, ...]  # ids of labels without a sequence
    report: dict[str, Any]  # what was left out


def join(
    source: Source,
    keys: list[str],
    ids: list[str],
    *,
    noun: str | None,  # what labels may be left without; None: they are one for each
    skip: bool,
    refuse: Callable[[list[int]], LabelError],
    left: tuple[str, ...] | None = None,
) -> JoinedLabels:
    """Finds which records, intervals or samples have a label, each by its key."""
    has_label = np.array([key in source.cells for key in keys], np.bool_)
    bare: list[int] = np.flatnonzero(~has_label).tolist()
    if bare and not (skip and has_label.any()):
        raise refuse(bare)
    report, kept = (
        count_ids("unlabelled", [ids[i] for i in bare]),
        np.flatnonzero(has_label),
    )
    if noun is None:
        return JoinedLabels(kept, (), report)
    if left is None:
        known = set(keys)
        left = tuple([key for key in source.cells if key not in known])
    return JoinedLabels(kept, left, report | count_ids(f"labels_without_{noun}", left))


def count_ids(name: str, ids: Sequence[str]) -> dict[str, Any]:
    """Counts ids, with examples."""
    return {name: len(ids), f"{name}_examples": list(ids[:_EXAMPLES])}


def join_records(
    records: Records, ids: list[str], source: Source, *, skip: bool
) -> tuple[JoinedLabels, list[str]]:
    """Finds the sequences that have a label, and their keys: ids, or their numbers."""
    if not source.is_each:
        _check_distinct(records, ids)
    # The cells of a table have no blanks at their ends, a header may end in one of Unicode.
    keys = [name if name in source.cells else name.strip() for name in ids]
    keys = list(map(str, range(len(ids)))) if source.is_each else keys

    def refuse(bare: list[int]) -> LabelError:
        return _unlabelled_error(records, ids, source, bare=bare, key=keys[bare[0]])

    noun = None if source.is_each else "sequence"
    return join(source, keys, ids, noun=noun, skip=skip, refuse=refuse), keys


def drop_missing(source: Source, labels: Labels) -> Source:
    """Sets labels aside that say nothing; a name among the classes is a class."""
    marks = {"", *(labels.missing or ())} - set(labels.classes or ())
    task = labels.task
    is_multilabel = task == "multilabel" or (task == "auto" and source.is_of_lists)
    if is_multilabel and len(source.names) == 1:
        marks.discard("")
    lost = {key: row for key, row in source.cells.items() if not marks.isdisjoint(row)}
    cells = {key: row for key, row in source.cells.items() if key not in lost}
    if len(source.names) == 1 and not is_multilabel:
        _warn_of_codes(
            source.what, {cell for row in cells.values() for cell in row}, labels
        )
    if not lost:
        return source
    return replace(source, cells=cells, missing={**source.missing, **lost})


def _warn_of_codes(what: str, cells: set[str], labels: Labels) -> None:
    """Warn if the only negative number among labels is a usual code of a missing value."""
    negative = [cell for cell in cells if cell.startswith("-")]
    codes = [cell for cell in negative if _CODE.fullmatch(cell)]
    is_single = len(negative) == 1 and len(cells) > len(negative)
    if is_single and codes and not set(codes) & set(labels.classes or ()):
        warn_user(
            f"{what}: the label {codes[0]!r} looks like a code of a missing value and is "
            f"read as a label; to leave its records out, pass missing=['', {codes[0]!r}], "
            f'unlabelled="skip" (--missing {codes[0]} --unlabelled skip)',
        )


def missing_note(source: Source, name: str) -> str:
    """Says why a label that is written somewhere is none, and how to keep it."""
    cells = source.missing.get(name)
    if cells is None:
        return ""
    if "" in cells:
        return f" ({source.locate(name)}: the label is empty)"
    mark = next((cell for cell in cells if cell in MISSING), cells[0])
    return (
        f" ({source.locate(name)}: {mark!r} is read as missing; where it is a class, name "
        "other marks with missing= (--missing))"
    )


def _check_distinct(records: Records, ids: list[str]) -> None:
    """Refuses an id of two sequences: a label would be ambiguous."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for i, name in enumerate(ids):
        if (before := first.setdefault(name, i)) != i:
            positions = [records.locate(at) for at in (before, i)]
            where = " and ".join(f"record {record} of {path}" for path, record in positions)
            raise LabelError(f"id {name!r} occurs twice: {where}; labels need distinct ids")


def _unlabelled_error(
    records: Records, ids: list[str], source: Source, *, bare: list[int], key: str
) -> LabelError:
    """Says which sequences have no label."""
    names = ", ".join(ids[i] for i in bare[:_EXAMPLES])
    more = ", ..." if len(bare) > _EXAMPLES else ""
    alike = (
        "" if source.is_each else _blank_note(source, key) or _spelling_note(source, key)
    )
    way_out = '; leave them out with unlabelled="skip" (--unlabelled skip)'
    if len(bare) == len(ids):
        note = _part_note(source, ids) or _other_ids(source)
        way_out = "" if alike else source.note(bare[0]) or note
    elif source.found is not None:
        way_out = source.note(bare[0]) + way_out
    return LabelError(
        f"{records.locate(bare[0])[0]}: {len(bare):,} of {len(ids):,} sequences have no "
        f"label in {source.what}: {names}{more}{missing_note(source, key)}{alike}{way_out}"
    )


def _other_ids(source: Source) -> str:
    """Shows ids of the labels, where none of them is that of a sequence."""
    if not source.cells:
        return "; nothing was found there"
    found = ", ".join(map(repr, list(source.cells)[:_EXAMPLES]))
    if source.is_of_index:
        return (
            f"; its index has {found}, ...: for labels in the order of the sequences give "
            "labels.to_numpy()"
        )
    return f"; their ids are {found}, ...: id_column= (--id-column) names another column"


def _part_note(source: Source, ids: list[str]) -> str:
    """Describes how to cut ids where the labels have a part of them, as accessions."""
    parts = ids[0].split("|")
    at = next((at for at, part in enumerate(parts) if at and part in source.cells), None)
    if at is None:
        return ""
    pattern = (
        r"\|(.+?)\|" if at == 1 and len(parts) > at + 1 else rf"(?:.*?\|){{{at}}}([^|\s]+)"
    )
    return (
        f"; the labels have {parts[at]!r} for {ids[0]!r}: pass id_from_header="
        f"r'{pattern}' (--id-from-header '{pattern}')"
    )


def _blank_note(source: Source, name: str) -> str:
    """Says that an id ends at its first blank, where a label is by more than that."""
    whole = next((key for key in source.cells if key.split(None, 1)[:1] == [name]), None)
    if whole in {None, name}:
        return ""
    return (
        f" (the labels have {whole!r}, but an id is the first word alone: write that word "
        "in the labels)"
    )


def _spelling_note(source: Source, name: str) -> str:
    """Says that an id is written with a mark of FASTA or FASTQ, or other capitals."""
    headers = (key for key in source.cells if key.startswith((">", "@")))
    marked = next((key for key in headers if key[1:].split(None, 1)[:1] == [name]), None)
    if marked is not None:
        return (
            f" (the labels have {marked!r}: write {name!r} there, because {marked[0]!r} "
            "begins a header and is no part of the id)"
        )
    folded = name.casefold()
    other = next((key for key in source.cells if key.casefold() == folded), None)
    if other is None:
        return ""
    return (
        f" (the labels have {other!r}, which differs in capitals: write ids in the labels "
        "as the sequences do)"
    )
