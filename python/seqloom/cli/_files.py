"""The packaged files, to try the commands on."""

from pathlib import Path

from rich.console import Console

from seqloom import _demo
from seqloom._files import write_atomic
from seqloom.errors import FileError

NAMES = ("train.fa.gz", "train.tsv", "test.fa.gz", "test.tsv")


def copy_files(console: Console, folder: Path) -> None:
    """Copies the demo's files; a file of another content is never replaced."""
    contents = {folder / name: _demo.path(name).read_bytes() for name in NAMES}
    folder.mkdir(parents=True, exist_ok=True)
    for target, content in contents.items():
        if target.exists() and (not target.is_file() or target.read_bytes() != content):
            raise FileError(f"{target}: is there already; give --files another folder")
    for target, content in contents.items():
        write_atomic(target, content)
    console.print(f"copied to {folder}: {', '.join(NAMES)}")
