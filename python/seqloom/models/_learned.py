"""Encoders that learn: what they need of the training part goes with the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.errors import MissingFileError, RecordError
from seqloom.record import Record, load

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
        """Gives an encoder that has learned from some records, and from no others."""
        ...

    def settings(self) -> dict[str, Any]:
        """Lists what it was told, without what it has learned."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Lists what it has learned."""
        ...

    def with_arrays(self, arrays: Mapping[str, ArrayLike]) -> Self:
        """Gives an encoder that has learned what `arrays` listed."""
        ...


def save_encoder(folder: Path, encoder: Any) -> None:
    """Writes what an encoder has learned, if it is one that learns."""
    if isinstance(encoder, LearnedEncoder):
        Record(encoder.arrays()).save(folder / ENCODER)


def load_encoder(folder: Path, encoder: Any) -> Any:
    """Gives an encoder of ``config.json`` back what it had learned."""
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
    """Shows records through a fitted encoder, where theirs is the same but not fitted."""
    own = examples.encoder
    if not (isinstance(encoder, LearnedEncoder) and isinstance(own, LearnedEncoder)):
        return examples
    is_same = type(own) is type(encoder) and own.settings() == encoder.settings()
    if own.is_fitted or not is_same:
        return examples
    return examples.with_encoder(encoder)
