"""What networks read: datasets, the form that encoders give records, settings that fit."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom.data import GenotypeEncoder
from seqloom.data._encoder import encoded_kind
from seqloom.encode import Kmer
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import ArgumentError


class Examples(Protocol):
    """Encoded records by position, with or without labels.

    `seqloom.data.SequenceDataset` and `seqloom.data.GenotypeDataset` are such, each of
    their subsets too, and whatever else has these names. What is not of sequences may say
    in ``noun`` what its records are called.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> examples: Examples = sl.data.SequenceDataset("a.fa")
        >>> examples.ids, examples.lengths.tolist()
        (['a', 'b'], [4, 2])
    """

    @property
    def ids(self) -> Sequence[str]:
        """The records' names."""
        ...

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of letters, or of variants, of each record."""
        ...

    @property
    def encoder(self) -> Any:
        """What turns letters or genotypes into numbers; None where nothing does."""
        ...

    @property
    def labels(self) -> NDArray[Any] | None:
        """An entry a record, or None."""
        ...

    @property
    def classes(self) -> Sequence[str]:
        """The classes' or the labels' names."""
        ...

    @property
    def task(self) -> str | None:
        """What the labels are: ``"classify"``, ``"regress"`` or ``"multilabel"``."""
        ...

    def __len__(self) -> int: ...

    def batch(self, indices: Any) -> dict[str, Any]:
        """Return the records at some positions, as arrays by name."""
        ...

    def fingerprint(self) -> str:
        """Name the content of the files and labels."""
        ...


def check_examples(name: str, value: object) -> None:
    """Refuse what is no dataset, and say how to make one of it."""
    if not (hasattr(value, "batch") and hasattr(value, "lengths")):
        raise ArgumentError(
            f"{name} must be a dataset, got {quote(value)}; {_how_to_make(value)}"
        )


def _how_to_make(value: object) -> str:
    """Say how what was given becomes a dataset."""
    if isinstance(value, (int, float)):
        return "sl.data.split(data, (0.9, 0.1)) cuts one into parts"
    if hasattr(value, "dataset"):
        return "give the dataset of the loader, its batches are made here"
    if hasattr(value, "shard"):
        return "records are needed by position: open the files with SequenceDataset"
    return "SequenceDataset(files, labels=, encoder=) or GenotypeDataset(bed) makes one"


def count_outputs(train: Examples) -> int:
    """Count the classes or labels of a training part; refuses one without labels."""
    if train.labels is None:
        raise ArgumentError("the dataset has no labels; give it labels=")
    return len(train.classes)


def require_positive(sizes: Mapping[str, int]) -> None:
    """Refuse sizes below 1 in the settings of a network."""
    for name, size in sizes.items():
        if size < 1:
            raise ArgumentError(f"{name} must be 1 or more, got {size}")


def require_sizes(config: object, sizes: Mapping[str, int]) -> None:
    """Refuse settings of which the smallest size is below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ArgumentError(
                f"{name} must give at least 1 everywhere, got {getattr(config, name)}"
            )


def require_share(dropout: float) -> None:
    """Refuse a share of features to leave out that is not in [0, 1)."""
    if not 0 <= dropout < 1:
        raise ArgumentError(f"dropout must lie in [0, 1), got {dropout}")


def count_positions(examples: Examples) -> NDArray[np.int64]:
    """Count the positions that each record has in a batch, which of tokens may be more."""
    count = getattr(examples.encoder, "places", None)
    return examples.lengths if count is None else np.asarray(count(examples.lengths))


def noun_of(examples: Examples | None) -> str:
    """Say what the records are called, in the plural."""
    return str(getattr(examples, "noun", "sequences"))


# An embedding of more numbers a token costs more than it brings.
_WIDEST = 32


def reading_of(encoder: Any) -> dict[str, Any]:
    """Return the settings by which a `SequenceCNN` reads what an encoder makes."""
    if encoded_kind(encoder) not in {"", SequenceEncoder.encodes}:
        raise ArgumentError(
            f"the dataset has {encoder.encodes}; take GenotypeMLPConfig for genotypes, "
            "HeadConfig for embeddings"
        )
    if counts_words(encoder):
        words = int(encoder.places([encoder.k])[0])
        return _reading("counts", words)
    if is_of_tokens(encoder):
        size = int(encoder.vocabulary_size)
        return _reading("tokens", min(_WIDEST, size), size)
    channels = getattr(encoder, "channels", "first")
    if hasattr(encoder, "width") and channels == "last":
        raise ArgumentError(
            "SequenceCNN reads arrays (channel, position), but the encoder gives "
            '(position, channel); give the dataset an encoder with channels="first"'
        )
    if hasattr(encoder, "width"):
        return _reading("channels", encoder.width)
    if channels is None:
        return _reading("numbers", 1)
    raise ArgumentError(
        f"SequenceCNN cannot tell what {encoder} makes, which has neither width nor "
        "vocabulary_size; write SequenceCNNConfig(channels=..., outputs=...) yourself"
    )


