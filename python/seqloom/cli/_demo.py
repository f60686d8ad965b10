"""``seqloom demo``: train on real splice sites, and compare with a linear model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

from seqloom import _demo
from seqloom._files import write_atomic
from seqloom.cli._console import open_console, print_setup
from seqloom.cli._options import MACHINE_GROUP, Flag, MachineOptions, Seed, takes_options
from seqloom.cli._show import show_confusion, show_tiles
from seqloom.errors import FileError, RunFolderError, SeenRecordsWarning

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.cli._splice import Splice
    from seqloom.train import Run

# The settings of the demo's network were chosen by cross-validation on the 2,000
# training windows (see benchmarks/).
NETWORK_SETTINGS = {"epochs": 15, "lr": 3e-3}
DEMO_FOLDER = Path("seqloom-demo")
# Names of the example files that --files copies.
SEQUENCE_FILES = ("train.fa.gz", "train.tsv", "test.fa.gz", "test.tsv")
GENOME_FILES = ("genome.fa.gz", "peaks.bed")
GENOTYPE_FILES = (
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
    out: Path = DEMO_FOLDER,
    files: Path | None = None,
    overwrite: Flag = False,
    seed: Seed = 0,
    machine: Annotated[MachineOptions, MACHINE_GROUP],
) -> None:
    """Train on real DNA to find splice junctions, and write a report.

    The network learns from 2,000 windows of primate DNA to distinguish donor sites (EI),
    acceptor sites (IE) and neither (N). A tenth of these 2,000 windows is the validation
    set. The 1,186 windows of the official test set are scored once, after training.

    Example: seqloom demo --out /tmp/demo

    Args:
        out: The run folder to write; an earlier demo in this folder is replaced.
        files: Do not train; copy the example files to this folder. Sequences are
            train.fa.gz and test.fa.gz, with labels in train.tsv and test.tsv. Intervals are
            peaks.bed, in the genome genome.fa.gz. Genotypes are example.bed, .bim and .fam,
            with trait.txt, phenotype.txt and covariates.txt.
        overwrite: Replace a run in OUT that is not a demo; with --files, replace existing
            files.
        seed: Seed of the initial weights, the shuffling, the dropout and the split.
        machine: Backend and threads.

    Raises:
        KeyboardInterrupt: The demo was stopped; the message explains how to restart it.
    """
    console = open_console()
    if files is not None:
        _copy_files(console, files, overwrite=overwrite)
        return
    _check_folder(out, overwrite=overwrite)
    print_setup(console, machine.backend, machine.threads)
    try:
        _train_and_compare(console, out, machine, seed=seed, overwrite=overwrite)
    except KeyboardInterrupt:
        # The demo cannot be resumed, because it takes too little time to need
        # checkpoints.
        way = f"to restart, remove {out} or give --out another folder"
        if _is_demo_run(out):
            way = "the same command restarts the demo"
        raise KeyboardInterrupt(f"stopped; {way}") from None


def _train_and_compare(
    console: "Console", out: Path, machine: MachineOptions, *, seed: int, overwrite: bool
) -> None:
    """Train the network, and show its metrics and those of logistic regression."""
    from seqloom.cli._splice import compare_methods, read_splice, write_outcome
    from seqloom.train import Computation, RunFolder
    from seqloom.train._watch import Watch

    splice = read_splice(seed)
    console.print(str(splice))
    settings: Any = {"seed": seed, "backend": Computation(**machine.to_keywords())}
    with Watch(console) as watch:
        # Write the report only once, after the comparison, because plotting takes a
        # second.
        may_replace = overwrite or _is_demo_run(out)
        folder = RunFolder(out, overwrite=may_replace, report=False)
        run = _fit_network(splice, **settings, out=folder, progress=watch)
    with console.status("writing the report"):
        outcome = compare_methods(run, splice)
        page = write_outcome(run, outcome, splice, folder=out)
    show_confusion(console, run.report.confusions[0])
    show_tiles(console, outcome.tiles())
    console.line()
    console.print(outcome.note())
    console.print(f"report {page}")


def _is_demo_run(out: Path) -> bool:
    """Return whether the run in the folder is a finished demo."""
    from seqloom.cli._splice import RESULTS_FILE

    return out == DEMO_FOLDER or (out / RESULTS_FILE).exists()


def _check_folder(out: Path, *, overwrite: bool) -> None:
    """Raise if the folder contains files that do not belong to a finished demo."""
    if overwrite or _is_demo_run(out):
        return
    if out.is_dir() and any(out.iterdir()):
        raise RunFolderError(
            f"{out}: contains files that are not a finished demo; give --out another "
            "folder, or --overwrite to replace a run"
        )


def _fit_network(splice: "Splice", **settings: Any) -> "Run":
    """Train the network; the test windows are scored once, after training."""
    from seqloom.models import SequenceCNNConfig
    from seqloom.train import fit

    config, test = SequenceCNNConfig.for_data(splice.train), splice.test
    with catch_warnings():
        # The last lines of the output report test windows that are in the training set.
        simplefilter("ignore", SeenRecordsWarning)
        return fit(
            config, splice.train, splice.valid, test=test, **NETWORK_SETTINGS, **settings
        )


def _copy_files(console: "Console", folder: Path, *, overwrite: bool) -> None:
    """Copy the example files; raise if other files would be lost, unless `overwrite`."""
    packed = {"genome": GENOME_FILES, "genotypes": GENOTYPE_FILES}
    beside = [
        f"{folder_name}/{name}" for folder_name, names in packed.items() for name in names
    ]
    sources = [*SEQUENCE_FILES, *beside]
    contents = {
        folder / Path(name).name: _demo.example_path(name).read_bytes() for name in sources
    }
    _create_folder(folder)
    for target, content in contents.items():
        is_same = target.is_file() and (overwrite or target.read_bytes() == content)
        if target.exists() and not is_same:
            raise FileError(
                f"{target}: already exists; --overwrite replaces it, or give --files "
                "another folder"
            )
    for target, content in contents.items():
        write_atomic(target, content)
    console.print(f"copied to {folder}:")
    for names in (SEQUENCE_FILES, GENOME_FILES, GENOTYPE_FILES):
        console.print(f"  {', '.join(names)}")


def _create_folder(folder: Path) -> None:
    """Create the folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{folder}: is a file; --files needs a folder") from None
    except OSError as error:
        raise FileError(f"{folder}: cannot create the folder: {error.strerror}") from None
