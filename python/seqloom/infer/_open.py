"""From whatever `predict` is given to records that the model's encoder reads."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeAlias, cast

from seqloom._arguments import quote
from seqloom.data import (
    EmbeddingDataset,
    EmbeddingEncoder,
    GenotypeDataset,
    GenotypeEncoder,
    Labels,
    SequenceDataset,
)
from seqloom.data._frame import Frame
from seqloom.data._sources import is_sequence_table
from seqloom.errors import (
    ArgumentError,
    ConfigError,
    LabelError,
    MissingFileError,
    SeqloomError,
)
from seqloom.infer.embedding._load import load
from seqloom.io._settings import replace_remedies
from seqloom.models import Examples, Trained
from seqloom.models._examples import check_examples
from seqloom.models._learned import seen_by

FilePath: TypeAlias = str | os.PathLike[str]
# A data frame or a data set of another library has no type that we could name.
Readable: TypeAlias = Any
# A dataset takes what `predict` and `evaluate` do not.
_DATASET = "SequenceDataset(data, encoder=model.encoder, {python})"
# What records of ours and of Biopython have.
_LETTERS_OF = ("sequence", "seq")


@contextmanager
def open_examples(trained: Trained, data: Examples | Readable) -> Generator[Examples]:
    """Opens files with the model's encoder, or checks that a dataset has it."""
    if hasattr(data, "batch") and hasattr(data, "encoder"):
        yield _check_dataset(trained, data)
    elif hasattr(data, "read"):
        with _from_stream(trained.encoder, cast("IO[bytes]", data)) as examples:
            yield examples
    else:
        with replace_remedies(_DATASET):
            examples = _open_for_encoder(trained.encoder, data)
        if isinstance(trained.encoder, EmbeddingEncoder):
            check_encoder(trained, examples)
        yield examples


def open_labelled(trained: Trained, data: Examples | Readable) -> Examples:
    """Opens a table of sequences and labels, or checks that a dataset has the encoder."""
    if isinstance(trained.encoder, GenotypeEncoder) or not _is_of_sequences(data):
        check_examples("data", data)
        return cast("Examples", seen_by(trained.encoder, data))
    task = trained.task.name
    has_columns = task != "classify" and len(trained.classes) > 1
    columns = trained.classes if has_columns else None
    labels = Labels(classes=trained.classes, task=task, label_column=columns)
    with replace_remedies(_DATASET):
        return SequenceDataset(data, encoder=trained.encoder, labels=labels)


def _is_of_sequences(data: object) -> bool:
    """Tells a table of sequences, a file or in memory, from what is none."""
    if isinstance(data, (list, tuple)):
        rows: list[Any] = list(cast("Any", data))
        return bool(rows) and isinstance(rows[0], Mapping)
    if isinstance(data, (str, os.PathLike)):
        return is_sequence_table(cast("FilePath", data), "sequence")
    return Frame.of(data) is not None


def check_encoder(trained: Trained, data: Examples) -> None:
    """Refuses a dataset with another encoder."""
    if data.encoder != trained.encoder:
        remedy = "give the dataset encoder=model.encoder"
        if isinstance(trained.encoder, EmbeddingEncoder):
            remedy = "embed the records by the same model and settings"
        raise ConfigError(
            f"the model reads {trained.encoder}, the dataset has {data.encoder}; {remedy}"
        )


def _check_dataset(trained: Trained, data: object) -> Examples:
    """Shows a dataset through the model's encoder."""
    check_examples("data", data)
    examples = cast("Examples", seen_by(trained.encoder, data))
    check_encoder(trained, examples)
    return examples


def _open_for_encoder(encoder: Any, data: object) -> Examples:
    """Opens files, or sequences from memory, as the model's encoder reads them."""
    if isinstance(data, bytes):
        data = os.fsdecode(data)
    if isinstance(encoder, GenotypeEncoder):
        return _genotypes(encoder, _paths_of(data))
    if isinstance(encoder, EmbeddingEncoder):
        return EmbeddingDataset(_folder_of(data), layer=encoder.layer)
    if isinstance(data, str):
        _check_file(data)
    if not isinstance(data, (str, os.PathLike)) and Frame.of(data) is None:
        data = _rows_of(data)
    return SequenceDataset(data, encoder=encoder, labels=False)


