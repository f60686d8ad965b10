"""From whatever `predict` is given to records that the model's encoder reads."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeAlias, cast

from seqloom._arguments import shown
from seqloom.data import GenotypeDataset, GenotypeEncoder, SequenceDataset
from seqloom.errors import ArgumentError, ConfigError, LabelError, SeqloomError
from seqloom.models import Examples, Trained
from seqloom.models._examples import check_examples
from seqloom.models._learned import seen_by

FilePath: TypeAlias = str | os.PathLike[str]
Readable: TypeAlias = FilePath | IO[bytes] | IO[str] | Sequence[FilePath]


@contextmanager
def opened(trained: Trained, data: Examples | Readable) -> Generator[Examples]:
    """Opens files with the model's encoder, or checks that a dataset has it.

    Args:
        trained: The model.
        data: A dataset, files, or an open file; that is read to its end.

    Yields:
        Records that the model reads.
    """
    if hasattr(data, "batch"):
        yield _checked(trained, data)
    elif hasattr(data, "read"):
        with _from_stream(trained.encoder, cast("IO[bytes]", data)) as examples:
            yield examples
    else:
        yield _from_files(trained.encoder, _paths_of(data))


def check_encoder(trained: Trained, data: Examples) -> None:
    """Refuses a dataset with another encoder."""
    if data.encoder != trained.encoder:
        raise ConfigError(
            f"the model reads {trained.encoder}, the dataset has {data.encoder}; "
            "give the dataset encoder=model.encoder"
        )


def _checked(trained: Trained, data: object) -> Examples:
    """Shows a dataset through the model's encoder."""
    check_examples("data", data)
    examples = cast("Examples", seen_by(trained.encoder, data))
    check_encoder(trained, examples)
    return examples


def _paths_of(data: object) -> list[Any]:
    """Lists the files that are meant."""
    if isinstance(data, bytes):
        return [os.fsdecode(data)]
    if isinstance(data, (str, os.PathLike)):
        return [data]
    if hasattr(data, "dataset") or hasattr(data, "shard"):
        check_examples("data", data)
    found = list(cast("Any", data)) if hasattr(data, "__iter__") else [None]
    if not all(isinstance(each, (str, os.PathLike)) for each in found):
        raise ArgumentError(
            "data must be a file, an open file, several files, or a dataset with the "
            f"model's encoder, got {shown(data)}"
        )
    return found


def _from_files(encoder: Any, paths: list[FilePath]) -> Examples:
    """Opens files as the model's encoder reads them, without labels."""
    if not isinstance(encoder, GenotypeEncoder):
        return SequenceDataset(paths, encoder=encoder)
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
            yield SequenceDataset(held, encoder=encoder)
        except SeqloomError as error:
            # A reader knows the file by the name that it gave to open().
            words = (str(each).replace(str(held), name) for each in error.args)
            error.args = tuple(words)
            if hasattr(error, "path"):
                error.path = name  # pyright: ignore[reportAttributeAccessIssue]
            raise


def _copy(stream: IO[bytes] | IO[str], target: Path) -> None:
    """Writes what is left of a stream into a file."""
    is_text = isinstance(stream.read(0), str)
    with target.open("w" if is_text else "wb") as file:
        copyfileobj(cast("Any", stream), cast("Any", file))