def is_of_tokens(encoder: Any) -> bool:
    """Return whether an encoder makes integers that are names, not amounts."""
    return hasattr(encoder, "vocabulary_size") and not counts_words(encoder)


def counts_words(encoder: Any) -> bool:
    """Return whether an encoder counts words, and so gives no place."""
    return isinstance(encoder, Kmer) and encoder.counts


def as_plain(inputs: Any) -> Any:
    """Return numbers that NumPy can hold: bfloat16 comes as a tensor of PyTorch's."""
    is_foreign = str(getattr(inputs, "dtype", "")) == "torch.bfloat16"
    return inputs.float().cpu().numpy() if is_foreign else inputs


def check_reading(encoder: Any, inputs: str, vocabulary: int | None) -> None:
    """Refuse an encoder of ours whose records a `SequenceCNN` would take for others."""
    if not encoded_kind(encoder):
        return
    found = reading_of(encoder)
    if (inputs, vocabulary) != (found["inputs"], found["vocabulary"]):
        raise ArgumentError(
            f"this network reads {_name_inputs(inputs, vocabulary)}, but {encoder} gives "
            f"{_name_inputs(found['inputs'], found['vocabulary'])}; "
            "SequenceCNNConfig.for_data(train) makes one that fits"
        )


def check_genotypes(encoder: Any) -> None:
    """Refuse an encoder of sequences where standardised genotypes are read."""
    if encoded_kind(encoder) not in {"", GenotypeEncoder.encodes}:
        raise ArgumentError(
            f"GenotypeMLP reads standardised genotypes, not what {encoder} gives; "
            "SequenceCNNConfig.for_data(train) makes a network of sequences"
        )


def _name_inputs(inputs: str, vocabulary: int | None) -> str:
    """Name a form of records."""
    return inputs if vocabulary is None else f"{inputs} of {vocabulary:,} kinds"


def _reading(inputs: str, channels: int, vocabulary: int | None = None) -> dict[str, Any]:
    """Name the settings."""
    return {"inputs": inputs, "channels": channels, "vocabulary": vocabulary}


# From so many letters on, a fixed window is worth pooling.
_WORTH_POOLING = 16
# Records that are looked at, and the share of letters in which variants of one sequence
# agree: the windows of a genome agree in a third, mutants of a protein in nine tenths.
_LOOKED_AT = 256
_ALIKE = 0.6
# Of fewer records many letters agree by chance.
_FEW = 10
# Chosen on simulated scans (benchmarks/mutational_scan.py).
_FEATURES = 64


def for_counts() -> dict[str, Any]:
    """Return the settings for counts of words: one layer over all of them."""
    return {"length": 1, "widths": (32,), "kernel_size": 1, "dropout": 0.5}


def for_windows(length: int, train: Examples, *, inputs: str) -> dict[str, Any]:
    """Return the settings for windows of one length."""
    if inputs != "numbers" and _are_variants(train):
        return {"length": length, "widths": (), "aligned": _FEATURES}
    # Half of the features left out helps to tell classes apart, but blurs a number.
    dropout = {} if train.task == "regress" else {"dropout": 0.5}
    pools = (1, 2, 2) if length >= _WORTH_POOLING else ()
    return {"length": length, "kernel_size": (3, 5, 5), "pools": pools, **dropout}


def _are_variants(train: Examples) -> bool:
    """Return whether most letters of records are those of one sequence."""
    count = min(_LOOKED_AT, len(train))
    if count < _FEW:
        return False
    looked_at = np.linspace(0, len(train) - 1, count).astype(np.int64)
    rows = as_plain(train.batch(looked_at)["inputs"])
    if rows.ndim == 3:  # noqa: PLR2004 - one-hot
        return float(rows.mean(axis=0).max(axis=0).mean()) > _ALIKE
    return float((rows == np.median(rows, axis=0)).mean()) > _ALIKE
