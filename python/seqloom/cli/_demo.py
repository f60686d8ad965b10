"""``seqloom demo``: a real question, answered in one command and compared with others."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

from seqloom import _demo
from seqloom._files import write_atomic
from seqloom.cli._console import announce, open_console
from seqloom.cli._options import MACHINE, Flag, MachineOptions, Seed, takes_options
from seqloom.cli._show import show_confusion, show_tiles
from seqloom.errors import FileError, RunFolderError, SeenRecordsWarning

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.cli._splice import Splice
    from seqloom.nn import Config, Module
    from seqloom.train import Run

# Chosen by cross-validation on the 2,000 training windows alone: see benchmarks/.
NETWORK = {"epochs": 15, "lr": 3e-3}
LINEAR = {"epochs": 60, "lr": 1e-2}
LINEAR_DECAY = 1.0
HOME = Path("seqloom-demo")
# The packaged files, to try the commands on.
SEQUENCES = ("train.fa.gz", "train.tsv", "test.fa.gz", "test.tsv")
GENOME = ("genome.fa.gz", "peaks.bed")
GENOTYPES = (
    "example.bed",
    "example.bim",
    "example.fam",
    "phenotype.txt",
    "trait.txt",
    "covariates.txt",
)


@takes_options()
def demo(
    *,
    out: Path = HOME,
    files: Path | None = None,
    overwrite: Flag = False,
    seed: Seed = 0,
    machine: Annotated[MachineOptions, MACHINE],
) -> None:
    """Learn to find splice junctions in real DNA, and write a report.

    2,000 windows around primate splice junctions teach a network to tell donors (EI),
    acceptors (IE) and others (N) apart; a tenth of them chooses the epoch. The 1,186
    windows of the official test split are scored once, after training.

    Example: seqloom demo --out /tmp/demo

    Args:
        out: The run folder; an earlier demo in it is replaced.
        files: Train nothing; copy the files of the examples to this folder, to try the
            other commands on: train.fa.gz, train.tsv, test.fa.gz, test.tsv;
            genome.fa.gz, peaks.bed; example.bed with .bim and .fam, trait.txt,
            phenotype.txt, covariates.txt.
        overwrite: Replace another run in OUT, or other files of these names.
        seed: Decides the first weights, the order, the dropout and the parts.
        machine: What computes.

    Raises:
        KeyboardInterrupt: The demo was stopped; the message says how to begin anew.
    """
    console = open_console()
    if files is not None:
        _copy_files(console, files, overwrite=overwrite)
        return
    _check_folder(out, overwrite=overwrite)
    announce(console, machine.backend, machine.threads)
    try:
        _compare(console, out, machine, seed=seed, overwrite=overwrite)
    except KeyboardInterrupt:
        # The demo is too quick to be resumed.
        way = f"to begin anew, remove {out} or give --out another folder"
        if _may_replace(out):
            way = "the same command begins the demo anew"
        raise KeyboardInterrupt(f"stopped; {way}") from None


def _compare(
    console: "Console", out: Path, machine: MachineOptions, *, seed: int, overwrite: bool
) -> None:
    """Train the network and the linear model, and show how they do."""
    from seqloom.cli._splice import compare, publish, read_splice
    from seqloom.train import Computation, RunFolder
    from seqloom.train._watch import Watch

    splice = read_splice(seed)
    console.print(str(splice))
    settings: Any = {"seed": seed, "backend": Computation(**machine.to_keywords())}
    with Watch(console) as watch:
        # The report waits for the comparison; drawn twice, it would cost a second more.
        may_replace = overwrite or _may_replace(out)
        folder = RunFolder(out, overwrite=may_replace, report=False)
        run = _fit_network(splice, **settings, out=folder, progress=watch)
    with console.status("logistic regression, for comparison, and the report"):
        outcome = compare(run, _fit_linear(splice, **settings), splice)
        page = publish(run, outcome, splice, folder=out)
    show_confusion(console, run.report.confusions[0])
    show_tiles(console, outcome.tiles())
    console.line()
    console.print(outcome.note())
    console.print(f"report {page}")


def _may_replace(out: Path) -> bool:
    """Return whether a run in the folder is a demo's."""
    from seqloom.cli._splice import RESULTS

    return out == HOME or (out / RESULTS).exists()


def _check_folder(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds something else, with the demo's own way out."""
    if overwrite or _may_replace(out):
        return
    if out.is_dir() and any(out.iterdir()):
        raise RunFolderError(
            f"{out}: holds something that is no finished demo; give --out another folder, "
            "or --overwrite to replace a run"
        )


def _fit_network(splice: "Splice", **settings: Any) -> "Run":
    """Train the network; the test windows are scored when all is decided."""
    from seqloom.models import SequenceCNNConfig

    config = SequenceCNNConfig.for_data(splice.train)
    return _fit(config, splice, **NETWORK, **settings)


def _fit_linear(splice: "Splice", **settings: Any) -> "Run":
    """Train logistic regression on the same windows."""
    from seqloom.cli._splice import Logistic
    from seqloom.train import Updates

    inputs = splice.train.batch([0])["inputs"].size
    model = Logistic(inputs, len(splice.train.classes))
    updates = Updates(weight_decay=LINEAR_DECAY)
    return _fit(model, splice, optimizer=updates, **LINEAR, **settings)


def _fit(model: "Config | Module", splice: "Splice", **settings: Any) -> "Run":
    """Trains; how many test windows were seen in training is said by the comparison."""
    from seqloom.train import fit

    with catch_warnings():
        simplefilter("ignore", SeenRecordsWarning)
        return fit(model, splice.train, splice.valid, test=splice.test, **settings)


def _copy_files(console: "Console", folder: Path, *, overwrite: bool) -> None:
    """Copy the demo's files; one of another content is replaced only if that is asked."""
    packed = {"genome": GENOME, "genotypes": GENOTYPES}
    beside = [
        f"{folder_name}/{name}" for folder_name, names in packed.items() for name in names
    ]
    sources = [*SEQUENCES, *beside]
    contents = {folder / Path(name).name: _demo.path(name).read_bytes() for name in sources}
    _make(folder)
    for target, content in contents.items():
        is_same = target.is_file() and (overwrite or target.read_bytes() == content)
        if target.exists() and not is_same:
            raise FileError(
                f"{target}: is there already; --overwrite replaces it, or give --files "
                "another folder"
            )
    for target, content in contents.items():
        write_atomic(target, content)
    console.print(f"copied to {folder}:")
    for names in (SEQUENCES, GENOME, GENOTYPES):
        console.print(f"  {', '.join(names)}")


def _make(folder: Path) -> None:
    """Make the folder, if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{folder}: is a file; give --files the name of a folder") from None
    except OSError as error:
        raise FileError(f"{folder}: cannot make the folder: {error.strerror}") from None
