"""What a trained model keeps of its training: lengths, files, hashes, learned arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom._config import JsonConfig
from seqloom._text import printable
from seqloom.data._parts import has_letters, hash_letters
from seqloom.data._paths import file_digest
from seqloom.errors import MissingFileError, RecordError
from seqloom.record import Record, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn(JsonConfig):
    """Describes the records of a training part and the files that they came from.

    Attributes:
        records: How many records there were.
        lengths: The letters of the shortest and of the longest; None where they have none.
        files: The names of the files, without their folders.
        digests: What tells each file again: a hash of its size, its begin and its end.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> found = TrainedOn.of(sl.data.SequenceDataset("a.fa"))
        >>> found.lengths, found.files
        ((2, 4), ('a.fa',))
    """

    records: int
    lengths: tuple[int, int] | None
    files: tuple[str, ...]
    digests: tuple[str, ...]

    @classmethod
    def of(cls, part: Any) -> Self:
        """Describe a training part; the files are those that tell its records apart."""
        lengths = np.asarray(part.lengths) if has_letters(part) else np.empty(0, np.int64)
        files = files_of(part)
        return cls(
            records=len(part),
            lengths=(int(lengths.min()), int(lengths.max())) if lengths.size else None,
            files=tuple(names_of(files)),
            digests=tuple(file_digest(str(file)) for file in files),
        )

    def find_again(self, paths: Iterable[Path]) -> list[Path]:
        """Find those of some files that the network was trained on."""
        files = (path for path in paths if path.is_file())
        return [path for path in files if file_digest(str(path)) in self.digests]

    def spell_lengths(self) -> str:
        """Say how long the records were that taught; nothing of those without letters."""
        return "" if self.lengths is None else f"{_range(*self.lengths)} letters"

    def describe_strange_lengths(self, data: Any, *, share: float = 0.0) -> str:
        """Say how many records have other lengths, if they are more than a share."""
        if self.lengths is None or not has_letters(data):
            return ""
        shortest, longest = self.lengths
        lengths = np.asarray(data.lengths)
        strange = lengths[(lengths < shortest) | (lengths > longest)]
        if strange.size <= share * lengths.size:
            return ""
        return (
            f"{strange.size:,} of {lengths.size:,} {data.noun} have "
            f"{_range(int(strange.min()), int(strange.max()))} letters, but the model was "
            f"trained on {_range(shortest, longest)}: such scores may mean nothing; cut "
            f"the {data.noun}, or train on such lengths"
        )


def files_of(part: Any) -> list[Path]:
    """List the files of a part; of intervals in a genome those of the intervals."""
    paths: tuple[str, ...] = getattr(part, "record_files", getattr(part, "paths", ()))
    return [path for path in map(Path, paths) if path.is_file()]


def names_of(files: Iterable[Path]) -> list[str]:
    """Name files without their folders, which say more of a machine than of the data."""
    return [printable(file.name) for file in files]


def _range(first: int, last: int) -> str:
    """Spell a range of counts."""
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


# Beside config.json: a hash of the letters of each training record.
LETTERS = "letters.safetensors"
_HASHES = "hashes"

Hashes = NDArray[np.uint64]


def learn_letters(train: Any) -> Hashes | None:
    """List the hashes of training records; None without letters, or of too many."""
    hashes = hash_letters(train)
    return None if hashes is None else np.unique(hashes)


def find_known(known: Hashes | None, examples: Any) -> NDArray[np.bool_] | None:
    """Say which records have the letters of a training record; None where nobody can."""
    hashes = None if known is None else hash_letters(examples)
    return None if known is None or hashes is None else np.isin(hashes, known)


def save_letters(folder: Path, known: Hashes | None) -> None:
    """Write the hashes of training records, where there are any."""
    if known is not None:
        Record({_HASHES: known.view(np.int64)}).save(folder / LETTERS)


def load_letters(folder: Path) -> Hashes | None:
    """Read the hashes of training records; None of an older run, or of other records."""
    path = folder / LETTERS
    return np.asarray(load(path)[_HASHES]).view(np.uint64) if path.exists() else None


# Beside model.safetensors; config.json names its content by the encoder's digest.
ENCODER = "encoder.safetensors"


@runtime_checkable
class LearnedEncoder(Protocol):
    """An encoder that is fitted to the training part: `seqloom.data.GenotypeEncoder`."""

    # Its settings name the fitted arrays by a digest, so that equal encoders give equal
    # numbers. What it encodes has `with_encoder`, which shows the same records through it.

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned."""
        ...

    def fit(self, examples: Any) -> Self:
        """Return an encoder that has learned from some records, and from no others."""
        ...

    def settings(self) -> dict[str, Any]:
        """List what it was told, without what it has learned."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """List what it has learned."""
        ...

    def with_arrays(self, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return an encoder that has learned what `arrays` listed."""
        ...


def save_encoder(folder: Path, encoder: Any) -> None:
    """Write what an encoder has learned, if it is one that learns."""
    if isinstance(encoder, LearnedEncoder):
        Record(encoder.arrays()).save(folder / ENCODER)


def load_encoder(folder: Path, encoder: Any) -> Any:
    """Return an encoder of ``config.json`` back what it had learned."""
    if not isinstance(encoder, LearnedEncoder):
        return encoder
    path = folder / ENCODER
    if not path.exists():
        raise MissingFileError(f"{path}: no such file; the model's encoder needs it")
    arrays = {name: np.asarray(array) for name, array in load(path).items()}
    try:
        return encoder.with_arrays(arrays)
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None


def seen_by(encoder: Any, examples: Any) -> Any:
    """Show records through a fitted encoder, where theirs is the same but not fitted."""
    own = examples.encoder
    if not (isinstance(encoder, LearnedEncoder) and isinstance(own, LearnedEncoder)):
        return examples
    is_same = type(own) is type(encoder) and own.settings() == encoder.settings()
    if own.is_fitted or not is_same:
        return examples
    return examples.with_encoder(encoder)
