"""From files and label options to datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._options import DataOptions, LabelOptions

if TYPE_CHECKING:
    from seqloom.data import SequenceDataset

# What a dataset's report counts, in words.
LEFT_OUT = {
    "unlabelled": "sequences without a label are left out",
    "labels_without_sequence": "labels belong to no sequence of these files",
}


def read_training(
    console: Console, files: Sequence[Path], options: DataOptions
) -> "SequenceDataset":
    """Reads the training files and says what they are."""
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


def show_left_out(console: Console, data: "SequenceDataset", *, is_alone: bool) -> None:
    """Says what has no partner, with examples; tables may serve other files, too."""
    for kind, words in LEFT_OUT.items():
        number = data.report.get(kind)
        if number and (is_alone or kind == "unlabelled"):
            examples = ", ".join(data.report[f"{kind}_examples"])
            console.print(f"{number:,} {words}: {examples}")
