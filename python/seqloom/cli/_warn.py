"""What is allowed, but seldom meant: a line each."""

import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from seqloom.cli._intervals import are_intervals, count_overlaps
from seqloom.cli._options import PartOptions
from seqloom.cli._parts import DataPart
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from seqloom.cli._read import Whole
    from seqloom.models import Trained
    from seqloom.models._trained_on import TrainedOn

_EXAMPLES = 3
_LOOKED_AT = 1000  # records that tell what sequences are made of


def warn_of_files(console: Console, files: Sequence[Path], parts: PartOptions) -> None:
    """Says which files are to teach and to choose or to judge."""
    for option, others in (("--valid", parts.valid), ("--test", parts.test)):
        for other in _find_same_files(files, others):
            console.print(
                f"warning: {option} {other} is a training file too; "
                "what it says of the model is too good"
            )


def warn_of_classes(console: Console, whole: "Whole") -> None:
    """Says which classes look like names, are of one record, or look like each other."""
    if whole.task != "classify":
        return
    classes, records = len(whole.classes), len(whole)
    noun = getattr(whole, "noun", "sequences")
    if 2 * classes > records:
        console.print(
            f"warning: {classes:,} classes for {records:,} {noun}: hardly any two "
            "share one; numbers need --task regress, another column --label-column"
        )
    else:
        _warn_of_single_records(console, whole.class_counts, noun.removesuffix("s"))
    _warn_of_similar_names(console, whole.classes)
    _warn_of_several_labels(console, whole, noun)


def _warn_of_several_labels(console: Console, whole: Any, noun: str) -> None:
    """Says how many sequences stand in several classes."""
    from seqloom.data._items import hash_letters

    if (hashes := hash_letters(whole)) is None or whole.labels is None:
        return
    labels = np.asarray(whole.labels)
    order = np.lexsort((labels, hashes))
    hashes, labels = hashes[order], labels[order]
    differs = np.flatnonzero((hashes[1:] == hashes[:-1]) & (labels[1:] != labels[:-1]))
    if differs.size:
        pair = order[differs[0] : differs[0] + 2].tolist()
        count = len(np.unique(hashes[differs]))
        verb = f"{noun} stand" if count > 1 else f"{noun.removesuffix('s')} stands"
        console.print(
            f"warning: {count:,} {verb} in more than one class, such as "
            f"{_record(whole, pair[0])} and {_record(whole, pair[1])}, which have the same "
            "letters: no model can tell them apart"
        )


def _record(whole: Any, row: int) -> str:
    """Names a record and its class."""
    return f"{whole.ids[row]!r} ({whole.classes[int(whole.labels[row])]})"


def _warn_of_single_records(console: Console, counts: Mapping[str, int], noun: str) -> None:
    """Says which classes have one record, which cannot both teach and judge."""
    if single := [name for name, count in counts.items() if count == 1]:
        each = "each of " if len(single) > 1 else ""
        console.print(
            f"warning: {each}{_list(single)} has a single {noun}, which cannot both teach "
            f"and judge: correct the label where it is a slip, or add {noun}s of the class"
        )


def _warn_of_similar_names(console: Console, classes: Sequence[str]) -> None:
    """Says which classes are told apart by capitals or blanks alone."""
    spellings: dict[str, list[str]] = {}
    for name in classes:
        spellings.setdefault("".join(name.split()).casefold(), []).append(name)
    for names in spellings.values():
        if len(names) > 1:
            console.print(
                f"warning: {_list(names)} differ in capitals or blanks only and are read "
                "as several classes: write them alike in the labels if one is meant"
            )


def _list(names: Sequence[str]) -> str:
    """Lists classes, the first of them where there are many."""
    shown = ", ".join(map(repr, names[:_EXAMPLES]))
    more = ", ..." if len(names) > _EXAMPLES else ""
    return f"the class{'es' if len(names) > 1 else ''} {shown}{more}"


def warn_of_part(console: Console, part: DataPart) -> None:
    """Says which classes are asked for, but not taught."""
    if part.valid is None or part.train.task != "classify":
        return
    taught, asked = part.train.class_counts, part.valid.class_counts
    where = f"{part.title}: " if part.title else ""
    if untaught := [name for name in asked if asked[name] and not taught.get(name)]:
        console.print(
            f"warning: {where}the validation part has {_list(untaught)}, but the training "
            "part has no record of it to learn from"
        )


def warn_of_overlaps(console: Console, part: DataPart, test: "Whole | None") -> None:
    """Says how many parts of a genome judge a model that has seen letters of them."""
    if not are_intervals(part.train):
        return
    for name, other in (("validation", part.valid), ("test", test)):
        count = 0 if other is None else count_overlaps(part.train, other)
        if count:
            console.print(
                f"warning: {count:,} of {len(other or ()):,} {name} intervals overlap "
                "training intervals, so that what they say of the model is too good; "
                f"--{name.removesuffix('ation')}-chromosomes keeps them apart"
            )


@contextmanager
def telling(console: Console) -> Generator[None]:
    """Prints what the library warns of, a line each, when the block ends."""
    found: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", UserWarning)
            yield
    finally:
        for each in found:
            _tell(console, each)


def _tell(console: Console, each: warnings.WarningMessage) -> None:
    """Prints a warning for users; what is for programmers goes on as Python shows it."""
    if issubclass(each.category, UserWarning):
        console.print(f"warning: {each.message}")
        return
    where = each.filename, each.lineno
    warnings.warn_explicit(each.message, each.category, *where, source=each.source)


def warn_of_lengths(console: Console, trained: Any, data: Any) -> None:
    """Says how many records are of lengths that the model has not seen."""
    known: TrainedOn | None = getattr(trained, "trained_on", None)  # an export has none
    if known is not None and (strange := known.describe_strange_lengths(data)):
        console.print(f"warning: {strange}")


def warn_of_alphabet(console: Console, trained: "Trained", data: Any) -> None:
    """Says that sequences look like DNA or RNA, where a model reads proteins."""
    from seqloom.data._items import letters_of

    if getattr(trained.encoder, "alphabet", None) != "protein":
        return
    letters = letters_of(data, np.arange(min(len(data), _LOOKED_AT)))
    found = _guess(b"".join(letters or ()))
    if found in {"dna", "rna"}:
        console.print(
            f"warning: the sequences look like {found}, but the model was trained on "
            "protein: such scores mean nothing; translate the sequences first"
        )


def _guess(letters: bytes) -> str | None:
    """Tells what letters are of; None where they are too few to tell."""
    from seqloom.io._tally import find_alphabet

    try:
        return find_alphabet(np.bincount(np.frombuffer(letters, np.uint8), minlength=256))
    except ArgumentError:
        return None


def warn_of_judges(
    console: Console, trained: "Trained", data: Any, *, files: Sequence[Path]
) -> None:
    """Says what is wrong with files that judge a model, such as that they taught it."""
    warn_of_alphabet(console, trained, data)
    known = trained.trained_on
    for file in () if known is None else known.find_again(files):
        console.print(
            f"warning: the model was trained on {file}; what this says of the model is "
            "too good: give files that it has not seen"
        )


def _find_same_files(files: Sequence[Path], others: Sequence[Path]) -> Iterator[Path]:
    """Finds the others that are one of the files."""
    yield from (other for other in others if any(other.samefile(file) for file in files))
