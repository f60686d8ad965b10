"""The symbolic integers of one trace are correct for inputs of any other size."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import seqloom as sl
from seqloom import nn
from seqloom._rust._native import ExportedModel
from seqloom.errors import ExportError
from seqloom.export._size import (
    Size,
    SymbolicSize,
    evaluate_size,
    find_size,
    fit_size,
    to_polynomial,
)
from seqloom.nn import functional as F
from seqloom.tensor import apply

BATCH, LENGTH = SymbolicSize.of_name("batch", 745), SymbolicSize.of_name("length", 2321)
SIZE_POLYNOMIALS = {"batch": BATCH.polynomial, "length": LENGTH.polynomial}


def compute(size, batch, length):
    """Return the value of a symbolic size at other sizes."""
    return evaluate_size(to_polynomial(size), {"batch": batch, "length": length})


def value_of(size, batch, length):
    """Return the value of a size in the export format."""
    at = {"batch": batch, "length": length}
    product = math.prod(at[name] for name in size.of)
    return (product * size.times + size.shift) // size.over + size.plus


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (LENGTH, Size(("length",))),
        (BATCH * LENGTH, Size(("batch", "length"))),
        (LENGTH - 1, Size(("length",), plus=-1)),
        (LENGTH // 2, Size(("length",), over=2)),
        ((LENGTH + 1) // 2, Size(("length",), over=2, shift=1)),
        (-(-LENGTH // 2), Size(("length",), over=2, shift=1)),
        (LENGTH - LENGTH // 2, Size(("length",), over=2, shift=1)),
        (math.ceil(LENGTH / 2), Size(("length",), over=2, shift=1)),
        (math.floor(LENGTH * 1.5), Size(("length",), times=3, over=2)),
        (LENGTH // 2 + 6, Size(("length",), over=2, plus=6)),
        ((LENGTH // 2 - 3) // 4, Size(("length",), over=8, plus=-1, shift=2)),
        (4 * LENGTH + 2, Size(("length",), times=4, plus=2)),
        (-LENGTH, Size(("length",), times=-1)),
        (LENGTH**2, Size(("length", "length"))),
        (BATCH * LENGTH // 3, Size(("batch", "length"), over=3)),
        (BATCH * 6 * LENGTH // (BATCH * 3), Size(("length",), times=2)),
        ((BATCH * LENGTH + 2 * BATCH) // (LENGTH + 2), Size(("batch",))),
    ],
)
def test_a_symbolic_size_is_written_in_its_simplest_form(size, expected):
    assert find_size(size, SIZE_POLYNOMIALS) == expected


@pytest.mark.parametrize(
    "size",
    [LENGTH % 7, LENGTH // 2 * 2, BATCH + LENGTH, LENGTH // 2 + LENGTH // 3],
    ids=["remainder", "even part", "sum", "two quotients"],
)
def test_a_size_that_the_export_format_cannot_express_is_not_found(size):
    assert find_size(size, SIZE_POLYNOMIALS) is None


def test_a_symbolic_size_can_refer_to_another_named_size():
    names = {**SIZE_POLYNOMIALS, "n1": (LENGTH // 2 * 2).polynomial}
    assert find_size(LENGTH // 2 * 2 + 5, names) == Size(("n1",), plus=5)


def test_half_of_a_complicated_size_refers_to_the_name_of_the_size():
    for size in (LENGTH - LENGTH // 2 - LENGTH // 5, -(LENGTH // 2) - LENGTH // 5 + LENGTH):
        names = {**SIZE_POLYNOMIALS, "n1": size.polynomial}
        assert find_size(size // 2 + 1, names) == Size(("n1",), over=2, plus=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((LENGTH + 1) // 2, LENGTH - LENGTH // 2),
        (-(-LENGTH // 3), (LENGTH + 2) // 3),
        (LENGTH // 2 // 3, LENGTH // 6),
        ((-(-LENGTH // 2) + 1) // 2, (LENGTH + 3) // 4),
        (6 * LENGTH // 4, 3 * LENGTH // 2),
        ((LENGTH - LENGTH // 2) // 2, (LENGTH + 1) // 4),
        ((LENGTH + 7) // 3, (LENGTH + 1) // 3 + 2),
        (BATCH * (LENGTH + 2), BATCH * LENGTH + BATCH + BATCH),
    ],
)
def test_equal_symbolic_sizes_have_equal_polynomials(one, other):
    assert one.polynomial == other.polynomial


@pytest.mark.parametrize(
    "size", [LENGTH - LENGTH, LENGTH * 0 + 3, 5 * LENGTH // LENGTH, LENGTH**0]
)
def test_size_arithmetic_with_a_constant_result_returns_an_int(size):
    assert type(size) is int


def test_symbolic_sizes_treat_floats_and_strings_like_an_int():
    assert LENGTH + 0.5 == 2321.5
    assert LENGTH * math.inf == math.inf
    assert LENGTH / 0.5 == 4642.0
    with pytest.raises(TypeError):
        LENGTH + "1"


# Steps of integer arithmetic, each a function of an operand, a small operand, and a
# size.
ARITHMETIC_STEPS = [
    lambda number, n, _: number + n,
    lambda number, n, _: number - n,
    lambda number, n, _: n - number,
    lambda number, n, _: n * number,
    lambda number, n, _: number // n,
    lambda number, n, _: number // -n,
    lambda number, n, _: number % n,
    lambda number, n, _: sum(divmod(number, n)),
    lambda number, n, _: math.ceil(number / n),
    lambda number, _, size: number + size,
    lambda number, _, size: size - number,
    lambda number, _, size: number * size,
]
RANDOM_ARITHMETIC = st.lists(
    st.tuples(
        st.sampled_from(ARITHMETIC_STEPS), st.integers(1, 9), st.sampled_from((0, 1))
    ),
    min_size=1,
    max_size=6,
)


def run(program, *sizes):
    """Compute a number from a batch and a length."""
    number = sizes[1]
    for step, n, which in program:
        number = step(number, n, sizes[which])
    return number


@given(program=RANDOM_ARITHMETIC, batch=st.integers(1, 500), length=st.integers(1, 5000))
def test_a_size_polynomial_has_the_value_of_the_python_arithmetic(program, batch, length):
    size = run(program, BATCH, LENGTH)
    assert size == run(program, 745, 2321)
    assert compute(size, batch, length) == run(program, batch, length)


@example(of=("batch",), times=3, over=10, plus=0, shift=1, batch=3, length=1)
@given(
    of=st.sampled_from([("batch",), ("length",), ("batch", "length")]),
    times=st.integers(1, 4),
    over=st.integers(1, 100),
    plus=st.integers(-20, 20),
    shift=st.integers(-3, 120),
    batch=st.integers(1, 500),
    length=st.integers(1, 5000),
)
def test_a_fitted_size_formula_is_correct_for_all_inputs(
    of, times, over, plus, shift, batch, length
):
    whole = math.prod({"batch": BATCH, "length": LENGTH}[name] for name in of)
    size = (whole * times + shift) // over + plus
    found = find_size(size, SIZE_POLYNOMIALS)
    assert found is not None
    assert value_of(found, batch, length) == compute(size, batch, length)


@given(above=st.integers(1, 48), below=st.integers(1, 48), length=st.integers(1, 10_000))
@example(above=7, below=20, length=180)
@example(above=11, below=10, length=50)
def test_a_size_times_a_float_is_rounded_like_in_python(above, below, length):
    for rounded in (math.floor, math.ceil):
        size = rounded(LENGTH * (above / below))
        assert int(size) == rounded(int(LENGTH) * (above / below))
        if isinstance(size, SymbolicSize):
            found = evaluate_size(size.polynomial, {"length": length})
            assert found == rounded(length * (above / below))


SIZES_IN_TRACES = {(7, 5, 3, 2): BATCH.polynomial, (20, 11, 30, 4): LENGTH.polynomial}


def test_a_size_formula_is_fitted_to_the_integers_of_all_traces():
    found = fit_size((281, 111, 181, 17), SIZES_IN_TRACES)
    expected = 2 * BATCH * LENGTH + 1
    assert isinstance(expected, SymbolicSize)
    assert found == expected.polynomial


@pytest.mark.parametrize("numbers", [(20, 11, 30, 5), (4, 2, 6, 1), (20, 11, 30)])
def test_too_few_traces_do_not_determine_a_size_formula(numbers):
    series = {it[: len(numbers)]: polynomial for it, polynomial in SIZES_IN_TRACES.items()}
    assert fit_size(numbers, series) is None


def make_network(function):
    """A network that sums the result of a function of the records."""

    class Network(nn.Module):
        head: nn.Linear

        def __init__(self):
            self.head = nn.Linear(4, 2)

        def __call__(self, x):
            return self.head(function(x).sum(axis=2))

    return Network().bind("numpy", sl.Key(0)).eval()


def half_up(x):
    return x[:, :, : (x.shape[2] + 1) // 2]


# Functions of a length; some of these cannot be exported.
FUNCTIONS_OF_THE_LENGTH = {
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
    "the first ones, scaled by their number": lambda x: (
        x[:, :, :10] * x[:, :, :10].shape[2]
    ),
    "half, rounded up by a float": lambda x: x[:, :, : math.ceil(x.shape[2] / 2)],
    "half, as a plain integer": lambda x: x[:, :, : int(x.shape[2] / 2)],
    "one less, as a plain integer": lambda x: x[:, :, : int(x.shape[2]) - 1],
    "the number of elements, by NumPy": lambda x: x / np.prod(x.shape).item(),
    "the number of records, by len": lambda x: x * len(x),
    "all but the first, of a part": lambda x: x[:, :, 3:] * x[:, :, 3:].shape[2],
    "a parity of the batch": lambda x: x * (1 + x.shape[0] % 2),
}
NON_EXPORTABLE_FUNCTIONS = {
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
    "half, as a plain integer",
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_THE_LENGTH)
def test_an_exported_function_of_the_length_is_correct_or_an_error(tmp_path, name):
    network, path = make_network(FUNCTIONS_OF_THE_LENGTH[name]), tmp_path / "model"
    if name in NON_EXPORTABLE_FUNCTIONS:
        with pytest.raises(ExportError, match=r"test_sizes.py:\d+"):
            sl.export.save(network, path, inputs=("batch", 4, "length"))
        return
    sl.export.save(network, path, inputs=("batch", 4, "length"))
    exported = ExportedModel(str(path))
    for length in (*range(8, 30), 300):
        x = np.random.default_rng(0).normal(size=(3, 4, length)).astype("f4")
        expected = network(network.backend.tensor(x)).numpy()
        np.testing.assert_array_equal(exported.run({"inputs": x}, 1)[0], expected)


def test_exporting_a_network_that_stores_an_int_in_forward_is_an_error(tmp_path):
    class Keeps(nn.Module):
        head: nn.Linear
        seen: int

        def __init__(self):
            self.head, self.seen = nn.Linear(4, 2), 0

        def __call__(self, x):
            self.seen = x.shape[2]
            return self.head(x.mean(axis=2)) * self.seen

    network = Keeps().bind("numpy", sl.Key(0)).eval()
    with pytest.raises(ExportError, match="Keeps sets seen during the call"):
        sl.export.save(network, tmp_path / "model", inputs=("batch", 4, "length"))
    assert network.seen == 0


def test_exporting_a_network_that_ignores_its_input_is_an_error(tmp_path):
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


CONVOLUTION_KERNEL = np.random.default_rng(0).normal(size=(4, 4, 3)).astype("f4")


def count(x, number):
    """Return the integers 0 to `number` - 1 as floats, on the backend of a tensor."""
    return sl.tensor.Tensor(x.backend.arange(number, dtype="float32"), x.backend)


# Steps of a random network. Each step changes the length, and reads the new length for
# the next step.
RANDOM_NETWORK_STEPS = {
    "pad": lambda x, n: F.pad(x, (n, 2 * n), value=0.5),
    "convolution": lambda x, n: F.conv1d(
        x, x.backend.tensor(CONVOLUTION_KERNEL), stride=n, padding=1
    ),
    "pool": lambda x, n: F.max_pool1d(x, 2, n),
    "mean": lambda x, n: F.avg_pool1d(x, n, 2, ceil_mode=True),
    "first part": lambda x, n: x[:, :, : -(-x.shape[2] // n)],
    "last part": lambda x, n: x[:, :, x.shape[2] // (n + 1) :],
    "every other": lambda x, n: x[:, :, ::n],
    "backwards": lambda x, n: apply("flip", x, axis=2)[:, :, n - 1 :],
    "repeat": lambda x, n: apply("repeat", x, n, axis=2),
    "tile": lambda x, n: apply("tile", x, (1, 1, n)),
    "rows": lambda x, n: x.reshape(x.shape[0] * 4, -1, 1).reshape(x.shape[0], 4, -1) * n,
    "columns": lambda x, n: x.reshape(-1, x.shape[2]).reshape(-1, 4, x.shape[2]) + n,
    "both ends": lambda x, n: apply("concat", [x[:, :, :n], x[:, :, -n:], x], axis=2),
    "a position": lambda x, n: x + x[:, :, x.shape[2] // n].reshape(x.shape[0], 4, 1),
    "a count": lambda x, n: x + count(x, x.shape[2] * n)[: x.shape[2]],
}


@settings(max_examples=12)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(sorted(RANDOM_NETWORK_STEPS)), st.integers(2, 3)),
        min_size=1,
        max_size=4,
    ),
    sizes=st.lists(
        st.tuples(st.integers(1, 3), st.integers(120, 300)), min_size=3, max_size=3
    ),
)
def test_random_networks_are_exported_correctly(steps, sizes):
    def run(x):
        for name, n in steps:
            x = RANDOM_NETWORK_STEPS[name](x, n)
        return x

    network = make_network(run)
    with TemporaryDirectory() as folder:
        sl.export.save(network, Path(folder) / "model", inputs=("batch", 4, "length"))
        exported = ExportedModel(str(Path(folder) / "model"))
    for batch, length in sizes:
        x = np.random.default_rng(0).normal(size=(batch, 4, length)).astype("f4")
        expected = network(network.backend.tensor(x)).numpy()
        found = exported.run({"inputs": x}, 1)[0]
        np.testing.assert_array_equal(found, expected)
