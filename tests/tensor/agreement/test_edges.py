"""One meaning at the ends of a domain, on every backend: torch's where torch has one."""

import copy
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.nn import functional as torch_functional

import seqloom as sl
from backend_oracle import found
from seqloom.errors import ArgumentError, OutOfRangeError, SeqloomError, ShapeError
from seqloom.nn import functional as F
from seqloom.tensor import apply

everywhere = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])

ENDS = np.array(
    [0, 1e-30, -1e-8, 0.5, -5, 20, 88, -89, 104, 1e20, -1e20, np.inf, -np.inf, np.nan], "f4"
)
ONE = {
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "expm1": torch.expm1,
    "log1p": torch.log1p,
    "sigmoid": torch.sigmoid,
    "softplus": torch.nn.functional.softplus,
    "silu": torch.nn.functional.silu,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
}
PAIRS = np.array([0, -0.0, 1, -1, 2, 0.5, -3, 1e-30, 1e10, np.inf, -np.inf], "f4")
TWO = {"pow": torch.pow, "logaddexp": torch.logaddexp, "atan2": torch.atan2}


def run(call: Any, arrays: Any, name: str) -> tuple[Any, list[Any]]:
    """Return the result and the gradients of its sum."""
    level = sl.tensor.Autodiff(found(name))
    leaves = [level.tensor(array, requires_grad=True) for array in arrays]
    with np.errstate(all="ignore"):
        out = call(*leaves)
        gradients = out.sum().backward()
        return out.numpy(), [gradients.wrt(leaf).numpy() for leaf in leaves]


