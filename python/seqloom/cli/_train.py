"""``seqloom train``: from files to a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from seqloom.cli._check import check_folder, check_labels, check_parts, holds_run
from seqloom.cli._console import announce, open_console
from seqloom.cli._groups import groups_of
from seqloom.cli._kinds import check_options
from seqloom.cli._network import check_network, network_for
from seqloom.cli._options import (
    DATA_DEFAULTS,
    GENOTYPE_DEFAULTS,
    LEARNING_DEFAULTS,
    LETTER_DEFAULTS,
    MACHINE_DEFAULTS,
    MOVING_DEFAULTS,
    NETWORK_DEFAULTS,
    PART_DEFAULTS,
    SHOWN_DEFAULTS,
    DataOptions,
    FolderOptions,
    GenotypeOptions,
    LearningOptions,
    LetterOptions,
    MachineOptions,
    MovingOptions,
    NetworkOptions,
    PartOptions,
    ShownOptions,
)
from seqloom.cli._parts import DataPart, parts_of
from seqloom.cli._read import read_parts, show_left_out
from seqloom.cli._recall import Keep
from seqloom.cli._show import facts_of, facts_of_folds, print_json, show_folds, show_run
from seqloom.cli._warn import (
    warn_of_classes,
    warn_of_files,
    warn_of_overlaps,
    warn_of_part,
)

if TYPE_CHECKING:
    from seqloom.data import Dataset
    from seqloom.nn import Config
    from seqloom.train import Run

Data = TypeVar("Data")


def train(
    files: list[Path],
    /,
    *,
    folder: FolderOptions,
    data: DataOptions = DATA_DEFAULTS,
    sequences: LetterOptions = LETTER_DEFAULTS,
    intervals: MovingOptions = MOVING_DEFAULTS,
    genotypes: GenotypeOptions = GENOTYPE_DEFAULTS,
    parts: PartOptions = PART_DEFAULTS,
    learning: LearningOptions = LEARNING_DEFAULTS,
    network: NetworkOptions = NETWORK_DEFAULTS,
    machine: MachineOptions = MACHINE_DEFAULTS,
    shown: ShownOptions = SHOWN_DEFAULTS,
) -> None:
    """Train a network on labelled sequences or genotypes and write a run folder.

    Example: seqloom train train.fa.gz --labels train.tsv --out runs/splice

    Genotypes: seqloom train x.bed --labels pheno.txt --label-column Y1 --out runs/y1

    Labels in the headers: --label-from-header "class=(\\w+)"

    A table of sequences and labels: seqloom train table.csv --out runs/t

    A run that was stopped goes on: seqloom train --out runs/splice --resume

    Families in one part: seqloom train a.fa --labels t.tsv --group-column family --out r

    A file for each class: seqloom train pos.fa neg.fa --label-from-file --out runs/c

    Parts of a genome: seqloom train hg.fa --intervals peaks.bed --label-column name
    --out runs/p

    Embeddings: seqloom train embeddings/ --labels t.tsv --out runs/e

    Adapters: seqloom train p.fa --labels t.tsv --finetune lora --model ESM2 --out runs/l

    Args:
        files: Sequence files, their format and compression told from the content; tables
            with a column of sequences; or a PLINK .bed with its .bim and .fam. With
            --intervals one genome.
        folder: Where the run goes.
        data: What sequences and labels are.
        sequences: How sequences are read, and what letters mean.
        intervals: Which parts of a genome are read.
        genotypes: What goes with a .bed.
        parts: Which records choose and judge.
        learning: How to learn.
        network: What the network is.
        machine: What computes.
        shown: What is printed, and how.
    """
    # With --intervals, --valid and --test name intervals in the same genome.
    all_files = files if intervals.intervals else [*files, *parts.valid, *parts.test]
    reading: Any = {
        "options": data,
        "sequences": sequences,
        "intervals": intervals,
        "genotypes": genotypes,
    }
    keep = Keep(files, *reading.values(), folder, parts, learning, network, machine)
    kind = check_options(all_files, **reading)
    check_labels(data, files, sequences=sequences, kind=kind)
    check_parts(parts, kind)
    check_network(network, kind)
    check_folder(folder)
    console = open_console(stderr=shown.json, quiet=shown.quiet)
    warnings = open_console(stderr=True) if shown.quiet else console
    announce(console, machine)
    _say_if_nothing_resumes(console, folder)
    whole, valid, test = read_parts(console, files, parts, network=network, **reading)
    show_left_out(console, whole, *_drop_absent(valid, test))
    warn_of_files(warnings, intervals.intervals or files, parts)
    warn_of_classes(warnings, whole)
    runs: list[Run] = []
    for part in parts_of(
        whole,
        valid,
        parts,
        folder=folder.out,
        seed=learning.seed,
        groups=groups_of(whole, files, parts, labels=data, sequences=sequences),
    ):
        warn_of_part(warnings, part)
        warn_of_overlaps(warnings, part, test)
        settings = learning.to_keywords(network.weight_decay, machine)
        config = network_for(network, part.train, *_drop_absent(part.valid, test))
        runs.append(
            _fit(console, part, folder, config=config, test=test, keep=keep, **settings)
        )
    _show(console, runs, shown, has_folds=bool(parts.folds))


def _say_if_nothing_resumes(console: Console, folder: FolderOptions) -> None:
    """Says that --resume finds no run, so that this one begins from the start."""
    if folder.resume and not holds_run(folder.out):
        console.print(f"{folder.out} holds no run yet: this one begins there")


def _show(
    console: Console, runs: "list[Run]", shown: ShownOptions, *, has_folds: bool
) -> None:
    """Prints the results, for a person or as JSON."""
    if shown.json:
        print_json(facts_of_folds(runs) if has_folds else facts_of(runs[0]))
    elif has_folds:
        show_folds(console, runs)
    else:
        show_run(console, runs[0])


def _fit(
    console: Console,
    part: DataPart,
    folder: FolderOptions,
    *,
    config: "Config",
    test: "Dataset | None",
    keep: Keep,
    **settings: Any,
) -> "Run":
    """Trains one network, and shows its progress."""
    from seqloom.train import fit
    from seqloom.train._watch import Watch

    if part.title:
        console.line()
        console.print(part.title)
    with Watch(console) as watch:
        return fit(
            config,
            part.train,
            part.valid,
            test=test,
            progress=watch,
            callbacks=[keep],
            **folder.to_keywords(part.folder),
            **settings,
        )


def _drop_absent(*parts: Data | None) -> list[Data]:
    """Leaves out the parts that are None."""
    return [part for part in parts if part is not None]
