"""``seqloom evaluate``: how good a trained model is on labelled files."""

from pathlib import Path
from typing import Any

from seqloom.cli._check import check_labels
from seqloom.cli._console import announce, open_console
from seqloom.cli._kinds import check_model, check_options
from seqloom.cli._options import (
    GENOTYPE_DEFAULTS,
    INTERVAL_DEFAULTS,
    LABEL_DEFAULTS,
    SEQUENCE_DEFAULTS,
    SHOWN_DEFAULTS,
    TRAINED_DEFAULTS,
    Flag,
    GenotypeOptions,
    IntervalOptions,
    LabelOptions,
    SequenceOptions,
    ShownOptions,
    TrainedOptions,
)
from seqloom.cli._read import read_like, show_left_out, show_letters
from seqloom.cli._show import print_json, show_metrics
from seqloom.cli._warn import warn_of_judges


def evaluate(
    model: Path,
    files: list[Path],
    /,
    *,
    reverse_complement: Flag = False,
    labels: LabelOptions = LABEL_DEFAULTS,
    sequences: SequenceOptions = SEQUENCE_DEFAULTS,
    intervals: IntervalOptions = INTERVAL_DEFAULTS,
    genotypes: GenotypeOptions = GENOTYPE_DEFAULTS,
    machine: TrainedOptions = TRAINED_DEFAULTS,
    shown: ShownOptions = SHOWN_DEFAULTS,
) -> None:
    """Compare a trained model's scores with labels.

    Example: seqloom evaluate runs/splice test.fa.gz --labels test.tsv

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files, tables with a column of sequences, or a PLINK .bed; with
            --intervals a genome.
        reverse_complement: Evaluate the mean of the scores of a sequence and its reverse
            complement, for DNA and RNA whose strand does not matter.
        labels: Where labels come from.
        sequences: How sequences are read.
        intervals: Which parts of a genome are read.
        genotypes: What goes with a .bed.
        machine: What computes.
        shown: What is printed, and how.
    """
    from seqloom.infer import evaluate as judge
    from seqloom.infer._exported import refuse_exported
    from seqloom.infer._score_bar import score_bar
    from seqloom.models import load

    reading: Any = {"options": labels, "sequences": sequences}
    reading |= {"intervals": intervals, "genotypes": genotypes}
    kind = check_options(files, **reading)
    check_labels(labels, files, sequences=sequences, kind=kind)
    console = open_console(stderr=shown.json, quiet=shown.quiet)
    announce(console, machine)
    refuse_exported(model)
    trained = load(model, **machine.to_keywords())
    check_model(model, trained, kind)
    data = read_like(console, trained, files, **reading)
    console.print(str(data))
    show_letters(console, data)
    show_left_out(console, data)
    warnings = open_console(stderr=True) if shown.quiet else console
    warn_of_judges(warnings, trained, intervals.intervals or files)
    with score_bar(console) as tell:
        settings: Any = {"num_threads": machine.threads, "progress": tell}
        metrics = judge(trained, data, reverse_complement=reverse_complement, **settings)
    _print(model, trained, data, metrics=metrics, as_json=shown.json)


def _print(
    model: Path, trained: Any, data: Any, *, metrics: dict[str, float], as_json: bool
) -> None:
    """Prints the metrics as a table, or with their intervals as JSON."""
    from seqloom.train._evaluation import find_intervals

    task = trained.task.name
    if as_json:
        intervals = find_intervals(trained.task, metrics, data.labels)
        facts = {"model": str(model), "task": task, "metrics": metrics}
        print_json({**facts, "intervals": intervals})
        return
    names = {"task": task, "noun": getattr(data, "noun", "sequences")}
    show_metrics(open_console(), {str(model): metrics}, **names)
