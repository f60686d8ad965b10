"""``seqloom train``: train on files and write a run folder."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console

from seqloom import optim
from seqloom.cli._console import open_console, print_setup
from seqloom.cli._network import (
    NetworkOptions,
    check_network,
    select_encoding,
    select_network,
)
from seqloom.cli._options import (
    FURTHER_GROUP,
    GENOTYPE_GROUP,
    INTERVAL_GROUP,
    LABEL_GROUP,
    MACHINE_GROUP,
    NETWORK_GROUP,
    OUTPUT_GROUP,
    RUN_GROUP,
    SEQUENCE_GROUP,
    SPLIT_GROUP,
    TRAINING_GROUP,
    Flag,
    FurtherOptions,
    Seed,
    takes_options,
)
from seqloom.cli._parts import (
    DataPart,
    PartOptions,
    check_parts,
    open_parts,
    read_groups,
    split_parts,
)
from seqloom.cli._read import (
    AlphabetOptions,
    CommandInputs,
    CovariateOptions,
    JitterOptions,
    LabelTables,
    changed_options,
    show_skipped,
)
from seqloom.cli._settings import OptionSaver
from seqloom.cli._show import fold_results, print_json, run_results, show_folds, show_run
from seqloom.cli._warn import (
    warn_about_classes,
    warn_about_files,
    warn_about_overlaps,
    warn_about_untrained_classes,
)
from seqloom.data import Dataset, Labels
from seqloom.data._inputs import SourceOptions
from seqloom.errors import ArgumentError
from seqloom.nn import Config
from seqloom.train import (
    Batches,
    Computation,
    Epochs,
    Objective,
    Run,
    RunFolder,
    Updates,
    fit,
)
from seqloom.train._values import DEFAULT_LR
from seqloom.train._watch import Watch

_OPTIMISER_CLASSES = {
    "adam": optim.Adam,
    "sgd": optim.SGD,
    "rmsprop": optim.RMSProp,
    "lion": optim.Lion,
    "muon": optim.Muon,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateOptions:
    """Optimiser, learning rate and seed.

    Args:
        lr: Maximum learning rate of the schedule.
        optimizer: Optimiser, with its default settings and --weight-decay.
        schedule: Learning rate schedule: warm-up and cosine decay; constant; or plateau,
            which divides the learning rate by 10 when the validation loss has not improved
            for 10 epochs.
        seed: Seed of the initial weights, the shuffling, the dropout and the split.
    """

    lr: float = DEFAULT_LR
    optimizer: Literal["adamw", "adam", "sgd", "rmsprop", "lion", "muon"] = "adamw"
    schedule: Literal["cosine", "constant", "plateau"] = "cosine"
    seed: Seed = 0

    def to_keywords(self, updates: Updates) -> dict[str, Any]:
        """Return the options as keyword arguments of `seqloom.train.fit`."""
        lr: Any = self.lr  # maximum learning rate
        if self.schedule != "cosine":
            kind = optim.Constant if self.schedule == "constant" else optim.Plateau
            lr = kind(self.lr)
        if self.optimizer != "adamw":
            decay = updates.weight_decay
            settings: dict[str, Any] = {}
            if decay is not None:
                settings["weight_decay"] = decay
            optimiser = _OPTIMISER_CLASSES[self.optimizer](**settings)
            updates = replace(updates, optimizer=optimiser, weight_decay=None)
        return {"lr": lr, "optimizer": updates, "seed": self.seed}


@takes_options(
    shown="files out resume overwrite labels label_column id_column label_from_header "
    "label_from_file task alphabet intervals length covariates valid test valid_share "
    "folds group_column epochs batch_size lr seed network finetune model backend "
    "num_threads json set config"
)
def train(
    files: list[Path],
    /,
    *,
    out: Annotated[Path, RUN_GROUP],
    resume: Annotated[Flag, RUN_GROUP] = False,
    folder: Annotated[RunFolder, RUN_GROUP],
    tables: Annotated[LabelTables, LABEL_GROUP],
    labels: Annotated[Labels, LABEL_GROUP],
    letters: Annotated[AlphabetOptions, SEQUENCE_GROUP],
    sequences: Annotated[SourceOptions, SEQUENCE_GROUP],
    intervals: Annotated[JitterOptions, INTERVAL_GROUP],
    covariates: Annotated[CovariateOptions, GENOTYPE_GROUP],
    parts: Annotated[PartOptions, SPLIT_GROUP],
    epochs: Annotated[Epochs, TRAINING_GROUP],
    batches: Annotated[Batches, TRAINING_GROUP],
    rates: Annotated[RateOptions, TRAINING_GROUP],
    updates: Annotated[Updates, TRAINING_GROUP],
    objective: Annotated[Objective, TRAINING_GROUP],
    network: Annotated[NetworkOptions, NETWORK_GROUP],
    computation: Annotated[Computation, MACHINE_GROUP],
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
    json: Annotated[Flag, OUTPUT_GROUP] = False,
    further: Annotated[FurtherOptions, FURTHER_GROUP],
) -> None:
    """Train a network on labelled sequences or genotypes and write a run folder.

    Example: seqloom train train.fa.gz --labels train.tsv --out runs/splice

    Genotypes: seqloom train x.bed --labels pheno.txt --label-column Y1 --out runs/y1

    To read labels from FASTA headers, add --label-from-header "class=(\\w+)"

    To read sequences and labels from a table: seqloom train table.csv --out runs/t

    To resume a stopped run: seqloom train --out runs/splice --resume

    To keep each family in one set: seqloom train a.fa --labels t.tsv --group-column family
    --out r

    To read each class from a file: seqloom train pos.fa neg.fa --label-from-file --out
    runs/c

    To train on genome intervals: seqloom train hg.fa --intervals peaks.bed --label-column
    name --out runs/p

    Embeddings: seqloom train embeddings/ --labels t.tsv --out runs/e

    Adapters: seqloom train p.fa --labels t.tsv --finetune lora --model ESM2 --out runs/l

    Args:
        files: Sequence files (format and compression are detected), tables with a column of
            sequences, or a PLINK .bed with its .bim and .fam. With --intervals, FILES is
            one genome.
        out: The run folder to write, with model, scores, plots and report.html.
        resume: Resume the run in OUT from its last checkpoint, or start a run if OUT
            contains none. By default, FILES and options are those of the first call. A
            larger --epochs extends the run.
        folder: Options of the run folder.
        tables: Tables of labels.
        labels: Options of labels.
        letters: Alphabet and handling of ambiguous residues.
        sequences: Options for reading sequences.
        intervals: Intervals of a genome.
        covariates: Options for reading genotypes and covariates.
        parts: Validation and test sets.
        epochs: Number of epochs and early stopping.
        batches: Options of the batches.
        rates: Optimiser, learning rate and seed.
        updates: Options of the weight updates.
        objective: Task, loss and metrics.
        network: Architecture of the network.
        computation: Backend and precision.
        quiet: Print only warnings, errors and requested results.
        json: Print the results as one JSON object, and all other output to standard error.
        further: Options that --help does not list.
    """
    del further  # `fill_options` has applied these options
    # With --intervals, --valid and --test are intervals in the same genome.
    others = [] if intervals.intervals else [*parts.valid, *parts.test]
    reading = (letters, sequences, intervals, covariates, tables, labels)
    inputs = CommandInputs.of(files, *reading, others=others)
    inputs.check_labels()
    check_parts(parts, inputs.kind)
    check_network(network, inputs.kind)
    _check_folder(resume=resume, overwrite=folder.overwrite)
    console = open_console(stderr=json, quiet=quiet)
    warnings = open_console(stderr=True) if quiet else console
    print_setup(console, computation.backend, computation.num_threads)
    if resume and not _contains_run(out):
        console.print(f"{out} contains no run yet: starting a new one")
    named = tables.to_labels(labels)
    encoding = select_encoding(console, network, inputs, letters=letters)
    data = open_parts(console, inputs, parts, labels=named, encoding=encoding)
    show_skipped(console, *data.present)
    warn_about_files(warnings, intervals.intervals or files, parts)
    warn_about_classes(warnings, data.whole)
    groups = read_groups(data.whole, inputs, parts, labels=named)
    values = (parts, epochs, batches, rates, updates, objective, network, computation)
    runs = [
        _train_run(
            console,
            warnings,
            part,
            choose_network=partial(select_network, network, inputs.kind),
            test=data.test,
            objective=objective,
            epochs=epochs,
            batch_size=batches,
            backend=computation,
            out=replace(folder, out=part.folder),
            resume=resume,
            callbacks=[OptionSaver(files, changed_options(*values, folder) | inputs.given)],
            **rates.to_keywords(updates),
        )
        for part in split_parts(data, parts, folder=out, seed=rates.seed, groups=groups)
    ]
    _print_results(console, runs, has_folds=bool(parts.folds), as_json=json)


def _check_folder(*, resume: bool, overwrite: bool) -> None:
    """Raise if both --resume and --overwrite are given."""
    if resume and overwrite:
        raise ArgumentError("--resume and --overwrite exclude each other: give only one")


def _contains_run(out: Path) -> bool:
    """Return True if a folder contains a run, or the folds of a run."""
    begun = (out.glob(name) for name in ("config.json", "fold-*/config.json"))
    return any(chain.from_iterable(begun))


def _train_run(
    console: Console,
    warnings: Console,
    part: DataPart,
    *,
    choose_network: Callable[..., Config | str],
    test: Dataset | None,
    **settings: Any,
) -> Run:
    """Train a network and show the progress."""
    warn_about_untrained_classes(warnings, part)
    warn_about_overlaps(warnings, part, test)
    config = choose_network(part.train, valid=part.valid, test=test)
    if part.title:
        console.line()
        console.print(part.title)
    with Watch(console) as watch:
        return fit(config, part.train, part.valid, test=test, progress=watch, **settings)


def _print_results(
    console: Console, runs: list[Run], *, has_folds: bool, as_json: bool
) -> None:
    """Print the results as tables or as JSON."""
    if as_json:
        print_json(fold_results(runs) if has_folds else run_results(runs[0]))
    elif has_folds:
        show_folds(console, runs)
    else:
        show_run(console, runs[0])
