"""Inputs of networks: checks of datasets and encoders, and suitable settings."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom.data import GenotypeEncoder
from seqloom.data._encoder import encoder_input_type
from seqloom.encode import Kmer
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import ArgumentError

# Number of channels of one-hot DNA.
_DNA_CHANNELS = 4


class Examples(Protocol):
    """Encoded records that are selected by index, with or without labels.

    `seqloom.data.SequenceDataset` and `seqloom.data.GenotypeDataset` implement this
    protocol, and so do their subsets. Any object with the attributes of this protocol
    is accepted. If the records are not sequences, an attribute ``noun`` may contain
    their plural name for messages, such as "samples".

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
        """Ids of the records."""
        ...

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of residues or variants of each record."""
        ...

    @property
    def encoder(self) -> Any:
        """Encoder of residues or genotypes; None if the records are not encoded."""
        ...

    @property
    def labels(self) -> NDArray[Any] | None:
        """Label of each record, or None."""
        ...

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes or labels."""
        ...

    @property
    def task(self) -> str | None:
        """Task of the labels: ``"classify"``, ``"regress"`` or ``"multilabel"``."""
        ...

    def __len__(self) -> int: ...

    def batch(self, indices: Any) -> dict[str, Any]:
        """Return the records at the given indices as a dict of arrays."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of the dataset's files and labels."""
        ...


def check_examples(name: str, value: object) -> None:
    """Raise if a value is not a dataset, and explain how to create one."""
    if not (hasattr(value, "batch") and hasattr(value, "lengths")):
        raise ArgumentError(
            f"{name} must be a dataset, got {quote(value)}; {_suggest_dataset(value)}"
        )


def _suggest_dataset(value: object) -> str:
    """Return a hint on how to create a dataset from a value."""
    if isinstance(value, (int, float)):
        return "sl.data.split(data, (0.9, 0.1)) splits a dataset"
    if hasattr(value, "dataset"):
        return "pass the dataset of the loader, because this call creates its own batches"
    if hasattr(value, "shard"):
        return "records are selected by index: open the files with SequenceDataset"
    return "SequenceDataset(files, labels=, encoder=) or GenotypeDataset(bed) creates one"


def count_outputs(train: Examples) -> int:
    """Count the classes or labels of a training set; raise if it has no labels."""
    if train.labels is None:
        raise ArgumentError("the dataset has no labels; pass labels=")
    return len(train.classes)


def require_positive(sizes: Mapping[str, int]) -> None:
    """Raise if a size in the settings of a network is below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ArgumentError(f"{name} must be 1 or more, got {size}")


def require_sizes(config: object, sizes: Mapping[str, int]) -> None:
    """Raise if a setting contains a size below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ArgumentError(
                f"{name} must be at least 1 everywhere, got {getattr(config, name)}"
            )


def require_probability(dropout: float) -> None:
    """Raise if a dropout probability is not in [0, 1)."""
    if not 0 <= dropout < 1:
        raise ArgumentError(f"dropout must be in [0, 1), got {dropout}")


def count_positions(examples: Examples) -> NDArray[np.int64]:
    """Count the positions of each record in a batch, including special tokens."""
    count = getattr(examples.encoder, "places", None)
    return examples.lengths if count is None else np.asarray(count(examples.lengths))


def noun_of(examples: Examples | None) -> str:
    """Return the plural name of the records, such as "sequences"."""
    return str(getattr(examples, "noun", "sequences"))


# Largest width of an embedding; a wider embedding hardly improves predictions.
_MAX_EMBEDDING_WIDTH = 32


def find_input_settings(encoder: Any) -> dict[str, Any]:
    """Return the settings with which a `SequenceCNN` reads an encoder's records."""
    if encoder_input_type(encoder) not in {"", SequenceEncoder.encodes}:
        raise ArgumentError(
            f"the dataset has {encoder.encodes}; use GenotypeMLPConfig for genotypes, "
            "HeadConfig for embeddings"
        )
    if counts_kmers(encoder):
        words = int(encoder.places([encoder.k])[0])
        return _settings("counts", words)
    if returns_tokens(encoder):
        size = int(encoder.vocabulary_size)
        return _settings("tokens", min(_MAX_EMBEDDING_WIDTH, size), size)
    channels = getattr(encoder, "channels", "first")
    if hasattr(encoder, "width") and channels == "last":
        raise ArgumentError(
            "SequenceCNN reads arrays (channel, position), but the encoder returns "
            '(position, channel); use an encoder with channels="first"'
        )
    if hasattr(encoder, "width"):
        return _settings("channels", encoder.width)
    if channels is None:
        return _settings("numbers", 1)
    raise ArgumentError(
        f"SequenceCNN cannot read the output of {encoder}, which has neither width nor "
        "vocabulary_size; pass SequenceCNNConfig(channels=..., outputs=...) explicitly"
    )


