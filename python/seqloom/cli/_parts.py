"""Which records teach, and which choose the epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.cli._intervals import hold_out
from seqloom.cli._options import PartOptions

if TYPE_CHECKING:
    from seqloom.data import Dataset

DEFAULT_SHARE = 0.1
# So many different sequences for each part are enough to keep equal ones together.
_FEWEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPart:
    """Holds what one run learns from, chooses by and writes to."""

    train: "Dataset"
    valid: "Dataset | None"
    folder: Path
    title: str = ""


def parts_of(
    whole: "Dataset",
    valid: "Dataset | None",
    options: PartOptions,
    *,
    folder: Path,
    seed: int,
    groups: Any = None,
) -> Iterator[DataPart]:
    """Gives the one run to make, or one for each fold, in a folder of its own."""
    settings: Any = {"folder": folder, "seed": seed, "groups": groups}
    if options.folds is not None:
        yield from _folds(whole, options.folds, **settings)
    elif valid is not None:
        yield DataPart(train=whole, valid=valid, folder=folder)
    elif names := options.valid_chromosomes:
        train, held = hold_out(whole, names, "--valid-chromosomes")
        yield DataPart(train=train, valid=held, folder=folder)
    else:
        yield _cut(whole, options.valid_share, **settings)


def _folds(
    whole: "Dataset", k: int, *, folder: Path, seed: int, groups: Any
) -> Iterator[DataPart]:
    """Leaves each part out once."""
    from seqloom.data import folds

    groups = _equal_sequences(whole, k) if groups is None else groups
    pairs = folds(whole, k, groups=groups, seed=seed)
    for number, (train, valid) in enumerate(pairs, start=1):
        title = f"fold {number} of {k}"
        yield DataPart(
            train=train, valid=valid, folder=folder / f"fold-{number}", title=title
        )


def _cut(
    whole: "Dataset", share: float | None, *, folder: Path, seed: int, groups: Any
) -> DataPart:
    """Cuts the validation share off; a share of 0 leaves nothing to choose by."""
    from seqloom.data import split

    share = DEFAULT_SHARE if share is None else share
    if not share:
        return DataPart(train=whole, valid=None, folder=folder)
    groups = _equal_sequences(whole, 2) if groups is None else groups
    train, valid = split(whole, (1 - share, share), groups=groups, seed=seed)
    return DataPart(train=train, valid=valid, folder=folder)


def _equal_sequences(whole: "Dataset", parts: int) -> str | None:
    """Keeps equal sequences in one part, where there are any, and enough of others."""
    from seqloom.data._parts import hash_letters

    hashes = hash_letters(whole)
    distinct = 0 if hashes is None else len(np.unique(hashes))
    return "sequence" if _FEWEST * parts <= distinct < len(whole) else None
