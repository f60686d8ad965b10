"""Outputs of changed sequences are those of whole passes, which are the oracle."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.infer import _changed_passes
from seqloom.infer._changed_passes import ChangedPasses

F = sl.nn.functional
LENGTH = 240
Function = Callable[[sl.tensor.Tensor], sl.tensor.Tensor]


class Chain(sl.nn.Module):
    """Layers and functions in a fixed order."""

    layers: list[sl.nn.Module]

    def __init__(self, *steps: sl.nn.Module | Function) -> None:
        self.layers = [it for it in steps if isinstance(it, sl.nn.Module)]
        self.functions = tuple(
            len(self.layers) if isinstance(it, sl.nn.Module) else it for it in steps
        )

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        layers = iter(self.layers)
        for step in self.functions:
            x = next(layers)(x) if isinstance(step, int) else step(x)
        return x


class Residual(sl.nn.Module):
    """The input plus a dilated convolution."""

    conv: sl.nn.Conv1d
    norm: sl.nn.BatchNorm1d

    def __init__(self, dilation: int) -> None:
        self.norm = sl.nn.BatchNorm1d(8)
        self.conv = sl.nn.Conv1d(8, 8, 3, padding="same", dilation=dilation)

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        return x + F.gelu(self.conv(self.norm(x)))


class Positions(sl.nn.Module):
    """Adds one number for each channel and position."""

    table: sl.nn.Param

    def __init__(self, length: int) -> None:
        self.table = sl.nn.Param((8, length), sl.nn.Normal(1.0))

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        return x * 2 + self.table.value


def stem(**options: Any) -> sl.nn.Conv1d:
    return sl.nn.Conv1d(4, 8, 7, **options)


def mean(x: sl.tensor.Tensor) -> sl.tensor.Tensor:
    return x.mean(2)


NETWORKS: dict[str, Callable[[], sl.nn.Module]] = {
    "profile": lambda: Chain(stem(), F.relu, sl.nn.Conv1d(8, 2, 5)),
    "strides": lambda: Chain(
        stem(stride=3, padding=4), F.relu, sl.nn.Conv1d(8, 8, 4, stride=2)
    ),
    "groups": lambda: Chain(stem(), sl.nn.Conv1d(8, 16, 3, groups=4, padding=1), mean),
    "residuals": lambda: Chain(stem(padding="same"), *map(Residual, (1, 2, 4, 8)), mean),
    "crop": lambda: Chain(
        stem(padding="same"), *map(Residual, (1, 4)), lambda x: x[:, :, 100:-90]
    ),
    "max pool": lambda: Chain(
        stem(), lambda x: F.max_pool1d(x, 3, 2, 1), sl.nn.Conv1d(8, 3, 3, padding=1)
    ),
    "mean pool": lambda: Chain(
        stem(padding=3), lambda x: F.avg_pool1d(x, 4), lambda x: F.avg_pool1d(x, 3, 2, 1)
    ),
    "linear": lambda: Chain(
        stem(padding=3), lambda x: x.mT, sl.nn.LayerNorm(8), sl.nn.Linear(8, 3), F.softmax
    ),
    "softmax": lambda: Chain(stem(), lambda x: F.softmax(x, 1), lambda x: x.sum(1)),
    "positions": lambda: Chain(stem(padding="same"), Positions(LENGTH), F.relu),
    "concatenation": lambda: Chain(
        stem(padding="same"),
        lambda x: sl.tensor.concat([x, F.relu(x)], axis=1),
        sl.nn.Conv1d(16, 2, 9),
    ),
    "transposed": lambda: Chain(
        stem(stride=2), sl.nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1)
    ),
    "reshape": lambda: Chain(
        stem(padding=3), lambda x: x.reshape(-1, 2, 4, LENGTH), F.relu
    ),
    "dense": lambda: Chain(
        stem(stride=4, padding=3), lambda x: x.reshape(x.shape[0], -1), sl.nn.Linear(480, 5)
    ),
    "recurrence": lambda: Chain(
        stem(stride=4, padding=3), lambda x: x.mT, sl.nn.GRU(8, 4), lambda x: x[0]
    ),
}


def make(name: str) -> sl.nn.Module:
    model = NETWORKS[name]()
    model.bind("numpy", sl.Key(3))
    run_whole(model.train(), examples()[0])  # the statistics of batch norms
    return model.eval()


def edit(sequence: np.ndarray, rng: np.random.Generator, kind: int) -> np.ndarray:
    """Substitute, insert or delete 1 to 30 bases, anywhere including both ends."""
    size = int(rng.integers(1, 31))
    last = len(sequence) - size
    at = int(rng.choice(np.array([0, last, int(rng.integers(0, last))])))
    new = rng.integers(0, 4, 0 if kind == 2 else size)
    rest = sequence[at + (0 if kind == 1 else size) :]
    longer = np.concatenate([sequence[:at], new, rest, rng.integers(0, 4, size)])
    return longer[: len(sequence)]


def encode(sequences: list[np.ndarray] | np.ndarray) -> np.ndarray:
    codes = np.eye(4, dtype=np.float32)[np.array(sequences)]
    return np.ascontiguousarray(codes.transpose(0, 2, 1))


def examples(count: int = 60, references: int = 3) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(count)
    originals = rng.integers(0, 4, (references, LENGTH))
    rows = rng.integers(0, references, count)
    edited = [edit(originals[row], rng, number % 3) for number, row in enumerate(rows)]
    return encode(originals), encode(edited), rows


def run_whole(model: sl.nn.Module, inputs: np.ndarray) -> np.ndarray:
    return model(sl.tensor.Tensor(inputs, model.backend)).numpy()


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_of_changed_sequences_are_those_of_whole_passes(name: str) -> None:
    model, (reference, alternative, rows) = make(name), examples()
    passes = ChangedPasses(model, sl.encode.OneHot())
    network = passes.find_network(reference)
    assert network is not None
    found = passes.run(reference, alternative, rows)
    for outputs, inputs in zip(found, (reference, alternative), strict=True):
        expected = run_whole(model, inputs)
        assert outputs.shape == expected.shape
        assert abs(outputs - expected).max() <= 1e-6 * abs(expected).max()


@pytest.mark.parametrize("name", NETWORKS)
def test_an_output_does_not_depend_on_the_other_sequences(name: str) -> None:
    model, (reference, alternative, rows) = make(name), examples()
    together = ChangedPasses(model, sl.encode.OneHot()).run(reference, alternative, rows)[1]
    for row in range(0, len(rows), 7):
        one = slice(row, row + 1)
        alone = ChangedPasses(model, sl.encode.OneHot()).run(
            reference[rows[one]], alternative[one], np.zeros(1, np.int64)
        )
        np.testing.assert_array_equal(alone[1][0], together[row])


def test_a_sequence_without_a_change_has_the_output_of_its_reference() -> None:
    model, (reference, _, rows) = make("residuals"), examples()
    found = ChangedPasses(model, sl.encode.OneHot()).run(reference, reference[rows], rows)
    np.testing.assert_array_equal(found[1], found[0][rows])


@pytest.mark.parametrize("group_batches", [1, 100])
def test_the_number_of_threads_does_not_change_an_output(
    group_batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With large groups, the kernels use the threads; with small groups, each thread
    # computes other groups.
    monkeypatch.setattr(_changed_passes, "_GROUP_BATCHES", group_batches)
    monkeypatch.setattr(_changed_passes, "_BLOCK_BYTES", 1)
    model, (reference, alternative, rows) = make("residuals"), examples(200)
    found: list[np.ndarray] = []
    for threads in (1, 3):
        model.to(sl.tensor.backend("numpy", num_threads=threads))
        passes = ChangedPasses(model, sl.encode.OneHot())
        found.extend(passes.run(reference, alternative, rows))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("name", ["profile", "residuals", "max pool", "dense"])
def test_outputs_do_not_depend_on_the_number_of_sequences_for_each_thread(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With fewer items than threads, the kernels use the threads; with more, each thread
    # computes other items.
    monkeypatch.setattr(_changed_passes, "_GROUP_BATCHES", 1)
    monkeypatch.setattr(_changed_passes, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(_changed_passes, "_MAX_BATCH", 4)
    model = make(name)
    model.to(sl.tensor.backend("numpy", num_threads=3))
    counts: set[int] = set()
    run = _changed_passes.LocalNetwork.run_on_threads

    def count(network: Any, work: Any, items: list[Any]) -> Any:
        counts.add(len(items))
        return run(network, work, items)

    monkeypatch.setattr(_changed_passes.LocalNetwork, "run_on_threads", count)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (6, LENGTH))
    rows = np.arange(24) % 6
    changed = codes[rows]
    changed[np.arange(24), 30 + 7 * np.arange(24)] += 1  # one base in each
    reference, alternative = encode(codes), encode(changed % 4)
    passes = ChangedPasses(model, sl.encode.OneHot())
    expected = passes.run(reference, alternative, rows)
    for size in range(1, 6):
        own = np.flatnonzero(rows < size)
        for part in (own, own[:size]):
            found = passes.run(reference[:size], alternative[part], rows[part])
            np.testing.assert_array_equal(found[0], expected[0][:size])
            np.testing.assert_array_equal(found[1], expected[1][part])
    assert counts == {1, 2, 3, 4, 5, 6}


def test_references_in_several_chunks_have_the_outputs_of_one_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, (reference, alternative, rows) = make("residuals"), examples(40, 5)
    rows[rows == 2] = 3  # a reference without alternatives
    expected = ChangedPasses(model, sl.encode.OneHot()).run(reference, alternative, rows)
    monkeypatch.setattr(_changed_passes, "_MAX_REFERENCE_BYTES", 1)
    found = ChangedPasses(model, sl.encode.OneHot()).run(reference, alternative, rows)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("name", ["profile", "dense"])
def test_no_alternatives_have_no_outputs(name: str) -> None:
    model, (reference, alternative, rows) = make(name), examples()
    passes = ChangedPasses(model, sl.encode.OneHot())
    outputs, found = passes.run(reference, alternative[:0], rows[:0])
    assert found.shape == (0, *outputs.shape[1:])


def test_a_captured_network_is_kept_if_the_cache_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_changed_passes, "_MAX_NETWORKS", 2)
    model, (reference, _, _) = make("profile"), examples()
    passes = ChangedPasses(model, sl.encode.OneHot())
    lengths = [LENGTH, LENGTH - 1]
    first = [passes.find_network(reference[:, :, :it]) for it in lengths]
    again = [passes.find_network(reference[:, :, :it]) for it in lengths]
    assert all(one is other for one, other in zip(first, again, strict=True))
    passes.find_network(reference[:, :, :-2])
    assert passes.find_network(reference) is not first[0]


def test_a_model_that_reads_values_is_computed_whole() -> None:
    model = Chain(stem(), lambda x: x if float(x.sum()) > 0 else -x)
    model.bind("numpy", sl.Key(3))
    reference, alternative, rows = examples()
    passes = ChangedPasses(model, sl.encode.OneHot())
    assert passes.find_network(reference) is None
    assert len(passes.run(reference, alternative, rows)[1]) == len(rows)


@pytest.mark.parametrize("both_strands", [False, True])
def test_mutations_have_the_effects_of_whole_passes(
    monkeypatch: pytest.MonkeyPatch, *, both_strands: bool
) -> None:
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACGT"), length)) for length in (90, 90, 70)]
    config = sl.models.SequenceCNNConfig(4, 2, kernel_size=5)
    task = sl.models.Classify(("a", "b"))
    model = config.init("numpy", sl.Key(1))
    trained = sl.models.Trained(model.eval(), sl.encode.OneHot(), task, batch_size=16)
    options: Any = {"method": "mutations", "reverse_complement": both_strands}
    found = sl.infer.explain(trained, texts, **options).weights
    monkeypatch.setattr("seqloom.infer._probe.find_changed_passes", lambda *_: None)
    expected = sl.infer.explain(trained, texts, **options).weights
    for ours, theirs in zip(found, expected, strict=True):
        assert abs(ours).max() > 1e-4
        np.testing.assert_allclose(ours, theirs, atol=2e-6)


def test_tokens_are_embedded_at_changed_positions_only() -> None:
    model = Chain(sl.nn.Embedding(8, 4), lambda x: x.mT, stem(), F.relu)
    model.bind("numpy", sl.Key(3))
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 8, (2, LENGTH)).astype(np.int32)
    rows = np.arange(20) % 2
    alternative = reference[rows].copy()
    alternative[np.arange(20), rng.integers(0, LENGTH, 20)] = 7
    passes = ChangedPasses(model, sl.encode.Tokens())
    found = passes.run(reference, alternative, rows)[1]
    expected = run_whole(model, alternative)
    assert abs(found - expected).max() <= 1e-6 * abs(expected).max()


def test_values_outside_of_a_crop_are_not_computed() -> None:
    model, (reference, _, rows) = make("crop"), examples()
    changed = reference[rows].copy()
    changed[:, :, :80] = 0
    changed[:, :, -80:] = 0
    found = ChangedPasses(model, sl.encode.OneHot()).run(reference, changed, rows)
    np.testing.assert_array_equal(found[1], found[0][rows])
