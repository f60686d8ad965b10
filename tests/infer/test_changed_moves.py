"""Outputs of insertions and deletions are those of whole passes, which are the oracle."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import seqloom as sl
from seqloom.errors import ShapeError
from seqloom.infer._changed_passes import ChangedPasses
from seqloom.infer._changed_rows import Alternatives, Moves

F = sl.nn.functional
LENGTH, CHANNELS = 180, 8


class Layer(NamedTuple):
    """A step of a random network."""

    kind: str
    size: int = 3
    stride: int = 1
    dilation: int = 1
    padding: int = 0


class Network(sl.nn.Module):
    """Random steps after a convolution, and one of several heads."""

    stem: sl.nn.Conv1d
    layers: list[sl.nn.Module]
    head: sl.nn.Module

    def __init__(self, steps: list[Layer], head: str, padding: int = 3) -> None:
        self.stem = sl.nn.Conv1d(4, CHANNELS, 7, padding=padding)
        self.layers = [_make_layer(it) for it in steps]
        self.head = sl.nn.MultiHeadAttention(CHANNELS, 2)
        self.steps, self.kind = tuple(steps), head

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        x = F.relu(self.stem(x))
        for step, layer in zip(self.steps, self.layers, strict=True):
            x = _run_layer(step, layer, x)
        if self.kind == "attention":
            rows = x.mT
            return self.head(rows, rows, rows)[0]
        if self.kind == "fixed":
            return x[:, :, 10:100]
        if self.kind == "crop":
            return x[:, :, 10:-10]
        return x.mean(2) if self.kind == "mean" else x


def _make_layer(step: Layer) -> sl.nn.Module:
    if step.kind == "batch norm":
        return sl.nn.BatchNorm1d(CHANNELS)
    if step.kind == "layer norm":
        return sl.nn.LayerNorm(CHANNELS)
    options: dict[str, Any] = {"dilation": step.dilation, "padding": step.padding}
    if step.kind == "residual":
        options["padding"] = "same"
    else:
        options["stride"] = step.stride
    return sl.nn.Conv1d(CHANNELS, CHANNELS, step.size, **options)


def _run_layer(step: Layer, layer: Any, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
    run = {
        "residual": lambda: x + F.relu(layer(x)),
        "layer norm": lambda: layer(x.mT).mT,
        "max pool": lambda: F.max_pool1d(x, 3, step.stride, min(step.padding, 1)),
        "mean pool": lambda: F.avg_pool1d(x, 4, step.stride, min(step.padding, 2)),
    }
    return run.get(step.kind, lambda: layer(x))()


STEPS = st.lists(
    st.builds(
        Layer,
        st.sampled_from(
            ["conv", "residual", "max pool", "mean pool", "batch norm", "layer norm"]
        ),
        size=st.sampled_from([1, 3, 5]),
        stride=st.sampled_from([1, 1, 2, 3]),
        dilation=st.sampled_from([1, 2, 4]),
        padding=st.integers(0, 3),
    ),
    max_size=4,
)
HEADS = st.sampled_from(["none", "crop", "mean", "attention"])


def encode(sequences: Any) -> np.ndarray:
    codes = np.eye(4, dtype=np.float32)[np.array(sequences)]
    return np.ascontiguousarray(codes.transpose(0, 2, 1))


def edit(
    genome: np.ndarray, at: int, removed: int, added: np.ndarray, *, is_left: bool
) -> np.ndarray:
    """Return the window after a replacement; both windows share one of their ends."""
    edited = np.concatenate([genome[:at], added, genome[at + removed :]])
    start = 60 + (len(added) - removed if is_left else 0)
    return edited[start : start + LENGTH]


def make_pairs(seed: int, multiple: int) -> tuple[Any, ...]:
    """Return windows of two genomes, with insertions, deletions and substitutions."""
    rng = np.random.default_rng(seed)
    genomes = rng.integers(0, 2 if seed % 3 == 0 else 4, (2, LENGTH + 120))
    rows, counts = np.arange(12) % 2, rng.integers(-4, 5, 12) * multiple
    is_left = rng.integers(0, 2, 12).astype(bool)
    changed: list[np.ndarray] = []
    for row, count, left in zip(rows, counts.tolist(), is_left.tolist(), strict=True):
        size = int(rng.integers(0, 3)) + int(count == 0)
        added = rng.integers(0, 4, size + max(count, 0))
        at = int(rng.integers(62, LENGTH + 40))
        changed.append(edit(genomes[row], at, size + max(-count, 0), added, is_left=left))
    reference = encode(genomes[:, 60 : 60 + LENGTH])
    return reference, encode(changed), rows, Moves(counts, is_left)


def make_network(steps: list[Layer], head: str, seed: int, padding: int = 3) -> Network:
    """Return a network for evaluation; reject networks that shorten the window too far."""
    model = Network(steps, head, padding).bind("numpy", sl.Key(seed))
    try:
        run_whole(model.train(), make_pairs(seed, 1)[0])  # the statistics of batch norms
    except ShapeError:
        assume(condition=False)
    return model.eval()


def count_windows(monkeypatch: pytest.MonkeyPatch, model: Network) -> list[int]:
    """Return a list to which each convolution appends the width of its result."""
    backend: Any = type(model.backend)
    counts: list[int] = []
    convolve = backend.conv1d

    def conv1d(self: Any, x: Any, *args: Any, **options: Any) -> Any:
        found = convolve(self, x, *args, **options)
        counts.append(found.shape[2])
        return found

    monkeypatch.setattr(backend, "conv1d", conv1d)
    return counts


def run_whole(model: Any, inputs: np.ndarray) -> np.ndarray:
    return np.asarray(model(sl.tensor.backend("numpy").tensor(inputs)))


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, head=HEADS, seed=st.integers(0, 1000), multiple=st.sampled_from([1, 6]))
def test_outputs_are_those_of_whole_passes(
    steps: list[Layer], head: str, seed: int, multiple: int
) -> None:
    """Random networks of convolutions, pooling, norms and attention (10 s)."""
    model = make_network(steps, head, seed)
    reference, changed, rows, moves = make_pairs(seed, multiple)
    passes = ChangedPasses(model, sl.encode.OneHot())
    one, other = passes.run(reference, changed, rows, moves=moves)
    expected = run_whole(model, changed)
    if head in {"none", "crop"}:
        np.testing.assert_array_equal(one, run_whole(model, reference))
        np.testing.assert_array_equal(other, expected)
    else:
        assert abs(other - expected).max() <= 1e-6 * max(1, abs(expected).max())


@settings(max_examples=40, deadline=None)
@given(
    steps=STEPS,
    head=st.sampled_from(["none", "crop", "mean"]),
    seed=st.integers(0, 1000),
    count=st.sampled_from([-6, 1, 3, 6, 12]),
)
def test_outputs_of_windows_of_another_length_are_those_of_whole_passes(
    steps: list[Layer], head: str, seed: int, count: int
) -> None:
    """Random networks; the window of an insertion is longer (10 s)."""
    model = make_network(steps, head, seed)
    rng = np.random.default_rng(seed)
    original = rng.integers(0, 4, (2, LENGTH))
    changed: list[np.ndarray] = []
    for row, at in zip([0, 1, 0, 1], rng.integers(0, LENGTH - 6, 4).tolist(), strict=True):
        added, rest = rng.integers(0, 4, max(count, 0)), at + max(-count, 0)
        changed.append(np.concatenate([original[row, :at], added, original[row, rest:]]))
    rows = np.array([0, 1, 0, 1])
    part = Alternatives(encode(changed), rows, Moves(np.full(4, count), rows > 1))
    passes = ChangedPasses(model, sl.encode.OneHot())
    same = Alternatives(encode(original), np.arange(2), Moves.of_substitutions(2))
    one, (first, other) = passes.run_parts(encode(original), [same, part])
    expected = run_whole(model, part.array)
    np.testing.assert_array_equal(one, first)
    if head == "mean":
        assert abs(other - expected).max() <= 1e-6 * max(1, abs(expected).max())
    else:
        np.testing.assert_array_equal(other, expected)


def test_longer_windows_are_computed_whole_if_the_network_has_fixed_positions() -> None:
    model = Network([], "fixed").bind("numpy", sl.Key(1)).eval()
    codes = np.random.default_rng(0).integers(0, 4, (1, LENGTH + 2))
    moves = Moves(np.full(1, 2), np.zeros(1, bool))
    part = Alternatives(encode(codes), np.zeros(1, np.int64), moves)
    found = ChangedPasses(model, sl.encode.OneHot()).run_parts(
        encode(np.delete(codes, [90, 91], axis=1)), [part]
    )
    np.testing.assert_array_equal(found[1][0], run_whole(model, part.array))


@settings(max_examples=20, deadline=None)
@given(steps=STEPS, head=HEADS, seed=st.integers(0, 1000))
def test_an_output_does_not_depend_on_the_other_sequences(
    steps: list[Layer], head: str, seed: int
) -> None:
    """Random networks; each alternative is computed alone and with others (10 s)."""
    model = make_network(steps, head, seed)
    reference, changed, rows, moves = make_pairs(seed, 1)
    passes = ChangedPasses(model, sl.encode.OneHot())
    together = passes.run(reference, changed, rows, moves=moves)[1]
    for row in range(0, len(rows), 5):
        own = slice(row, row + 1)
        own_moves = Moves(moves.counts[own], moves.is_left[own])
        alone = passes.run(
            reference[rows[own]], changed[own], np.zeros(1, np.int64), moves=own_moves
        )
        np.testing.assert_array_equal(alone[1][0], together[row])


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, head=HEADS, seed=st.integers(0, 1000), padding=st.sampled_from([0, 3]))
def test_overlapping_references_have_the_outputs_of_separate_passes(
    steps: list[Layer], head: str, seed: int, padding: int
) -> None:
    """Random networks, many of which have no padding (10 s)."""
    steps = [it._replace(padding=min(it.padding, padding)) for it in steps]
    model = make_network(steps, head, seed, padding=padding)
    rng = np.random.default_rng(seed)
    genome = rng.integers(0, 4, 3 * LENGTH)
    places = np.unique(rng.integers(0, 2 * LENGTH, 8) // 6 * 6)
    windows = np.stack([genome[place : place + LENGTH] for place in places])
    rows = rng.integers(0, len(places), 12)
    changed = windows[rows]
    changed[np.arange(12), rng.integers(0, LENGTH, 12)] = 0
    order = rng.permutation(len(places))
    part = Alternatives(encode(changed), order.argsort()[rows], Moves.of_substitutions(12))
    passes = ChangedPasses(model, sl.encode.OneHot())
    inputs = encode(windows[order])
    shared, (others,) = passes.run_parts(inputs, [part], places[order])
    separate, (expected,) = passes.run_parts(inputs, [part])
    np.testing.assert_array_equal(shared, separate)
    np.testing.assert_array_equal(others, expected)


def test_overlapping_references_share_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Network([Layer("conv")], "none", padding=0).bind("numpy", sl.Key(1)).eval()
    counts = count_windows(monkeypatch, model)
    genome = np.random.default_rng(0).integers(0, 4, LENGTH + 30)
    places = np.array([20, 0, 10])
    windows = encode([genome[place : place + LENGTH] for place in places])
    ChangedPasses(model, sl.encode.OneHot()).run_parts(windows, [], places)
    assert counts == [LENGTH + 20 - 6, LENGTH + 20 - 8]


@pytest.mark.parametrize("count", [8, -8])
@pytest.mark.parametrize("is_left", [False, True])
def test_moved_positions_are_not_computed_again(
    monkeypatch: pytest.MonkeyPatch, count: int, *, is_left: bool
) -> None:
    model = Network([Layer("residual")] * 3, "none").bind("numpy", sl.Key(1)).eval()
    genome = np.random.default_rng(0).integers(0, 4, LENGTH + 120)
    added = np.arange(max(count, 0)) % 4
    changed = encode([edit(genome, 150, max(-count, 0), added, is_left=is_left)])
    reference = encode([genome[60 : 60 + LENGTH]])
    counts = count_windows(monkeypatch, model)
    passes = ChangedPasses(model, sl.encode.OneHot())
    moves = Moves(np.array([count]), np.array([is_left]))
    passes.run(reference, changed, np.zeros(1, np.int64), moves=moves)
    layers = 1 + len(model.layers)
    assert counts[:layers] == [LENGTH] * layers  # the reference
    assert 0 < sum(counts[layers:]) <= layers * LENGTH / 2
