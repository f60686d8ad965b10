"""Inputs of linear baselines: composition, k-mer counts, one-hot residues, genotypes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data import GenotypeEncoder
from seqloom.data._encoder import encoder_input_type
from seqloom.data._parts import has_letters
from seqloom.encode import Kmer, OneHot
from seqloom.encode._letters import ALPHABETS
from seqloom.models import GenotypeMLPConfig, SequenceLinearConfig
from seqloom.models._examples import count_positions, to_float32
from seqloom.models._sequence_linear import choose_k
from seqloom.nn import Module
from seqloom.tensor import Backend
from seqloom.train._linear import Floats
from seqloom.train._parts import Parts

# Maximum number of values (records times features) of a fit, so that it takes seconds.
_MAX_VALUES = 1 << 25
_MAX_VARIANTS = 5000
_MAX_FEATURES = 20_000
# Length of the longest k-mers of DNA and RNA, which have 4 letters: as long as many motifs
# of transcription factors.
_MOTIF_LENGTH = {4: 6}
# Maximum number of values that are read at a time.
_BATCH_VALUES = 1 << 23

Rows = NDArray[np.int64]
Reader = Callable[[Any, Rows], Floats]
# (weights, biases, backend) -> network with the outputs of the linear model
NetworkMaker = Callable[[Floats, Floats, Backend], Module]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFeatures:
    """Features of each record for a linear model."""

    name: str
    read: Reader  # (dataset, record indices) -> (records, features)
    count: int
    is_scaled: bool = True  # if True, divide each feature by its standard deviation
    has_lasso: bool = False  # if True, also fit a lasso
    columns: Rows | None = None  # selected features; None for all
    network: NetworkMaker | None = None

    def make_network(
        self, weights: Floats, bias: Floats, backend: Backend
    ) -> Module | None:
        """Return a network that computes the linear model; None if there is none."""
        if self.network is None:
            return None
        if self.columns is not None:
            full = np.zeros((self.count, weights.shape[1]))
            full[self.columns] = weights
            weights = full
        return self.network(weights, bias, backend)

    def __call__(self, part: Any, rows: Rows) -> Floats:
        """Read the features of some records, in batches that limit the memory."""
        batches = (self.read(part, it) for it in self.split(rows))
        chosen = slice(None) if self.columns is None else self.columns
        return np.concatenate([batch[:, chosen] for batch in batches])

    def split(self, rows: Rows) -> list[Rows]:
        """Split records into batches."""
        size = max(1, _BATCH_VALUES // max(self.count, 1))
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def sample(self, part: Any) -> Rows:
        """Return all records, or regularly spaced records if there are too many."""
        width = self.count if self.columns is None else len(self.columns)
        count = min(len(part), max(1, _MAX_VALUES // max(width, 1)))
        return np.linspace(0, len(part) - 1, count).round().astype(np.int64)

    def screen(self, part: Any, targets: Floats) -> "RecordFeatures":
        """Select the features that correlate most with a target, if there are too many."""
        if self.count <= _MAX_VARIANTS or not self.has_lasso:
            return self
        targets = targets - targets.mean(axis=0)
        moments = np.zeros((2, self.count))
        products = np.zeros((self.count, targets.shape[1]))
        for rows in self.split(np.arange(len(part))):
            x = self.read(part, rows).astype(np.float64)
            moments += x.sum(axis=0), np.square(x).sum(axis=0)
            products += x.T @ targets[rows]
        variance = np.maximum(moments[1] - np.square(moments[0]) / len(part), 1e-12)
        strength = np.abs(products).max(axis=1) / np.sqrt(variance)
        chosen = np.sort(np.argsort(-strength, kind="stable")[:_MAX_VARIANTS])
        name = f"{self.name} ({_MAX_VARIANTS:,} of {self.count:,})"
        return replace(self, name=name, columns=chosen)


def list_features(parts: Parts) -> Iterator[RecordFeatures]:
    """Yield the inputs of linear models that suit the records."""
    examples = [part for _, part in parts.list_examples()]
    train = examples[0]
    lengths = np.unique(np.concatenate([count_positions(part) for part in examples]))
    alphabet = getattr(train.encoder, "alphabet", None)
    is_genotypes = encoder_input_type(train.encoder) == GenotypeEncoder.encodes
    if has_letters(train) and alphabet is not None:
        yield from _list_sequence_features(train.encoder, lengths)
    elif len(lengths) == 1 and "inputs" in train.batch(np.arange(1)):
        count = read_inputs(train, np.arange(1)).shape[1]
        if is_genotypes:
            # Genotypes are already standardised by their encoder.
            has_covariates = "covariates" in train.batch(np.arange(1))
            yield RecordFeatures(
                name="genotypes and covariates" if has_covariates else "genotypes",
                read=read_inputs,
                count=count,
                is_scaled=False,
                has_lasso=True,
                network=partial(_make_genotype_network, train=train),
            )
        elif count <= _MAX_FEATURES:
            yield RecordFeatures(name="inputs", read=read_inputs, count=count)


def _list_sequence_features(
    network_encoder: Any, lengths: NDArray[np.int64]
) -> Iterator[RecordFeatures]:
    """Yield composition, k-mer counts and, if all lengths are equal, one-hot residues."""
    alphabet = network_encoder.alphabet
    # Residues that the network's encoder accepts must not be errors here.
    rules: dict[str, Any] = {"symbols": "zeros"} if alphabet in ALPHABETS else {}
    if alphabet == "protein":
        rules["rare"] = "zeros"
    elif alphabet == "dna":
        rules["rna_as_dna"] = True
    single = Kmer(1, alphabet, counts=True, **rules)
    size = len(single.letters)
    is_one_hot = (
        isinstance(network_encoder, OneHot)
        and network_encoder.channels == "first"
        and network_encoder.width == size
        and network_encoder.case != "mask"
    )
    short = choose_k(size)
    for k in sorted({1, short, _MOTIF_LENGTH.get(size, short)}):
        encoder = Kmer(k, alphabet, counts=True, **rules)
        yield RecordFeatures(
            name="composition" if k == 1 else f"{k}-mer counts",
            read=_frequency_reader(encoder, single),
            count=size**k + 1,
            network=partial(_make_sequence_network, k=k) if is_one_hot else None,
        )
    if len(lengths) == 1 and size * int(lengths[0]) <= _MAX_FEATURES:
        encoder = OneHot(alphabet, unknown="zeros", **rules)
        yield RecordFeatures(
            name="one-hot",
            read=lambda part, rows: read_inputs(_encode(part, encoder), rows),
            count=size * int(lengths[0]),
            is_scaled=False,
            network=(
                partial(_make_sequence_network, length=int(lengths[0]))
                if is_one_hot
                else None
            ),
        )


def _make_sequence_network(
    weights: Floats,
    bias: Floats,
    backend: Backend,
    *,
    length: int | None = None,
    k: int | None = None,
) -> Module:
    """Return the network of a linear model of one-hot residues or k-mer frequencies."""
    count, outputs = weights.shape
    if k is not None:
        # The network multiplies frequencies by the number of k-mers; the last feature is
        # the log length.
        channels = round((count - 1) ** (1 / k))
        weights = weights / np.array([count - 1] * (count - 1) + [1])[:, None]
    else:
        channels = count // (length or 1)
    config = SequenceLinearConfig(channels, outputs, length=length, k=k)
    model = config.init(backend)
    return model.load_record({"weight": weights.T, "bias": bias})


def _make_genotype_network(
    weights: Floats, bias: Floats, backend: Backend, *, train: Any
) -> Module:
    """Return the network of a linear model of genotypes and covariates."""
    config = replace(GenotypeMLPConfig.for_data(train), hidden=())
    model: Any = config.init(backend)
    model.linear.assign(weights.T, bias)
    return model


def _encode(part: Any, encoder: Any) -> Any:
    """Return a dataset with another encoder, without augmentation and jitter."""
    return part.replace(encoder=encoder, augment=None, jitter=0)


def _frequency_reader(encoder: Kmer, single: Kmer) -> Reader:
    """Return a reader of k-mer frequencies and of the logarithm of the length."""

    def read(part: Any, rows: Rows) -> Floats:
        counts = _encode(part, encoder).batch(rows)["inputs"]
        totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
        # Unknown residues do not count, as in `SequenceLinear`.
        residues = counts
        if encoder.k > 1:
            residues = _encode(part, single).batch(rows)["inputs"]
        lengths = np.log1p(residues.sum(axis=1, keepdims=True)).astype(np.float32)
        return np.hstack([counts / totals, lengths])

    return read


def read_inputs(part: Any, rows: Rows) -> Floats:
    """Read the inputs of the network, and covariates, as one row for each record."""
    batch = part.batch(rows)
    names = [name for name in ("inputs", "covariates") if name in batch]
    columns = [np.asarray(to_float32(batch[name])).reshape(len(rows), -1) for name in names]
    return np.hstack(columns).astype(np.float32)
