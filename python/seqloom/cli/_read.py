"""From files and label options to datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._options import DataOptions, LabelOptions

if TYPE_CHECKING:
    from seqloom.data import SequenceDataset


def read_training(
    console: Console, files: Sequence[Path], options: DataOptions
) -> "SequenceDataset":
    """Reads the training files, and says what they are and what was left out."""
    from seqloom.data import SequenceDataset, guess_alphabet
    from seqloom.encode import OneHot

    alphabet = options.alphabet
    if alphabet == "auto":
        alphabet = guess_alphabet(files)
        console.print(f"alphabet {alphabet}, by all letters of the training files")
    data = SequenceDataset(
        files, encoder=OneHot(alphabet), task=options.task, **options.to_keywords()
    )
    console.print(str(data))
    for line in _left_out(data.report):
        console.print(line)
    return data


def read_like(
    model: Any, files: Sequence[Path], options: LabelOptions
) -> "SequenceDataset":
    """Reads more files as a dataset, or a trained model, reads its own."""
    from seqloom.data import SequenceDataset

    task = getattr(model.task, "name", model.task)
    columns = model.classes if task == "regress" else ("label",)
    return SequenceDataset(
        files,
        encoder=model.encoder,
        classes=model.classes,
        task=task,
        **options.to_keywords(columns=columns),
    )


def _left_out(report: dict[str, Any]) -> list[str]:
    """Says what has no partner, with examples."""
    kinds = {
        "unlabelled": "sequences without a label are left out",
        "labels_without_sequence": "labels belong to no sequence of these files",
    }
    return [
        f"{report[kind]:,} {words}: {', '.join(report[f'{kind}_examples'])}"
        for kind, words in kinds.items()
        if report.get(kind)
    ]
