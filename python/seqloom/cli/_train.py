"""``seqloom train``: from files to a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from seqloom.cli._check import check_folder, check_labels, check_parts
from seqloom.cli._machine import announce, open_console
from seqloom.cli._options import (
    DATA_DEFAULTS,
    LEARNING_DEFAULTS,
    MACHINE_DEFAULTS,
    PART_DEFAULTS,
    DataOptions,
    FolderOptions,
    LearningOptions,
    MachineOptions,
    PartOptions,
)
from seqloom.cli._parts import Part, parts_of
from seqloom.cli._read import read_like, read_training, show_left_out
from seqloom.cli._show import show_folds, show_run
from seqloom.cli._watch import Watch

if TYPE_CHECKING:
    from seqloom.train import Run


def train(
    files: list[Path],
    /,
    *,
    folder: FolderOptions,
    data: DataOptions = DATA_DEFAULTS,
    parts: PartOptions = PART_DEFAULTS,
    learning: LearningOptions = LEARNING_DEFAULTS,
    machine: MachineOptions = MACHINE_DEFAULTS,
) -> None:
    """Train a network on labelled sequences and write a run folder.

    Example: seqloom train train.fa.gz --labels train.tsv --out runs/splice

    Labels in the headers: --label-from-header "class=(\\w+)"

    Args:
        files: Sequence files; format and compression are told from their content.
        folder: Where the run goes.
        data: What sequences and labels are.
        parts: Which sequences choose and judge.
        learning: How to learn.
        machine: What computes.
    """
    check_labels(data)
    check_parts(parts)
    check_folder(folder)
    console = open_console()
    announce(console, machine)
    whole = read_training(console, files, data)
    show_left_out(console, whole, is_alone=not (parts.valid or parts.test))
    test = read_like(whole, parts.test, data) if parts.test else None
    runs: list[Run] = []
    for part in parts_of(whole, parts, data, folder=folder.out, seed=learning.seed):
        settings = learning.to_keywords() | machine.to_keywords()
        runs.append(_fit(console, part, folder, **settings, test=test))
    if parts.folds:
        show_folds(console, runs)
    else:
        show_run(console, runs[0])


def _fit(console: Console, part: Part, folder: FolderOptions, **settings: Any) -> "Run":
    """Trains once, watched."""
    from seqloom.models import SequenceCNNConfig
    from seqloom.train import fit

    if part.title:
        console.print(part.title)
    with Watch(console) as watch:
        return fit(
            SequenceCNNConfig.for_data(part.train),
            part.train,
            part.valid,
            out=part.folder,
            resume=folder.resume,
            overwrite=folder.overwrite,
            progress=watch,
            **settings,
        )