def _check_file(name: str) -> None:
    """Says how a single sequence is given, which would be the name of a file."""
    if name.isascii() and name.isalpha() and not Path(name).exists():
        raise MissingFileError(
            f'{name}: no such file; a single sequence is given in a list: ["{name[:20]}'
            + ('..."]' if len(name) > 20 else '"]')  # noqa: PLR2004 - enough to be known
        )


def _folder_of(data: object) -> Any:
    """Opens a folder of embeddings, unless it is open."""
    is_path = isinstance(data, (str, os.PathLike))
    return load(cast("FilePath", data)) if is_path else data


def _rows_of(data: object) -> object:
    """Refuses what is neither files nor sequences."""
    if isinstance(data, Mapping):
        return data  # pyright: ignore[reportUnknownVariableType]
    if hasattr(data, "dataset") or hasattr(data, "shard"):
        check_examples("data", data)
    found = list(cast("Any", data)) if hasattr(data, "__iter__") else [None]
    if not all(map(_can_be_sequence, found)):
        raise ArgumentError(
            "data must be a file, an open file, several files, a list, dict or data frame "
            f"of sequences, or a dataset with the model's encoder, got {quote(data)}"
        )
    return data if hasattr(data, "__len__") else found


def _can_be_sequence(row: object) -> bool:
    """Tells whether an element of a list may be a file or a sequence."""
    kinds = (str, os.PathLike, bytes, bytearray, Mapping, tuple, list)
    is_bytes = getattr(getattr(row, "dtype", None), "itemsize", 0) == 1
    return isinstance(row, kinds) or is_bytes or any(hasattr(row, it) for it in _LETTERS_OF)


def _paths_of(data: object) -> list[Any]:
    """Lists the files that are meant."""
    if isinstance(data, (str, os.PathLike)):
        return [data]
    found = list(cast("Any", data)) if hasattr(data, "__iter__") else [None]
    if not all(isinstance(item, (str, os.PathLike)) for item in found):
        raise ArgumentError(
            f"data must be a .bed, or a dataset with the model's encoder, got {quote(data)}"
        )
    return found


def _genotypes(encoder: GenotypeEncoder, paths: list[FilePath]) -> Examples:
    """Opens a .bed as the model's encoder reads it, without labels."""
    if len(paths) != 1:
        raise ArgumentError(f"genotypes are one .bed at a time, got {len(paths)} files")
    if encoder.covariate_names:
        raise LabelError(
            f"the model reads the covariates {', '.join(encoder.covariate_names)} too: "
            "give GenotypeDataset(bed, phenotype=False, covariates=, encoder=model.encoder)"
        )
    return GenotypeDataset(paths[0], phenotype=False, encoder=encoder)


@contextmanager
def _from_stream(encoder: Any, stream: IO[bytes]) -> Generator[Examples]:
    """Keeps a stream in a file while it is scored, since it can be read once only."""
    if isinstance(encoder, GenotypeEncoder):
        raise ArgumentError(
            "the model reads genotypes, which lie in three files: give the path of the .bed"
        )
    name = str(getattr(stream, "name", "the open file"))
    with TemporaryDirectory(prefix="seqloom-") as folder:
        held = Path(folder) / "stream"
        try:
            _copy(stream, held)
            with replace_remedies(_DATASET):
                examples = SequenceDataset(held, encoder=encoder, labels=False)
            yield examples
        except SeqloomError as error:
            # A reader knows the file by the name that it gave to open().
            words = (str(word).replace(str(held), name) for word in error.args)
            error.args = tuple(words)
            if hasattr(error, "path"):
                error.path = name  # pyright: ignore[reportAttributeAccessIssue]
            raise


def _copy(stream: IO[bytes] | IO[str], target: Path) -> None:
    """Writes what is left of a stream into a file."""
    is_text = isinstance(stream.read(0), str)
    with target.open("w" if is_text else "wb") as file:
        copyfileobj(cast("Any", stream), cast("Any", file))
