"""What a network reads: the form that an encoder gives records."""

from typing import Any

from seqloom.data import GenotypeEncoder
from seqloom.data._encoder import encoded_kind
from seqloom.encode import Kmer
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import ArgumentError

# An embedding of more numbers a token costs more than it brings.
_WIDEST = 32


def reading_of(encoder: Any) -> dict[str, Any]:
    """Gives the settings by which a `SequenceCNN` reads what an encoder makes."""
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
    if hasattr(encoder, "width"):
        return _channels(encoder)
    if getattr(encoder, "channels", "first") is None:
        return _reading("numbers", 1)
    raise ArgumentError(
        f"SequenceCNN cannot tell what {encoder} makes, which has neither width nor "
        "vocabulary_size; write SequenceCNNConfig(channels=..., outputs=...) yourself"
    )


def is_of_tokens(encoder: Any) -> bool:
    """Says whether an encoder makes integers that are names, not amounts."""
    return hasattr(encoder, "vocabulary_size") and not counts_words(encoder)


def counts_words(encoder: Any) -> bool:
    """Says whether an encoder counts words, and so gives no place."""
    return isinstance(encoder, Kmer) and encoder.counts


def as_plain(inputs: Any) -> Any:
    """Gives numbers that NumPy can hold: bfloat16 comes as a tensor of PyTorch's."""
    is_foreign = str(getattr(inputs, "dtype", "")) == "torch.bfloat16"
    return inputs.float().cpu().numpy() if is_foreign else inputs


def check_reading(encoder: Any, inputs: str, vocabulary: int | None) -> None:
    """Refuses an encoder of ours whose records a `SequenceCNN` would take for others."""
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
    """Refuses an encoder of sequences where standardised genotypes are read."""
    if encoded_kind(encoder) not in {"", GenotypeEncoder.encodes}:
        raise ArgumentError(
            f"GenotypeMLP reads standardised genotypes, not what {encoder} gives; "
            "SequenceCNNConfig.for_data(train) makes a network of sequences"
        )


def _name_inputs(inputs: str, vocabulary: int | None) -> str:
    """Names a form of records."""
    return inputs if vocabulary is None else f"{inputs} of {vocabulary:,} kinds"


def _reading(inputs: str, channels: int, vocabulary: int | None = None) -> dict[str, Any]:
    """Names the settings."""
    return {"inputs": inputs, "channels": channels, "vocabulary": vocabulary}


def _channels(encoder: Any) -> dict[str, Any]:
    """Takes one-hot arrays, whose channels stand before the positions."""
    if getattr(encoder, "channels", "first") == "last":
        raise ArgumentError(
            "SequenceCNN reads arrays (channel, position), but the encoder gives "
            "(position, "
            'channel); give the dataset an encoder with channels="first"'
        )
    return _reading("channels", encoder.width)
