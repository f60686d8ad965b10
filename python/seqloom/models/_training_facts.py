"""Data about training stored with a model: lengths, files, hashes, learned arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom._config import JsonConfig
from seqloom._text import printable
from seqloom.data._parts import has_letters, hash_sequences
from seqloom.data._paths import digest_file
from seqloom.errors import MissingFileError, RecordError
from seqloom.record import Record, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn(JsonConfig):
    """Summary of a training set and the files that it came from.

    Attributes:
        records: Number of records.
        lengths: Smallest and largest number of residues; None if the records are not
            sequences.
        files: Names of the files, without their folders.
        digests: Hash of the size, the beginning and the end of each file, to recognise
            the files.

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
        """Summarise a training set."""
        lengths = np.asarray(part.lengths) if has_letters(part) else np.empty(0, np.int64)
        files = dataset_files(part)
        return cls(
            records=len(part),
            lengths=(int(lengths.min()), int(lengths.max())) if lengths.size else None,
            files=tuple(file_names(files)),
            digests=tuple(digest_file(str(file)) for file in files),
        )

    def find_again(self, paths: Iterable[Path]) -> list[Path]:
        """Return the files that were used for training."""
        files = (path for path in paths if path.is_file())
        return [path for path in files if digest_file(str(path)) in self.digests]

    def format_lengths(self) -> str:
        """Return the range of training lengths as text; "" if there are no lengths."""
        return "" if self.lengths is None else f"{_range(*self.lengths)} residues"

    def warn_about_lengths(self, data: Any, *, share: float = 0.0) -> str:
        """Return a warning if too many records are shorter or longer than in training."""
        if self.lengths is None or not has_letters(data):
            return ""
        shortest, longest = self.lengths
        lengths = np.asarray(data.lengths)
        strange = lengths[(lengths < shortest) | (lengths > longest)]
        if strange.size <= share * lengths.size:
            return ""
        return (
            f"{strange.size:,} of {lengths.size:,} {data.noun} have "
            f"{_range(int(strange.min()), int(strange.max()))} residues, but the model was "
            f"trained on {_range(shortest, longest)}: their scores may be meaningless. "
            f"Trim longer {data.noun}, or train on such lengths"
        )


def dataset_files(part: Any) -> list[Path]:
    """Return the files of a dataset; for a dataset of intervals, the interval files."""
    paths: tuple[str, ...] = getattr(part, "record_files", getattr(part, "paths", ()))
    return [path for path in map(Path, paths) if path.is_file()]


def file_names(files: Iterable[Path]) -> list[str]:
    """Return printable file names, without the folders, which differ between machines."""
    return [printable(file.name) for file in files]


def _range(first: int, last: int) -> str:
    """Format the smallest and largest of some numbers as text."""
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


# File in the run folder with a hash of each training sequence.
HASHES_FILE = "letters.safetensors"
_HASHES_KEY = "hashes"

Hashes = NDArray[np.uint64]


def compute_training_hashes(train: Any) -> Hashes | None:
    """Return a hash of each sequence; None without sequences, or if they are too many."""
    hashes = hash_sequences(train)
    return None if hashes is None else np.unique(hashes)


def find_duplicates(known: Hashes | None, examples: Any) -> NDArray[np.bool_] | None:
    """Return a mask of records that duplicate a training sequence; None without hashes."""
    hashes = None if known is None else hash_sequences(examples)
    return None if known is None or hashes is None else np.isin(hashes, known)


def save_training_hashes(folder: Path, known: Hashes | None) -> None:
    """Write the hashes of training sequences if they are not None."""
    if known is not None:
        Record({_HASHES_KEY: known.view(np.int64)}).save(folder / HASHES_FILE)


def load_training_hashes(folder: Path) -> Hashes | None:
    """Read the hashes of training sequences; None if the run folder contains no hashes."""
    path = folder / HASHES_FILE
    return np.asarray(load(path)[_HASHES_KEY]).view(np.uint64) if path.exists() else None


# File in the run folder with the arrays of a fitted encoder; config.json contains their
# digest.
ENCODER = "encoder.safetensors"


@runtime_checkable
class LearnedEncoder(Protocol):
    """Encoder that is fitted to a training set, such as `seqloom.data.GenotypeEncoder`."""

    # The settings contain a digest of the fitted arrays, so equal encoders return equal
    # numbers. Datasets whose encoder can be fitted have a method `with_encoder`, which
    # replaces the encoder.

    @property
    def is_fitted(self) -> bool:
        """True if the encoder is fitted."""
        ...

    def fit(self, examples: Any) -> Self:
        """Return a copy of the encoder that is fitted to the given records."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the settings without the fitted arrays."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fitted arrays."""
        ...

    def with_arrays(self, arrays: Mapping[str, ArrayLike]) -> Self:
        """Return an encoder with the fitted arrays that `arrays` returned."""
        ...


def save_encoder(folder: Path, encoder: Any) -> None:
    """Write the fitted arrays of an encoder, if it has any."""
    if isinstance(encoder, LearnedEncoder):
        Record(encoder.arrays()).save(folder / ENCODER)


def load_encoder(folder: Path, encoder: Any) -> Any:
    """Restore the fitted arrays of an encoder from ``config.json``."""
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


def encode_with(encoder: Any, examples: Any) -> Any:
    """Return the dataset with the fitted encoder in place of an equal unfitted encoder."""
    own = examples.encoder
    if not (isinstance(encoder, LearnedEncoder) and isinstance(own, LearnedEncoder)):
        return examples
    is_same = type(own) is type(encoder) and own.settings() == encoder.settings()
    if own.is_fitted or not is_same:
        return examples
    return examples.with_encoder(encoder)
