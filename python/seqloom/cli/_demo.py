"""``seqloom demo``: a real question, answered in one command and compared with others."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.cli._machine import announce, open_console
from seqloom.cli._options import MACHINE_DEFAULTS, MachineOptions
from seqloom.cli._show import show_confusion, show_tiles
from seqloom.cli._watch import Watch

if TYPE_CHECKING:
    from seqloom.cli._splice import Splice
    from seqloom.train import Run

# Chosen by cross-validation on the 2,000 training windows alone: see benchmarks/.
NETWORK = {"epochs": 15, "lr": 3e-3}
LINEAR = {"epochs": 60, "lr": 1e-2, "weight_decay": 1.0}
HOME = Path("seqloom-demo")


def demo(
    *, out: Path = HOME, seed: int = 0, machine: MachineOptions = MACHINE_DEFAULTS
) -> None:
    """Learn to find splice junctions in real DNA, and write a report.

    2,000 windows around primate splice junctions teach a network to tell donors (EI),
    acceptors (IE) and others (N) apart; a tenth of them chooses the epoch. The 1,186
    windows of the official test split are scored once, after training.

    Example: seqloom demo --out /tmp/demo

    Args:
        out: The run folder; an earlier demo in it is replaced.
        seed: Decides the first weights, the order, the dropout and the parts.
        machine: What computes.
    """
    from seqloom.cli._outcome import compare, is_demo, publish
    from seqloom.cli._splice import read_splice

    console = open_console()
    announce(console, machine)
    splice = read_splice(seed)
    console.print(str(splice))
    settings = {"seed": seed, **machine.to_keywords()}
    with Watch(console) as watch:
        may_replace = out == HOME or is_demo(out)
        # The report waits for the comparison; drawn twice, it would cost a second more.
        folder = {"out": out, "overwrite": may_replace, "report": False}
        run = _fit_network(splice, **settings, **folder, progress=watch)
    with console.status("logistic regression, for comparison, and the report"):
        outcome = compare(run, _fit_linear(splice, **settings), splice)
        page = publish(run, outcome, splice, folder=out)
    show_confusion(console, run.report.confusions[0])
    show_tiles(console, outcome.tiles())
    console.print(f"\n{outcome.note()}\nreport {page}")


def _fit_network(splice: "Splice", **settings: Any) -> "Run":
    """Trains the network; the test windows are scored when all is decided."""
    from seqloom.models import SequenceCNNConfig
    from seqloom.train import fit

    config = SequenceCNNConfig.for_data(splice.train)
    return fit(config, splice.train, splice.valid, test=splice.test, **NETWORK, **settings)


def _fit_linear(splice: "Splice", **settings: Any) -> "Run":
    """Trains logistic regression on the same windows."""
    from seqloom.cli._linear import Logistic
    from seqloom.train import fit

    inputs = splice.train.batch([0])["inputs"].size
    model = Logistic(inputs, len(splice.train.classes))
    return fit(model, splice.train, splice.valid, test=splice.test, **LINEAR, **settings)
