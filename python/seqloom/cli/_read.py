"""From files and label options to datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._options import DataOptions, LabelOptions

if TYPE_CHECKING:
    from seqloom.data import SequenceDataset

EXAMPLES = 3


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


def show_left_out(console: Console, *datasets: "SequenceDataset") -> None:
    """Says what has no partner; a label table may serve several of the datasets."""
    reports = [data.report for data in datasets if data.report]
    if bare := sum(report["unlabelled"] for report in reports):
        names = [name for report in reports for name in report["unlabelled_examples"]]
        console.print(f"sequences left out, without a label: {_spell(bare, names)}")
    first, *others = (data.unmatched for data in datasets)
    if lost := set(first).intersection(*others):
        names = [name for name in first if name in lost]
        spelled = _spell(len(lost), names)
        console.print(f"labels without a sequence in these files: {spelled}")


def _spell(number: int, names: Sequence[str]) -> str:
    """Spells how many there are, with examples."""
    return f"{number:,} ({', '.join(names[:EXAMPLES])})"
