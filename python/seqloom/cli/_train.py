"""``seqloom train``: from files to a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from seqloom.cli._check import check_folder, check_labels, check_parts, holds_run
from seqloom.cli._genotypes import check_options
from seqloom.cli._machine import announce, open_console
from seqloom.cli._options import (
    DATA_DEFAULTS,
    GENOTYPE_DEFAULTS,
    LEARNING_DEFAULTS,
    MACHINE_DEFAULTS,
    PART_DEFAULTS,
    DataOptions,
    FolderOptions,
    GenotypeOptions,
    LearningOptions,
    MachineOptions,
    PartOptions,
)
from seqloom.cli._parts import Part, parts_of
from seqloom.cli._read import read_like, read_training, show_left_out
from seqloom.cli._show import show_folds, show_run
from seqloom.cli._warn import warn_of_classes, warn_of_files, warn_of_part

if TYPE_CHECKING:
    from seqloom.data import GenotypeDataset, SequenceDataset, Subset
    from seqloom.nn import Config
    from seqloom.train import Run

    Records = SequenceDataset | GenotypeDataset | Subset

Data = TypeVar("Data")


def train(
    files: list[Path],
    /,
    *,
    folder: FolderOptions,
    data: DataOptions = DATA_DEFAULTS,
    genotypes: GenotypeOptions = GENOTYPE_DEFAULTS,
    parts: PartOptions = PART_DEFAULTS,
    learning: LearningOptions = LEARNING_DEFAULTS,
    machine: MachineOptions = MACHINE_DEFAULTS,
) -> None:
    """Train a network on labelled sequences or genotypes and write a run folder.

    Example: seqloom train train.fa.gz --labels train.tsv --out runs/splice

    Genotypes: seqloom train x.bed --labels pheno.txt --label-column Y1 --out runs/y1

    Labels in the headers: --label-from-header "class=(\\w+)"

    Args:
        files: Sequence files, their format and compression told from the content; or a
            PLINK .bed with its .bim and .fam.
        folder: Where the run goes.
        data: What sequences and labels are.
        genotypes: What goes with a .bed.
        parts: Which records choose and judge.
        learning: How to learn.
        machine: What computes.
    """
    check_options([*files, *parts.valid, *parts.test], data, genotypes)
    check_labels(data, files)
    check_parts(parts)
    check_folder(folder)
    console = open_console()
    announce(console, machine)
    if folder.resume and not holds_run(folder.out):
        console.print(f"{folder.out} holds no run yet: this one begins there")
    whole = read_training(console, files, options=data, genotypes=genotypes)
    valid, test = (
        read_like(console, whole, others, options=data, genotypes=genotypes)
        if others
        else None
        for others in (parts.valid, parts.test)
    )
    show_left_out(console, whole, *_given(valid, test))
    warn_of_files(console, files, parts)
    warn_of_classes(console, whole)
    runs: list[Run] = []
    for part in parts_of(whole, valid, parts, folder=folder.out, seed=learning.seed):
        settings = learning.to_keywords() | machine.to_keywords()
        runs.append(_fit(console, part, folder, test=test, **settings))
    if parts.folds:
        show_folds(console, runs)
    else:
        show_run(console, runs[0])


def _fit(
    console: Console,
    part: Part,
    folder: FolderOptions,
    *,
    test: "Records | None",
    **settings: Any,
) -> "Run":
    """Trains once, watched."""
    from seqloom.train import fit
    from seqloom.train._watch import Watch

    if part.title:
        console.line()
        console.print(part.title)
    warn_of_part(console, part)
    with Watch(console) as watch:
        return fit(
            _network_for(part.train, *_given(part.valid, test)),
            part.train,
            part.valid,
            test=test,
            out=part.folder,
            resume=folder.resume,
            overwrite=folder.overwrite,
            progress=watch,
            **settings,
        )


def _network_for(train: "Records", *others: "Records") -> "Config":
    """Chooses the network that reads such records."""
    from seqloom.data import GenotypeEncoder
    from seqloom.models import GenotypeMLPConfig, SequenceCNNConfig

    if isinstance(train.encoder, GenotypeEncoder):
        return GenotypeMLPConfig.for_data(train)
    return SequenceCNNConfig.for_data(train, *others)


def _given(*parts: Data | None) -> list[Data]:
    """Leaves out the parts that there are none of."""
    return [part for part in parts if part is not None]
