"""Results and gradients at extreme inputs equal those of PyTorch on every backend."""

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

EXTREME_INPUTS = np.array(
    [0, 1e-30, -1e-8, 0.5, -5, 20, 88, -89, 104, 1e20, -1e20, np.inf, -np.inf, np.nan], "f4"
)
UNARY_FUNCTIONS = {
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
EXTREME_OPERANDS = np.array(
    [0, -0.0, 1, -1, 2, 0.5, -3, 1e-30, 1e10, np.inf, -np.inf], "f4"
)
BINARY_FUNCTIONS = {"pow": torch.pow, "logaddexp": torch.logaddexp, "atan2": torch.atan2}


def run(call: Any, arrays: Any, name: str) -> tuple[Any, list[Any]]:
    """Return the result of a function, and the gradients of the summed result."""
    level = sl.tensor.Autodiff(found(name))
    leaves = [level.tensor(array, requires_grad=True) for array in arrays]
    with np.errstate(all="ignore"):
        out = call(*leaves)
        gradients = out.sum().backward()
        return out.numpy(), [gradients.wrt(leaf).numpy() for leaf in leaves]


def run_torch(call: Any, arrays: Any) -> tuple[Any, list[Any]]:
    """Return the result of a PyTorch function, and the gradients of the summed result."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    out = call(*leaves)
    parts = torch.autograd.grad(out.sum(), leaves)
    return out.detach().numpy(), [part.numpy() for part in parts]


def assert_results_close(ours: Any, theirs: Any, *, absolute: float = 1e-37) -> None:
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=absolute)
    for mine, their in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(mine, their, rtol=1e-3, atol=absolute)


@everywhere
@pytest.mark.parametrize("operation", UNARY_FUNCTIONS)
def test_functions_and_gradients_equal_torch_at_extreme_inputs(operation, name):
    # The tolerance covers the values that PyTorch's expm1 rounds to 0.
    absolute = 1e-6 if operation in {"expm1", "tanh"} else 1e-37
    theirs = run_torch(UNARY_FUNCTIONS[operation], [EXTREME_INPUTS])
    ours = run(lambda x: apply(operation, x), [EXTREME_INPUTS], name)
    assert_results_close(ours, theirs, absolute=absolute)


@pytest.mark.parametrize("operation", ["sinh", "cosh"])
def test_default_implementations_overflow_only_if_the_result_does(operation):
    b = found("strict")
    with np.errstate(all="ignore"):
        ours = b.to_numpy(getattr(b, operation)(b.asarray(EXTREME_INPUTS)))
    np.testing.assert_allclose(
        ours, UNARY_FUNCTIONS[operation](torch.tensor(EXTREME_INPUTS)), rtol=1e-5
    )


@everywhere
@pytest.mark.parametrize("operation", BINARY_FUNCTIONS)
def test_binary_functions_and_gradients_equal_torch_at_extreme_inputs(operation, name):
    arrays = [each.ravel() for each in np.meshgrid(EXTREME_OPERANDS, EXTREME_OPERANDS)]
    if operation == "atan2":  # PyTorch returns 0 at a tiny radius
        arrays = [each[np.hypot(*arrays) != np.float32(1e-30)] for each in arrays]
        arrays = [each[np.maximum(*np.abs(arrays)) > 1e-20] for each in arrays]
        arrays = [np.append(each, np.float32(0)) for each in arrays]
    ours = run(lambda x, y: apply(operation, x, y), arrays, name)
    assert_results_close(ours, run_torch(BINARY_FUNCTIONS[operation], arrays))


@pytest.mark.filterwarnings("ignore:.*egrees of freedom")  # NumPy and PyTorch warn
@everywhere
@pytest.mark.parametrize("operation", ["var", "std"])
@pytest.mark.parametrize("values", [[3.0], [1.0, 4.0], [2.0, 2.0]], ids=str)
def test_the_gradient_of_a_variance_without_degrees_of_freedom_is_nan(
    values, operation, name
):
    array = np.array(values, "f4")
    count = float(len(values))
    call = getattr(torch, operation)
    theirs = run_torch(lambda x: call(x, correction=count), [array])
    ours = run(lambda x: apply(operation, x, correction=count), [array], name)
    assert_results_close(ours, theirs)


@pytest.mark.filterwarnings("ignore:.*egrees of freedom")  # NumPy and PyTorch warn
@everywhere
def test_the_variance_is_infinite_if_the_correction_exceeds_the_count(name):
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
def test_booleans_can_be_sorted_and_have_a_maximum(name):
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
def test_an_integer_divided_by_0_is_0(by, name):
    b = found(name)
    x, zero = b.tensor(np.array([7, -7, 0], "i4")), b.tensor(np.zeros(3, "i4"))
    with np.errstate(all="ignore"):
        divisor = zero if by == "array" else 0
        assert apply("floor_divide", x, divisor).tolist() == [0, 0, 0]
        assert apply("remainder", x, divisor).tolist() == [0, 0, 0]
    assert (x // 2).tolist() == [3, -4, 0]
    assert (x % b.tensor(np.array([4, 4, 4], "i4"))).tolist() == [3, 1, 0]


@everywhere
def test_negative_axes_count_from_the_end(name):
    array = np.arange(6, dtype="f4").reshape(1, 2, 3)
    x = found(name).tensor(array)
    turned = apply("permute_dims", x, (-1, 0, -2)).numpy()
    np.testing.assert_array_equal(turned, array.transpose(-1, 0, -2))


@everywhere
def test_softmax_treats_a_scalar_as_a_row(name):
    one = np.array(3.0, "f4")
    for operation, value in (("softmax", 1.0), ("log_softmax", 0.0)):
        for axis in (0, -1):
            call = lambda x, f=operation, axis=axis: apply(f, x, axis=axis)  # noqa: E731
            out, (slope,) = run(call, [one], name)
            assert out.shape == slope.shape == ()
            assert (out, slope) == (value, 0.0)


@everywhere
def test_softmax_rejects_integers(name):
    for kind in ("i4", "u1"):
        x = found(name).tensor(np.array([0, 1, 2], kind))
        for operation in ("softmax", "log_softmax"):
            with pytest.raises(sl.errors.DTypeError):
                apply(operation, x)


@everywhere
def test_logsumexp_accepts_integers_and_empty_arrays(name):
    b = found(name)
    x = b.tensor(np.array([[0, 1], [2, 3]], "i4"))
    expected = torch.logsumexp(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), 1)
    np.testing.assert_allclose(apply("logsumexp", x, axis=1).numpy(), expected, rtol=1e-6)
    with np.errstate(divide="ignore"):
        none = apply("logsumexp", b.tensor(np.zeros((0, 2), "f4")), axis=0)
    assert none.tolist() == [-np.inf, -np.inf]


@everywhere
def test_vecdot_conjugates_the_first_complex_vector(name):
    x, y = np.array([1 + 2j, 3j], "c8"), np.array([2 - 1j, 1 + 1j], "c8")
    b = found(name)
    found_product = apply("vecdot", b.tensor(x), b.tensor(y)).numpy()
    np.testing.assert_allclose(found_product, np.vecdot(x, y), rtol=1e-6)


@everywhere
@pytest.mark.parametrize("pair", [(-1, 2), (2, -1), (-1, -1), (-2, 3), (3, -2), (5, 0)])
def test_circular_padding_is_applied_after_cropping_by_negative_widths(pair, name):
    row = np.arange(5, dtype="f4")[None, None]
    expected = torch.nn.functional.pad(torch.tensor(row), pair, mode="circular")
    padded = sl.nn.functional.pad(found(name).tensor(row), pair, mode="circular")
    np.testing.assert_array_equal(padded.numpy(), expected)


@everywhere
def test_circular_padding_of_an_empty_axis_is_an_error(name):
    row = found(name).tensor(np.arange(3, dtype="f4")[None, None])
    with pytest.raises(ShapeError, match="circular"):
        sl.nn.functional.pad(row, (-3, 1), mode="circular")


@everywhere
@pytest.mark.parametrize("operation", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, None])
def test_the_maximum_of_an_empty_axis_is_an_error(axis, operation, name):
    x = found(name).tensor(np.zeros((0, 3), "f4"))
    with pytest.raises(ShapeError):
        apply(operation, x, axis=axis)


@everywhere
@pytest.mark.parametrize("operation", ["cumulative_sum", "cumulative_prod"])
def test_cumulative_functions_of_a_matrix_need_an_axis(operation, name):
    with pytest.raises(ShapeError):
        apply(operation, found(name).tensor(np.ones((2, 3), "f4")))


@everywhere
def test_products_of_small_integers_do_not_overflow(name):
    x = found(name).tensor(np.full(6, 7, "u1"))
    assert apply("cumulative_prod", x).tolist() == [7, 49, 343, 2401, 16807, 117649]


@everywhere
def test_the_gradient_of_an_empty_product_is_empty(name):
    _, (slope,) = run(lambda x: apply("prod", x, axis=1), [np.zeros((0, 3), "f4")], name)
    assert slope.shape == (0, 3)


def test_the_sign_of_booleans_is_an_error():
    for name in ("numpy", "torch", "jax"):
        with pytest.raises(SeqloomError):
            apply("sign", found(name).tensor(np.array([True])))


NAN = float("nan")
SPECIAL_NUMBERS = np.array([NAN, 0, 1, -1, np.inf, -np.inf], "f4")
SPECIAL_FUNCTIONS = {
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


def run_compiled(call: Any, arrays: Any, name: str) -> tuple[Any, list[Any]]:
    """Return the results of `run`, computed by one compiled program."""

    def step(*given: Any) -> tuple[Any, Any]:
        places = tuple(range(len(given)))
        return call(*given), sl.tensor.grad(lambda *xs: call(*xs).sum(), places)(*given)

    tensors = [found(name).tensor(array) for array in arrays]
    with np.errstate(all="ignore"):
        out, slopes = sl.tensor.compile(step)(*tensors)
        return out.numpy(), [each.numpy() for each in slopes]


@pytest.mark.parametrize("name", ["strict", "numpy", "torch", "jax"])
@pytest.mark.parametrize("function", SPECIAL_FUNCTIONS)
def test_gradients_at_nan_and_infinity_equal_torch(function, name):
    ours, theirs = SPECIAL_FUNCTIONS[function]
    expected = run_torch(theirs, [SPECIAL_NUMBERS])
    assert_results_close(run(ours, [SPECIAL_NUMBERS], name), expected)


@pytest.mark.parametrize("size", [6, 30_000])  # operations on the larger size are fused
@pytest.mark.parametrize("name", ["numpy", "jax"])
@pytest.mark.parametrize("function", SPECIAL_FUNCTIONS)
def test_compiled_gradients_at_nan_and_infinity_equal_torch(function, name, size):
    ours, theirs = SPECIAL_FUNCTIONS[function]
    array = np.resize(SPECIAL_NUMBERS, size)
    assert_results_close(run_compiled(ours, [array], name), run_torch(theirs, [array]))


MAXIMUM_FUNCTIONS = {"maximum": torch.maximum, "minimum": torch.minimum}


@pytest.mark.parametrize("name", ["strict", "numpy", "torch", "jax"])
@pytest.mark.parametrize("function", MAXIMUM_FUNCTIONS)
def test_gradients_of_maximum_equal_torch_at_ties_and_nan(function, name):
    pairs = [each.ravel() for each in np.meshgrid(SPECIAL_NUMBERS, SPECIAL_NUMBERS)]
    expected = run_torch(MAXIMUM_FUNCTIONS[function], pairs)
    assert_results_close(run(lambda x, y: apply(function, x, y), pairs, name), expected)


@pytest.mark.parametrize("repeats", [1, 1000])
@pytest.mark.parametrize("name", ["numpy", "jax"])
@pytest.mark.parametrize("function", MAXIMUM_FUNCTIONS)
def test_compiled_gradients_of_maximum_equal_torch(function, name, repeats):
    pairs = [
        np.tile(each.ravel(), repeats)
        for each in np.meshgrid(SPECIAL_NUMBERS, SPECIAL_NUMBERS)
    ]
    found_ = run_compiled(lambda x, y: apply(function, x, y), pairs, name)
    assert_results_close(found_, run_torch(MAXIMUM_FUNCTIONS[function], pairs))


def test_compiled_gradients_on_the_torch_backend_equal_torch():
    pytest.importorskip("torch")
    call = lambda x: F.relu(x) + apply("maximum", x, 0.0)  # noqa: E731
    theirs = lambda x: torch.relu(x) + torch.maximum(x, torch.tensor(0.0))  # noqa: E731
    assert_results_close(
        run_compiled(call, [SPECIAL_NUMBERS], "torch"), run_torch(theirs, [SPECIAL_NUMBERS])
    )


PRODUCTS_WITH_MISMATCHED_AXES = [
    ("tensordot", (2, 3), (1, 2), {"axes": 1}),
    ("tensordot", (2, 1), (3, 2), {"axes": 1}),
    ("tensordot", (2, 3), (2, 1), {"axes": ((0, 1), (0, 1))}),
    ("vecdot", (3,), (1,), {}),
    ("vecdot", (2, 1), (3,), {}),
    ("vecdot", (2, 3), (3,), {"axis": 0}),
    ("linear", (2, 3), (4, 1), {}),
]


@everywhere
@pytest.mark.parametrize(("call", "one", "other", "options"), PRODUCTS_WITH_MISMATCHED_AXES)
def test_products_do_not_broadcast_a_summed_axis_of_length_1(
    call, one, other, options, name
):
    make = sl.tensor.backend(name).tensor
    x, y = (make(np.ones(shape, "f4")) for shape in (one, other))
    with pytest.raises(ShapeError):
        apply(call, x, y, **options)


@everywhere
def test_a_bias_of_the_wrong_length_is_an_error(name):
    make = sl.tensor.backend(name).tensor
    x, weight, bias = (make(np.ones(shape, "f4")) for shape in ((2, 3), (4, 3), (1,)))
    with pytest.raises(ShapeError, match=r"bias: expected shape \[4\], got \[1\]"):
        apply("linear", x, weight, bias)


@everywhere
def test_an_einsum_diagonal_does_not_depend_on_elements_off_the_diagonal(name):
    x = sl.tensor.backend(name).tensor([[1.0, np.nan], [np.inf, 2.0]])
    assert sl.tensor.einsum("ii->i", x).numpy().tolist() == [1.0, 2.0]


@everywhere
def test_einsum_rejects_the_diagonal_of_a_rectangular_matrix(name):
    with pytest.raises(ShapeError, match="einsum"):
        sl.tensor.einsum("ii->i", sl.tensor.backend(name).tensor([[1.0, 2.0]]))


FUNCTIONS_WITH_AXIS = [
    *("all", "any", "argmax", "argmin", "count_nonzero", "flip", "logsumexp", "max"),
    *("mean", "min", "prod", "std", "sum", "var", "argsort", "sort", "cumulative_prod"),
    *("cumulative_sum", "logcumsumexp", "squeeze", "unstack", "topk", "roll", "repeat"),
    *("take", "take_along_axis", "vecdot", "diff"),
]


def extra_arguments(call, made):
    """Return the additional arguments of a function over an axis."""
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
@pytest.mark.parametrize("call", FUNCTIONS_WITH_AXIS)
def test_a_scalar_tensor_has_no_axis_0(call, axis, name):
    made = sl.tensor.backend(name)
    with pytest.raises(OutOfRangeError):
        apply(call, made.tensor(3.0), *extra_arguments(call, made), axis=axis)


@everywhere
@pytest.mark.parametrize("call", ["sum", "mean", "max", "prod", "logsumexp", "flip"])
@pytest.mark.parametrize("options", [{}, {"axis": None}, {"axis": ()}], ids=str)
def test_reducing_all_axes_of_a_scalar_tensor_returns_the_tensor(call, options, name):
    x = sl.tensor.backend(name).tensor(3.0)
    assert apply(call, x, **options).tolist() == 3.0


@everywhere
@pytest.mark.parametrize("axis", [2, -3, (0, 2), (0, 0), (0, -2)])
def test_a_product_over_a_missing_axis_is_an_error(axis, name):
    x = sl.tensor.backend(name).tensor(np.ones((2, 3), "f4"))
    with pytest.raises(SeqloomError):
        x.prod(axis=axis)


@everywhere
@pytest.mark.parametrize("call", ["matrix_transpose", "moveaxis"])
def test_moving_axes_of_a_scalar_tensor_is_an_error(call, name):
    x = sl.tensor.backend(name).tensor(3.0)
    with pytest.raises(SeqloomError):
        apply(call, x, *([0, 0] if call == "moveaxis" else []))


@everywhere
def test_scatter_add_needs_a_source_tensor_of_the_index_length(name):
    made = sl.tensor.backend(name)
    x, index = made.tensor(np.ones(4, "f4")), made.tensor([0, 2])
    with pytest.raises(ArgumentError, match=r"src must be a tensor, got 1\.0"):
        sl.tensor.scatter_add(x, 0, index, 1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShapeError, match=r"src has shape \(1,\), index has shape \(2,\)"):
        apply("scatter_add", x, index, made.tensor([1.0]), axis=0)


FLOAT8_TYPES = [
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "float8_e8m0fnu",
]


@everywhere
@pytest.mark.parametrize("dtype", FLOAT8_TYPES)
def test_8_bit_floats_keep_their_values_on_every_backend(dtype, name):
    values = np.array([1, 2, 0.5], getattr(ml_dtypes, dtype))
    x = sl.tensor.backend(name).tensor(values)
    assert x.dtype.name == dtype
    assert x.numpy().view("u1").tolist() == values.view("u1").tolist()
    assert x.astype("float32").tolist() == [1, 2, 0.5]
    assert copy.deepcopy(x).tolist() == [1, 2, 0.5]
