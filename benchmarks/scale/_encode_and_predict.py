"""Two measured operations: encode sequences, and predict with a convolutional network."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks._measure import read_blocks
from benchmarks.scale._reading import BASES, Maker, Work
from benchmarks.scale._sweeps import LOWER_BOUND, InputSizes

# Channels of the network, width of its convolution, and number of classes.
WIDTH, KERNEL, CLASSES = 16, 9, ("a", "b", "c")
BATCH_RECORDS = 64
# Windows per matrix product in the lower bound.
WINDOWS_PER_PRODUCT = 4096
ONE_HOT_TABLE = np.zeros((256, 4), np.float32)
ONE_HOT_TABLE[BASES, range(4)] = 1


def make_encoder(side: str) -> Maker:
    """Return a function that encodes sequences in memory into a new one-hot array."""
    return lambda sizes, _: PREPARE_ENCODING_OF_LIBRARY[side](_random_bases(sizes))


def _random_bases(sizes: InputSizes) -> NDArray[np.uint8]:
    """Return random bases ``(record, position)``."""
    draw = np.random.default_rng(0)
    return BASES[draw.integers(0, 4, (sizes.records, sizes.length))]


def _encode_with_seqloom(letters: NDArray[np.uint8]) -> Work:
    """Call the encoder once for all sequences."""
    from seqloom._ragged import Ragged
    from seqloom.encode import OneHot

    records, length = letters.shape
    rows = Ragged(letters.ravel(), np.arange(records + 1, dtype=np.int64) * length)
    encoder = OneHot("dna")
    return lambda: (encoder.batch(rows, num_threads=1),)


def _encode_with_numpy(letters: NDArray[np.uint8]) -> Work:
    """Encode by comparison with each base, the fastest way found in NumPy."""

    def run_once() -> tuple[Any]:
        out = np.empty((len(letters), 4, letters.shape[1]), np.float32)
        for channel, letter in enumerate(b"ACGT"):
            np.equal(letters, letter, out=out[:, channel])
        return (out,)

    return run_once


def _fill_new_array(letters: NDArray[np.uint8]) -> Work:
    """Return the lower bound: a function that writes an equally large new array."""

    def run_once() -> tuple[()]:
        np.empty((4, letters.size), np.float32).fill(1)
        return ()

    return run_once


PREPARE_ENCODING_OF_LIBRARY = {
    "seqloom": _encode_with_seqloom,
    "NumPy": _encode_with_numpy,
    LOWER_BOUND: _fill_new_array,
}


def make_predictor(side: str) -> Maker:
    """Return a function that scores the sequences of a file."""
    makers = {
        "seqloom": _make_seqloom_predictor,
        "torch over dnaio": _make_torch_predictor,
        LOWER_BOUND: _make_lower_bound,
    }
    return makers[side]()


def _make_seqloom_predictor() -> Maker:
    """Predict with seqloom and a network that reads any length."""
    import seqloom as sl
    from seqloom.infer._loop import evaluation_batch_size

    encoder, task = sl.encode.OneHot("dna"), sl.models.Classify(CLASSES)

    def prepare_scoring(_: InputSizes, path: Path) -> Work:
        model = _make_network().eval()
        data = sl.data.SequenceDataset(path, encoder=encoder)
        trained = sl.models.Trained(model, encoder, task, evaluation_batch_size(data))
        return lambda: (sl.infer.predict(trained, path, num_threads=1).to_numpy(),)

    return prepare_scoring


def _make_network() -> Any:
    """Return the network with random weights."""
    import seqloom as sl

    config = sl.models.SequenceCNNConfig(
        channels=4, outputs=len(CLASSES), widths=(WIDTH,), kernel_size=KERNEL
    )
    return config.init(sl.tensor.backend("numpy", num_threads=1), sl.Key(0))


def _make_torch_predictor() -> Maker:
    """Predict with the same network in PyTorch, on records that dnaio reads."""
    import torch

    weights = {
        path: torch.tensor(np.array(x)) for path, x in _make_network().to_record().items()
    }

    def prepare_scoring(_: InputSizes, path: Path) -> Work:
        torch.set_num_threads(1)
        return lambda: (_score_all_batches(path, weights),)

    return prepare_scoring


def _score_all_batches(path: Path, weights: dict[str, Any]) -> NDArray[np.float32]:
    """Score each batch and collect the record names, as seqloom does."""
    import torch

    names: list[str] = []
    scores: list[Any] = []
    with torch.no_grad():
        for batch in _read_batches(path):
            names += [record.name for record in batch]
            letters = np.frombuffer("".join(r.sequence for r in batch).encode(), np.uint8)
            x = torch.from_numpy(ONE_HOT_TABLE[letters].reshape(len(batch), -1, 4))
            scores.append(_torch_probabilities(x.transpose(1, 2), weights))
    return torch.cat(scores).numpy()


def _read_batches(path: Path) -> Iterator[list[Any]]:
    """Read records with dnaio, one batch at a time."""
    with import_module("dnaio").open(str(path), open_threads=0) as file:
        records = iter(file)
        while batch := list(islice(records, BATCH_RECORDS)):
            yield batch


def _torch_probabilities(x: Any, weights: dict[str, Any]) -> Any:
    """Return a function that computes class probabilities."""
    import torch
    from torch.nn import functional as F

    norm = [weights[f"blocks.0.norm.{name}"] for name in NORM_ARRAYS]
    x = F.conv1d(x, weights["blocks.0.conv.weight"], padding="same")
    x = F.gelu(F.batch_norm(x, *norm))
    x = torch.cat((x.mean(dim=2), x.amax(dim=2)), dim=1)
    return F.linear(x, weights["head.weight"], weights["head.bias"]).softmax(dim=1)


NORM_ARRAYS = ("running_mean", "running_var", "weight", "bias")


def _make_lower_bound() -> Maker:
    """Return the lower bound: a function that reads the file and multiplies matrices."""

    def prepare_scoring(sizes: InputSizes, path: Path) -> Work:
        threadpool_limits(1, user_api="blas")  # thread limit of the whole process
        windows = np.ones((WINDOWS_PER_PRODUCT, 4 * KERNEL), np.float32)
        kernels = np.ones((4 * KERNEL, WIDTH), np.float32)
        out = np.empty((WINDOWS_PER_PRODUCT, WIDTH), np.float32)

        def run_once() -> tuple[()]:
            read_blocks(path)
            for _ in range(-(-sizes.records * sizes.length // WINDOWS_PER_PRODUCT)):
                np.matmul(windows, kernels, out=out)
            return ()

        return run_once

    return prepare_scoring
