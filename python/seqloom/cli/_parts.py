"""Which records teach, and which choose the epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.cli._intervals import hold_out
from seqloom.cli._options import PartOptions

if TYPE_CHECKING:
    from seqloom.cli._read import Whole

DEFAULT_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPart:
    """Holds what one run learns from, chooses by and writes to."""

    train: "Whole"
    valid: "Whole | None"
    folder: Path
    title: str = ""


def parts_of(
    whole: "Whole",
    valid: "Whole | None",
    options: PartOptions,
    *,
    folder: Path,
    seed: int,
) -> Iterator[DataPart]:
    """Gives the one run to make, or one for each fold, in a folder of its own."""
    if options.folds is not None:
        yield from _folds(whole, options.folds, folder=folder, seed=seed)
    elif valid is not None:
        yield DataPart(train=whole, valid=valid, folder=folder)
    elif names := options.valid_chromosomes:
        train, held = hold_out(whole, names, "--valid-chromosomes")
        yield DataPart(train=train, valid=held, folder=folder)
    else:
        yield _cut(whole, options.valid_share, folder=folder, seed=seed)


def _folds(whole: "Whole", k: int, *, folder: Path, seed: int) -> Iterator[DataPart]:
    """Leaves each part out once."""
    from seqloom.data import folds

    for number, (train, valid) in enumerate(folds(whole, k, seed=seed), start=1):
        title = f"fold {number} of {k}"
        yield DataPart(
            train=train, valid=valid, folder=folder / f"fold-{number}", title=title
        )


def _cut(whole: "Whole", share: float | None, *, folder: Path, seed: int) -> DataPart:
    """Cuts the validation share off; a share of 0 leaves nothing to choose by."""
    from seqloom.data import split

    share = DEFAULT_SHARE if share is None else share
    if not share:
        return DataPart(train=whole, valid=None, folder=folder)
    train, valid = split(whole, (1 - share, share), seed=seed)
    return DataPart(train=train, valid=valid, folder=folder)