def theirs_of(call: Any, arrays: Any) -> tuple[Any, list[Any]]:
    """Return the same of torch's."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    out = call(*leaves)
    parts = torch.autograd.grad(out.sum(), leaves)
    return out.detach().numpy(), [part.numpy() for part in parts]


def assert_same(ours: Any, theirs: Any, *, absolute: float = 1e-37) -> None:
    """Compare results and gradients."""
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=absolute)
    for mine, their in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(mine, their, rtol=1e-3, atol=absolute)


@everywhere
@pytest.mark.parametrize("operation", ONE)
def test_functions_and_their_slopes_are_torchs_at_the_ends(operation, name):
    # What torch's own expm1 rounds to 0 far below it is not compared.
    absolute = 1e-6 if operation in {"expm1", "tanh"} else 1e-37
    theirs = theirs_of(ONE[operation], [ENDS])
    ours = run(lambda x: apply(operation, x), [ENDS], name)
    assert_same(ours, theirs, absolute=absolute)


@pytest.mark.parametrize("operation", ["sinh", "cosh"])
def test_default_bodies_overflow_no_sooner_than_the_result(operation):
    b = found("strict")
    with np.errstate(all="ignore"):
        ours = b.to_numpy(getattr(b, operation)(b.asarray(ENDS)))
    np.testing.assert_allclose(ours, ONE[operation](torch.tensor(ENDS)), rtol=1e-5)


@everywhere
@pytest.mark.parametrize("operation", TWO)
def test_functions_of_two_and_their_slopes_are_torchs_at_the_ends(operation, name):
    arrays = [each.ravel() for each in np.meshgrid(PAIRS, PAIRS)]
    if operation == "atan2":  # torch's slope is 0 where the radius is only very small
        arrays = [each[np.hypot(*arrays) != np.float32(1e-30)] for each in arrays]
        arrays = [each[np.maximum(*np.abs(arrays)) > 1e-20] for each in arrays]
        arrays = [np.append(each, np.float32(0)) for each in arrays]
    ours = run(lambda x, y: apply(operation, x, y), arrays, name)
    assert_same(ours, theirs_of(TWO[operation], arrays))


@pytest.mark.filterwarnings("ignore:.*egrees of freedom")  # NumPy's and torch's
@everywhere
@pytest.mark.parametrize("operation", ["var", "std"])
@pytest.mark.parametrize("values", [[3.0], [1.0, 4.0], [2.0, 2.0]], ids=str)
def test_the_slope_of_a_spread_without_freedom_is_no_number(values, operation, name):
    array = np.array(values, "f4")
    count = float(len(values))
    call = getattr(torch, operation)
    theirs = theirs_of(lambda x: call(x, correction=count), [array])
    ours = run(lambda x: apply(operation, x, correction=count), [array], name)
    assert_same(ours, theirs)


@pytest.mark.filterwarnings("ignore:.*egrees of freedom")  # NumPy's and torch's
@everywhere
def test_the_variance_is_infinite_where_the_correction_takes_more_than_there_is(name):
    x = found(name).tensor(np.array([1.0, 2.0], "f4"))
    with np.errstate(all="ignore"):
        assert apply("var", x, correction=3.0).item() == np.inf
    ours = run(lambda x: apply("var", x, correction=3.0), [np.array([1, 2], "f4")], name)
    assert ours[1][0].tolist() == [np.inf, np.inf]


@everywhere
def test_the_sign_of_nan_is_nan(name):
    x = found(name).tensor(np.array([np.nan, -2.0, 0.0, np.inf], "f4"))
    np.testing.assert_array_equal(apply("sign", x).numpy(), [np.nan, -1, 0, 1])


@everywhere
def test_truths_have_a_largest_and_an_order(name):
    x = found(name).tensor(np.array([[False, True, True], [False, False, False]]))
    assert apply("argmax", x, axis=1).tolist() == [1, 0]
    assert apply("argmin", x, axis=1).tolist() == [0, 0]
    values, places = apply("topk", x, 1, axis=1)
    assert values.tolist() == [[True], [False]]
    assert values.dtype == bool
    assert places.tolist() == [[1], [0]]
    assert apply("abs", x).tolist() == x.tolist()


@everywhere
@pytest.mark.parametrize("by", ["array", "number"])
def test_a_whole_number_divided_by_0_is_0(by, name):
    b = found(name)
    x, zero = b.tensor(np.array([7, -7, 0], "i4")), b.tensor(np.zeros(3, "i4"))
    with np.errstate(all="ignore"):
        divisor = zero if by == "array" else 0
        assert apply("floor_divide", x, divisor).tolist() == [0, 0, 0]
        assert apply("remainder", x, divisor).tolist() == [0, 0, 0]
    assert (x // 2).tolist() == [3, -4, 0]
    assert (x % b.tensor(np.array([4, 4, 4], "i4"))).tolist() == [3, 1, 0]


@everywhere
def test_axes_count_from_the_last_too(name):
    array = np.arange(6, dtype="f4").reshape(1, 2, 3)
    x = found(name).tensor(array)
    turned = apply("permute_dims", x, (-1, 0, -2)).numpy()
    np.testing.assert_array_equal(turned, array.transpose(-1, 0, -2))


@everywhere
def test_one_number_is_a_row_of_its_own_to_softmax(name):
    one = np.array(3.0, "f4")
    for operation, value in (("softmax", 1.0), ("log_softmax", 0.0)):
        for axis in (0, -1):
            call = lambda x, f=operation, axis=axis: apply(f, x, axis=axis)  # noqa: E731
            out, (slope,) = run(call, [one], name)
            assert out.shape == slope.shape == ()
            assert (out, slope) == (value, 0.0)


@everywhere
def test_softmax_takes_floats_only(name):
    for kind in ("i4", "u1"):
        x = found(name).tensor(np.array([0, 1, 2], kind))
        for operation in ("softmax", "log_softmax"):
            with pytest.raises(sl.errors.DTypeError):
                apply(operation, x)


@everywhere
def test_logsumexp_takes_whole_numbers_and_nothing(name):
    b = found(name)
    x = b.tensor(np.array([[0, 1], [2, 3]], "i4"))
    expected = torch.logsumexp(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), 1)
    np.testing.assert_allclose(apply("logsumexp", x, axis=1).numpy(), expected, rtol=1e-6)
    with np.errstate(divide="ignore"):
        none = apply("logsumexp", b.tensor(np.zeros((0, 2), "f4")), axis=0)
    assert none.tolist() == [-np.inf, -np.inf]


@everywhere
def test_a_product_of_complex_vectors_conjugates_the_first(name):
    x, y = np.array([1 + 2j, 3j], "c8"), np.array([2 - 1j, 1 + 1j], "c8")
    b = found(name)
    found_product = apply("vecdot", b.tensor(x), b.tensor(y)).numpy()
    np.testing.assert_allclose(found_product, np.vecdot(x, y), rtol=1e-6)


@everywhere
@pytest.mark.parametrize("pair", [(-1, 2), (2, -1), (-1, -1), (-2, 3), (3, -2), (5, 0)])
def test_a_ring_goes_round_what_negative_widths_leave(pair, name):
    row = np.arange(5, dtype="f4")[None, None]
    expected = torch.nn.functional.pad(torch.tensor(row), pair, mode="circular")
    padded = sl.nn.functional.pad(found(name).tensor(row), pair, mode="circular")
    np.testing.assert_array_equal(padded.numpy(), expected)


@everywhere
def test_a_ring_of_no_places_is_refused(name):
    row = found(name).tensor(np.arange(3, dtype="f4")[None, None])
    with pytest.raises(ShapeError, match="circular"):
        sl.nn.functional.pad(row, (-3, 1), mode="circular")


@everywhere
@pytest.mark.parametrize("operation", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, None])
def test_nothing_has_no_largest(axis, operation, name):
    x = found(name).tensor(np.zeros((0, 3), "f4"))
    with pytest.raises(ShapeError):
        apply(operation, x, axis=axis)


@everywhere
@pytest.mark.parametrize("operation", ["cumulative_sum", "cumulative_prod"])
def test_what_grows_along_an_axis_needs_one_where_there_are_several(operation, name):
    with pytest.raises(ShapeError):
        apply(operation, found(name).tensor(np.ones((2, 3), "f4")))


@everywhere
def test_small_whole_numbers_multiply_without_overflow(name):
    x = found(name).tensor(np.full(6, 7, "u1"))
    assert apply("cumulative_prod", x).tolist() == [7, 49, 343, 2401, 16807, 117649]


@everywhere
def test_the_slope_of_a_product_of_nothing_is_nothing(name):
    _, (slope,) = run(lambda x: apply("prod", x, axis=1), [np.zeros((0, 3), "f4")], name)
    assert slope.shape == (0, 3)


def test_truths_have_no_sign_anywhere():
    for name in ("numpy", "torch", "jax"):
        with pytest.raises(SeqloomError):
            apply("sign", found(name).tensor(np.array([True])))


NAN = float("nan")
EVERY = np.array([NAN, 0, 1, -1, np.inf, -np.inf], "f4")
AT_NAN = {
    "relu": (F.relu, torch_functional.relu),
    "leaky_relu": (F.leaky_relu, torch_functional.leaky_relu),
    "clip": (lambda x: apply("clip", x, -1.0, 1.0), lambda x: x.clamp(-1, 1)),
    "above 0": (
        lambda x: apply("maximum", x, 0.0),
        lambda x: torch.maximum(x, torch.tensor(0.0)),
    ),
    "below 0": (
        lambda x: apply("minimum", x, 0.0),
        lambda x: torch.minimum(x, torch.tensor(0.0)),
    ),
}


def compiled_run(call: Any, arrays: Any, name: str) -> tuple[Any, list[Any]]:
    """As `run`, as one program."""

    def step(*given: Any) -> tuple[Any, Any]:
        places = tuple(range(len(given)))
        return call(*given), sl.tensor.grad(lambda *xs: call(*xs).sum(), places)(*given)

    tensors = [found(name).tensor(array) for array in arrays]
    with np.errstate(all="ignore"):
        out, slopes = sl.tensor.compile(step)(*tensors)
        return out.numpy(), [each.numpy() for each in slopes]


@pytest.mark.parametrize("name", ["strict", "numpy", "torch", "jax"])
@pytest.mark.parametrize("function", AT_NAN)
def test_slopes_at_nan_and_at_infinity_are_torchs(function, name):
    ours, theirs = AT_NAN[function]
    expected = theirs_of(theirs, [EVERY])
    assert_same(run(ours, [EVERY], name), expected)


@pytest.mark.parametrize("size", [6, 30_000])  # by NumPy's functions, and as a program
@pytest.mark.parametrize("name", ["numpy", "jax"])
@pytest.mark.parametrize("function", AT_NAN)
def test_compiled_slopes_at_nan_and_at_infinity_are_torchs(function, name, size):
    ours, theirs = AT_NAN[function]
    array = np.resize(EVERY, size)
    assert_same(compiled_run(ours, [array], name), theirs_of(theirs, [array]))


LARGEST = {"maximum": torch.maximum, "minimum": torch.minimum}


@pytest.mark.parametrize("name", ["strict", "numpy", "torch", "jax"])
@pytest.mark.parametrize("function", LARGEST)
def test_slopes_of_the_larger_are_torchs_at_ties_and_at_nan(function, name):
    pairs = [each.ravel() for each in np.meshgrid(EVERY, EVERY)]
    expected = theirs_of(LARGEST[function], pairs)
    assert_same(run(lambda x, y: apply(function, x, y), pairs, name), expected)


@pytest.mark.parametrize("repeats", [1, 1000])
@pytest.mark.parametrize("name", ["numpy", "jax"])
@pytest.mark.parametrize("function", LARGEST)
def test_compiled_slopes_of_the_larger_are_torchs(function, name, repeats):
    pairs = [np.tile(each.ravel(), repeats) for each in np.meshgrid(EVERY, EVERY)]
    found_ = compiled_run(lambda x, y: apply(function, x, y), pairs, name)
    assert_same(found_, theirs_of(LARGEST[function], pairs))


def test_the_compiled_slopes_of_torch_are_torchs():
    pytest.importorskip("torch")
    call = lambda x: F.relu(x) + apply("maximum", x, 0.0)  # noqa: E731
    theirs = lambda x: torch.relu(x) + torch.maximum(x, torch.tensor(0.0))  # noqa: E731
    assert_same(compiled_run(call, [EVERY], "torch"), theirs_of(theirs, [EVERY]))


STRETCHED = [
    ("tensordot", (2, 3), (1, 2), {"axes": 1}),
    ("tensordot", (2, 1), (3, 2), {"axes": 1}),
    ("tensordot", (2, 3), (2, 1), {"axes": ((0, 1), (0, 1))}),
    ("vecdot", (3,), (1,), {}),
    ("vecdot", (2, 1), (3,), {}),
    ("vecdot", (2, 3), (3,), {"axis": 0}),
    ("linear", (2, 3), (4, 1), {}),
]


@everywhere
@pytest.mark.parametrize(("call", "one", "other", "options"), STRETCHED)
def test_an_axis_of_length_1_is_not_stretched_by_a_product(call, one, other, options, name):
    make = sl.tensor.backend(name).tensor
    x, y = (make(np.ones(shape, "f4")) for shape in (one, other))
    with pytest.raises(ShapeError):
        apply(call, x, y, **options)


@everywhere
def test_a_bias_has_one_number_for_each_output(name):
    make = sl.tensor.backend(name).tensor
    x, weight, bias = (make(np.ones(shape, "f4")) for shape in ((2, 3), (4, 3), (1,)))
    with pytest.raises(ShapeError, match=r"bias: expected shape \[4\], got \[1\]"):
        apply("linear", x, weight, bias)


@everywhere
def test_a_diagonal_does_not_depend_on_the_other_elements(name):
    x = sl.tensor.backend(name).tensor([[1.0, np.nan], [np.inf, 2.0]])
    assert sl.tensor.einsum("ii->i", x).numpy().tolist() == [1.0, 2.0]


@everywhere
def test_the_diagonal_of_a_matrix_that_is_not_square_is_refused(name):
    with pytest.raises(ShapeError, match="einsum"):
        sl.tensor.einsum("ii->i", sl.tensor.backend(name).tensor([[1.0, 2.0]]))


OVER_AXES = [
    *("all", "any", "argmax", "argmin", "count_nonzero", "flip", "logsumexp", "max"),
    *("mean", "min", "prod", "std", "sum", "var", "argsort", "sort", "cumulative_prod"),
    *("cumulative_sum", "logcumsumexp", "squeeze", "unstack", "topk", "roll", "repeat"),
    *("take", "take_along_axis", "vecdot", "diff"),
]


def extra(call, made):
    """The further arguments of a function over an axis."""
    places, numbers = made.tensor([0]), made.tensor(1.0)
    return {
        "topk": [1],
        "roll": [1],
        "repeat": [2],
        "take": [places],
        "take_along_axis": [made.tensor(0)],
        "vecdot": [numbers],
    }.get(call, [])


@everywhere
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("call", OVER_AXES)
def test_a_tensor_without_axes_has_no_axis_0(call, axis, name):
    made = sl.tensor.backend(name)
    with pytest.raises(OutOfRangeError):
        apply(call, made.tensor(3.0), *extra(call, made), axis=axis)


@everywhere
@pytest.mark.parametrize("call", ["sum", "mean", "max", "prod", "logsumexp", "flip"])
@pytest.mark.parametrize("options", [{}, {"axis": None}, {"axis": ()}], ids=str)
def test_all_axes_of_a_tensor_without_axes_are_none(call, options, name):
    x = sl.tensor.backend(name).tensor(3.0)
    assert apply(call, x, **options).tolist() == 3.0


@everywhere
@pytest.mark.parametrize("axis", [2, -3, (0, 2), (0, 0), (0, -2)])
def test_a_product_over_an_axis_that_is_not_there_is_refused(axis, name):
    x = sl.tensor.backend(name).tensor(np.ones((2, 3), "f4"))
    with pytest.raises(SeqloomError):
        x.prod(axis=axis)


@everywhere
@pytest.mark.parametrize("call", ["matrix_transpose", "moveaxis"])
def test_the_axes_of_a_tensor_without_axes_are_not_moved(call, name):
    x = sl.tensor.backend(name).tensor(3.0)
    with pytest.raises(SeqloomError):
        apply(call, x, *([0, 0] if call == "moveaxis" else []))


@everywhere
def test_values_that_are_added_at_indices_are_a_tensor_of_their_length(name):
    made = sl.tensor.backend(name)
    x, index = made.tensor(np.ones(4, "f4")), made.tensor([0, 2])
    with pytest.raises(ArgumentError, match=r"src must be a tensor, got 1\.0"):
        sl.tensor.scatter_add(x, 0, index, 1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShapeError, match=r"src has shape \(1,\), index \(2,\)"):
        apply("scatter_add", x, index, made.tensor([1.0]), axis=0)


NARROW = [
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "float8_e8m0fnu",
]


@everywhere
@pytest.mark.parametrize("dtype", NARROW)
def test_floats_of_8_bits_come_back_from_every_backend(dtype, name):
    values = np.array([1, 2, 0.5], getattr(ml_dtypes, dtype))
    x = sl.tensor.backend(name).tensor(values)
    assert x.dtype.name == dtype
    assert x.numpy().view("u1").tolist() == values.view("u1").tolist()
    assert x.astype("float32").tolist() == [1, 2, 0.5]
    assert copy.deepcopy(x).tolist() == [1, 2, 0.5]
