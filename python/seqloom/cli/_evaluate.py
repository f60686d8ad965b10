"""``seqloom evaluate``: how good a trained model is on labelled files."""

from pathlib import Path

from seqloom.cli._check import check_labels
from seqloom.cli._machine import announce, open_console
from seqloom.cli._options import (
    LABEL_DEFAULTS,
    MACHINE_DEFAULTS,
    LabelOptions,
    MachineOptions,
)
from seqloom.cli._read import read_like, show_left_out
from seqloom.cli._score_bar import score_bar
from seqloom.cli._show import show_metrics


def evaluate(
    model: Path,
    files: list[Path],
    /,
    *,
    labels: LabelOptions = LABEL_DEFAULTS,
    machine: MachineOptions = MACHINE_DEFAULTS,
) -> None:
    """Compare a trained model's scores with labels.

    Example: seqloom evaluate runs/splice test.fa.gz --labels test.tsv

    Args:
        model: A run folder that `seqloom train` wrote.
        files: Sequence files.
        labels: Where labels come from.
        machine: What computes.
    """
    from seqloom.infer import evaluate as judge
    from seqloom.models import load

    check_labels(labels)
    console = open_console()
    announce(console, machine)
    trained = load(model, **machine.to_keywords())
    data = read_like(trained, files, labels)
    console.print(str(data))
    show_left_out(console, data)
    with score_bar(console) as tell:
        metrics = judge(trained, data, num_threads=machine.threads, progress=tell)
    show_metrics(console, {str(model): metrics}, task=trained.task.name)
