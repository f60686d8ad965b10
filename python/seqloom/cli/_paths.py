"""What `seqloom convert` reads and writes: files of single reads, or of pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import ArgumentError, FileError, SeqloomError

_TWO = 2
_PAIRS = "seqloom convert R1 R2 --out OUT1 OUT2"
_HOW = f"seqloom convert IN OUT, or for pairs: {_PAIRS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertPaths:
    """Holds one file or two to read, and one or two to write, checked."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    interleaved: bool

    def __post_init__(self) -> None:
        if not self.targets:
            raise ArgumentError(f"no file to write: {_HOW}")
        if len(self.targets) > _TWO:
            raise ArgumentError(f"--out takes one file or two, got {len(self.targets)}")
        files = len(self.sources) + len(self.targets)
        if files == _TWO + _TWO and self.interleaved:
            raise ArgumentError(
                "--interleaved is for one file that holds both reads of each pair; "
                "here are two to read and two to write"
            )
        if files == _TWO + 1 and not self.interleaved:
            raise ArgumentError(
                f"{len(self.sources)} to read and {len(self.targets)} to write: reads that "
                "alternate in one file need --interleaved"
            )
        _check_apart(self.sources)
        _check_not_read(self.targets, self.sources)

    @property
    def source(self) -> str | tuple[str, str]:
        """What is read, as `open_sequences` takes it."""
        return _one_or_two(self.sources)

    @property
    def target(self) -> str | tuple[str, str]:
        """What is written, as `write_sequences` takes it."""
        return _one_or_two(self.targets)

    @property
    def holds_pairs(self) -> bool:
        """Whether one file is read that holds pairs."""
        return self.interleaved and len(self.sources) == 1

    def check_free(self) -> None:
        """Refuses to replace a file: of two mates given as IN and OUT, the second."""
        for target in self.targets:
            if target != "-" and Path(target).is_file():
                raise FileError(f"{target}: is there already; {self._advice(target)}")

    def _advice(self, target: str) -> str:
        """Says what may have been meant: OUT that holds sequences may be a second mate."""
        is_one_each = len(self.sources) == len(self.targets) == 1
        if is_one_each and _holds_sequences(target):
            return f"was a pair meant? for a pair: {_PAIRS} (--overwrite loses this file)"
        return "--overwrite replaces it"


def resolve_paths(
    source: str, other: str | None, out: Sequence[Path], *, interleaved: bool
) -> ConvertPaths:
    """Tells what is read from what is written: with --out, all other words are read."""
    words = (source,) if other is None else (source, other)
    sources, targets = (words, tuple(map(str, out))) if out else (words[:1], words[1:])
    return ConvertPaths(sources=sources, targets=targets, interleaved=interleaved)


def _one_or_two(names: tuple[str, ...]) -> str | tuple[str, str]:
    """Gives one name, or two."""
    return names[0] if len(names) == 1 else (names[0], names[1])


def _check_apart(sources: tuple[str, ...]) -> None:
    """Refuses one file twice: behind a bar, its two openings look like two."""
    if len({_identity(source) for source in sources}) < len(sources):
        raise ArgumentError(
            f"{sources[0]}: both files to read are the same one; reads that alternate in "
            "one file need --interleaved"
        )


def _check_not_read(targets: tuple[str, ...], sources: tuple[str, ...]) -> None:
    """Refuses to write a file that is read, under whatever name."""
    read = {_identity(source) for source in sources if source != "-"}
    for target in targets:
        if target != "-" and Path(target).exists() and _identity(target) in read:
            raise ArgumentError(
                f"{target}: is a file to read and to write at once; write to another name"
            )


def _identity(name: str) -> object:
    """Names a file by what it is, as far as it is there."""
    try:
        facts = Path(name).stat()
    except OSError:
        return name
    return facts.st_dev, facts.st_ino


def _holds_sequences(name: str) -> bool:
    """Tells whether a file is one that we read."""
    from seqloom.io import open_sequences

    try:
        with open_sequences(name):
            return True
    except SeqloomError:
        return False
