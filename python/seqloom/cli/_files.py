"""The packaged files, to try the commands on."""

from pathlib import Path

from rich.console import Console

from seqloom import _demo
from seqloom._files import write_atomic
from seqloom.errors import FileError

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


def copy_files(console: Console, folder: Path, *, overwrite: bool) -> None:
    """Copies the demo's files; one of another content is replaced only if that is asked."""
    packed = {"genome": GENOME, "genotypes": GENOTYPES}
    beside = [
        f"{folder_name}/{name}" for folder_name, names in packed.items() for name in names
    ]
    sources = [*SEQUENCES, *beside]
    contents = {folder / Path(name).name: _demo.path(name).read_bytes() for name in sources}
    _make(folder)
    for target, content in contents.items():
        _check(target, content, overwrite=overwrite)
    for target, content in contents.items():
        write_atomic(target, content)
    console.print(f"copied to {folder}:")
    for names in (SEQUENCES, GENOME, GENOTYPES):
        console.print(f"  {', '.join(names)}")


def _make(folder: Path) -> None:
    """Makes the folder, if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{folder}: is a file; give --files the name of a folder") from None
    except OSError as error:
        raise FileError(f"{folder}: cannot make the folder: {error.strerror}") from None


def _check(target: Path, content: bytes, *, overwrite: bool) -> None:
    """Refuses to replace what a person may miss."""
    if not target.exists() or (target.is_file() and overwrite):
        return
    if not target.is_file() or target.read_bytes() != content:
        raise FileError(
            f"{target}: is there already; --overwrite replaces it, or give --files another "
            "folder"
        )
