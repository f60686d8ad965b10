"""Integers that follow from sizes: found from a few traces, right at every other size."""

from math import prod

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import seqloom as sl
from seqloom import nn
from seqloom._rust._native import ExportedModel
from seqloom.errors import ExportError
from seqloom.export._size import Size, find_size
from seqloom.export._trace import _BATCHES as BATCHES, _LENGTHS
from seqloom.nn import functional as F

LENGTHS = _LENGTHS[0]

SIZES = {"batch": BATCHES, "length": LENGTHS}


def series(function):
    """What a function of both sizes gives in each trace."""
    return tuple(map(function, BATCHES, LENGTHS))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda _, length: length, Size(("length",))),
        (lambda batch, length: batch * length, Size(("batch", "length"))),
        (lambda _, length: length - 1, Size(("length",), plus=-1)),
        (lambda _, length: length // 2, Size(("length",), over=2)),
        (lambda _, length: (length + 1) // 2, Size(("length",), over=2, shift=1)),
        (lambda _, length: length // 2 + 6, Size(("length",), over=2, plus=6)),
        (lambda _, length: 4 * length + 2, Size(("length",), times=4, plus=2)),
        (lambda _, length: -length, Size(("length",), times=-1)),
        (lambda _, length: length**2, Size(("length", "length"))),
    ],
)
def test_the_simplest_form_is_found(function, expected):
    assert find_size(series(function), SIZES) == expected


@pytest.mark.parametrize(
    "function",
    [lambda _, length: length % 7, lambda _, length: length.bit_length() ** 3],
    ids=["remainder", "bits"],
)
def test_what_follows_from_no_size_is_not_found(function):
    assert find_size(series(function), SIZES) is None


@example(of=("batch",), times=3, over=10, plus=0, shift=1, batch=3, length=1)
@given(
    of=st.sampled_from([("batch",), ("length",), ("batch", "length")]),
    times=st.integers(1, 4),
    over=st.integers(1, 16),
    plus=st.integers(-20, 20),
    shift=st.sampled_from([0, 0, 1, -1]),
    batch=st.integers(1, 500),
    length=st.integers(1, 5000),
)
def test_what_is_found_is_right_at_every_size(of, times, over, plus, shift, batch, length):
    over = over if len(of) == 1 else 1

    def compute(**sizes):
        whole = prod(sizes[name] for name in of)
        return (whole * times + shift % over) // over + plus

    wanted = series(lambda batch, length: compute(batch=batch, length=length))
    found = find_size(wanted, SIZES)
    if found is None:  # refused, where sizes do not tell two roundings apart
        assert shift
        return
    at = found.at({"batch": (batch,), "length": (length,)})
    assert at == (compute(batch=batch, length=length),)


def make_network(function):
    """A network of the sums of what a function makes of records."""

    class Network(nn.Module):
        head: nn.Linear

        def __init__(self):
            self.head = nn.Linear(4, 2)

        def __call__(self, x):
            return self.head(function(x).sum(axis=2))

    return Network().bind("numpy", sl.Key(0)).eval()


def half_up(x):
    return x[:, :, : (x.shape[2] + 1) // 2]


# What a network may do with a length, of which some cannot be exported.
OF_LENGTH = {
    "half": lambda x: x[:, :, : x.shape[2] // 2],
    "half, rounded up": half_up,
    "half, of what is negative": lambda x: x[:, :, : -(-x.shape[2] // 2)],
    "half of one less": lambda x: x[:, :, : (x.shape[2] - 1) // 2],
    "what is left of a half": lambda x: x[:, :, : x.shape[2] - x.shape[2] // 2 - 1],
    "a third, rounded up": lambda x: x[:, :, : (x.shape[2] + 2) // 3],
    "a quotient that divides": lambda x: x / ((x.shape[2] + 3) // 4),
    "an even part": lambda x: x[:, :, : x.shape[2] // 2 * 2],
    "a remainder": lambda x: x * (1 + x.shape[2] % 2),
    "a chunk": lambda x: sl.tensor.chunk(x, 2, 2)[0],
    "padding of what is odd": lambda x: (
        F.pad(x, (0, 1), value=1.0) if x.shape[2] % 2 else x
    ),
    "padding to a multiple": lambda x: F.pad(x, (0, x.shape[2] % 2), value=1.0),
    "padding of what is short": lambda x: F.pad(x, (0, max(0, 20 - x.shape[2])), value=1.0),
    "a branch on what is long": lambda x: x * 2 if x.shape[2] > 20 else x,
    "a branch on what is very short": lambda x: x * 2 if x.shape[2] > 3 else x,
    "at least some": lambda x: x[:, :, : max(8, x.shape[2] // 2)],
    "at most some": lambda x: x[:, :, : min(6_000, x.shape[2])],
    "the first ones": lambda x: x[:, :, :10],
    "a parity of the batch": lambda x: x * (1 + x.shape[0] % 2),
}
REFUSED = {
    "an even part",
    "a remainder",
    "padding of what is odd",
    "padding to a multiple",
    "padding of what is short",
    "a branch on what is long",
    "a branch on what is very short",
    "at least some",
    "at most some",
    "a parity of the batch",
}


@pytest.mark.parametrize("name", OF_LENGTH)
def test_what_follows_from_a_length_is_right_at_every_length_or_refused(tmp_path, name):
    network, path = make_network(OF_LENGTH[name]), tmp_path / "model"
    if name in REFUSED:
        with pytest.raises(ExportError, match=r"test_sizes.py:\d+"):
            sl.export.save(network, path, inputs=("batch", 4, "length"))
        return
    sl.export.save(network, path, inputs=("batch", 4, "length"))
    exported = ExportedModel(str(path))
    for length in (*range(8, 30), 300):
        x = np.random.default_rng(0).normal(size=(3, 4, length)).astype("f4")
        expected = network(network.backend.tensor(x)).numpy()
        np.testing.assert_array_equal(exported.run({"inputs": x}, 1)[0], expected)


def test_a_network_that_keeps_a_number_between_calls_is_refused(tmp_path):
    class Keeps(nn.Module):
        head: nn.Linear
        seen: int

        def __init__(self):
            self.head, self.seen = nn.Linear(4, 2), 0

        def __call__(self, x):
            self.seen = x.shape[2]
            return self.head(x.mean(axis=2)) * self.seen

    network = Keeps().bind("numpy", sl.Key(0)).eval()
    with pytest.raises(ExportError, match="Keeps sets seen while it is called"):
        sl.export.save(network, tmp_path / "model", inputs=("batch", 4, "length"))
    assert network.seen == 0


def test_a_network_that_reads_no_input_is_refused(tmp_path):
    class Fixed(nn.Module):
        head: nn.Linear

        def __init__(self):
            self.head = nn.Linear(4, 2)

        def __call__(self, x):
            del x
            return self.head.weight.value

    network = Fixed().bind("numpy", sl.Key(0)).eval()
    with pytest.raises(ExportError, match="does not depend on its inputs"):
        sl.export.save(network, tmp_path / "model", inputs=("batch", 4, "length"))