def returns_tokens(encoder: Any) -> bool:
    """Return whether an encoder returns token ids."""
    return hasattr(encoder, "vocabulary_size") and not counts_kmers(encoder)


def counts_kmers(encoder: Any) -> bool:
    """Return whether an encoder counts k-mers and ignores their positions."""
    return isinstance(encoder, Kmer) and encoder.counts


def to_float32(inputs: Any) -> Any:
    """Convert a bfloat16 PyTorch tensor to a type that NumPy supports."""
    is_foreign = str(getattr(inputs, "dtype", "")) == "torch.bfloat16"
    return inputs.float().cpu().numpy() if is_foreign else inputs


def check_input_settings(encoder: Any, inputs: str, vocabulary: int | None) -> None:
    """Raise if a `SequenceCNN` would misinterpret the records of a seqloom encoder."""
    if not encoder_input_type(encoder):
        return
    found = find_input_settings(encoder)
    if (inputs, vocabulary) != (found["inputs"], found["vocabulary"]):
        raise ArgumentError(
            f"this network reads {_name_inputs(inputs, vocabulary)}, but {encoder} returns "
            f"{_name_inputs(found['inputs'], found['vocabulary'])}; "
            "SequenceCNNConfig.for_data(train) creates one that fits"
        )


def check_one_hot(network: str, encoder: Any) -> None:
    """Raise if an encoder does not return one-hot DNA ``(channel, position)``."""
    if not encoder_input_type(encoder):
        return  # arrays without an encoder, or an encoder of the user
    found = getattr(encoder, "width", None), getattr(encoder, "channels", None)
    if (
        found != (_DNA_CHANNELS, "first")
        or getattr(encoder, "alphabet", "dna") == "protein"
    ):
        raise ArgumentError(
            f"{network} reads one-hot DNA (channel, position), got the encoder {encoder}; "
            'use OneHot("dna")'
        )


def check_genotypes(encoder: Any) -> None:
    """Raise if an encoder of sequences is passed to a network of genotypes."""
    if encoder_input_type(encoder) not in {"", GenotypeEncoder.encodes}:
        raise ArgumentError(
            f"GenotypeMLP reads standardised genotypes, not the output of {encoder}; "
            "SequenceCNNConfig.for_data(train) creates a network for sequences"
        )


def _name_inputs(inputs: str, vocabulary: int | None) -> str:
    """Return a description of the network's inputs for a message."""
    return inputs if vocabulary is None else f"{inputs} of {vocabulary:,} kinds"


def _settings(inputs: str, channels: int, vocabulary: int | None = None) -> dict[str, Any]:
    return {"inputs": inputs, "channels": channels, "vocabulary": vocabulary}


# Sequences of equal length are pooled if they have at least this length.
_MIN_POOLED_LENGTH = 16
# Number of records to inspect, and the smallest fraction of equal residues in variants.
# The fraction of equal residues is about 0.3 in windows of a genome, and 0.9 in mutants
# of a protein.
_MAX_INSPECTED_RECORDS = 256
_MIN_AGREEMENT = 0.6
# With fewer records, many residues agree by chance.
_MIN_RECORDS = 10
# Width and weight decay, chosen on mutational scans. Precise measurements need a small
# decay and noisy measurements a large decay, so `fit("auto")` compares two decays.
_ALIGNED_FEATURES = 64
_ALIGNED_DECAY = 1.0


def for_counts() -> dict[str, Any]:
    """Return the network settings for k-mer counts: one layer that reads all counts."""
    return {"length": 1, "widths": (32,), "kernel_size": 1, "dropout": 0.5}


def for_windows(length: int, train: Examples, *, inputs: str) -> dict[str, Any]:
    """Return the network settings for sequences of equal length."""
    if inputs != "numbers" and are_variants(train):
        sizes = {"length": length, "widths": (), "aligned": _ALIGNED_FEATURES}
        return {**sizes, "weight_decay": _ALIGNED_DECAY}
    # Strong dropout helps classification, but makes regression less accurate.
    dropout = {} if train.task == "regress" else {"dropout": 0.5}
    pools = (1, 2, 2) if length >= _MIN_POOLED_LENGTH else ()
    return {"length": length, "kernel_size": (3, 5, 5), "pools": pools, **dropout}


def are_variants(train: Examples) -> bool:
    """Return whether most residues agree between records, as in a mutational scan."""
    count = min(_MAX_INSPECTED_RECORDS, len(train))
    if count < _MIN_RECORDS or np.ptp(count_positions(train)):
        return False
    indices = np.linspace(0, len(train) - 1, count).astype(np.int64)
    rows = to_float32(train.batch(indices)["inputs"])
    if rows.ndim == 3:  # noqa: PLR2004 - one-hot
        return float(rows.mean(axis=0).max(axis=0).mean()) > _MIN_AGREEMENT
    return float((rows == np.median(rows, axis=0)).mean()) > _MIN_AGREEMENT
