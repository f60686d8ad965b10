"""Convolutions, windows and pooling on every backend, compared with PyTorch."""

from typing import Any

import numpy as np
import pytest
from torch.nn import functional as F

from backend_oracle import Case, assert_agrees, everywhere, found, in_both, pulled, wide

CONV1D_GEOMETRIES = [
    {},
    {"stride": 2, "padding": 3},
    {"padding": 1, "dilation": 2},
    {"stride": 3, "padding": 2, "dilation": 2, "groups": 2},
]
CONV2D_GEOMETRIES = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2},
]
DEFAULT_GEOMETRY = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}


def option_id(options: object) -> str:
    return str(options)


@everywhere
@in_both
@pytest.mark.parametrize("options", CONV1D_GEOMETRIES, ids=option_id)
def test_conv1d_and_its_gradients_equal_torch(
    options: dict[str, Any], name: str, dtype: str
):
    options = DEFAULT_GEOMETRY | options
    if name == "numpy" and options["groups"] != 1:
        options = options | {"groups": 2}
    check(name, dtype, options, F.conv1d, (2, 4, 11), (6, 4 // options["groups"], 3))


@everywhere
@in_both
@pytest.mark.parametrize("options", CONV2D_GEOMETRIES, ids=option_id)
def test_conv2d_and_its_gradients_equal_torch(
    options: dict[str, Any], name: str, dtype: str
):
    options = DEFAULT_GEOMETRY | options
    check(name, dtype, options, F.conv2d, (2, 4, 7, 8), (6, 4 // options["groups"], 3, 2))


def check(
    name: str,
    dtype: str,
    options: dict[str, Any],
    oracle,
    x: tuple[int, ...],
    weight: tuple[int, ...],
) -> None:
    """Compare a convolution and its two gradients with PyTorch's autograd."""
    import torch

    rank = f"conv{len(x) - 2}d"
    out = oracle(torch.zeros(x), torch.zeros(weight), None, **options)
    back = pulled(lambda x, w, b, shape, **o: oracle(x, w, b, **o))  # noqa: ARG005
    rng = np.random.default_rng(3)
    one, two = (rng.standard_normal(shape).astype(dtype) for shape in (x, weight))
    grad = rng.standard_normal(out.shape).astype(dtype)
    zeros = torch.zeros(6, dtype=torch.float64)

    def by_input(grad, weight, shape, **o):
        return back(grad, torch.from_numpy(one).double(), weight, zeros, shape, **o)[0]

    def by_weight(x, grad, shape, **o):
        return back(grad, x, torch.from_numpy(two).double(), zeros, shape, **o)[1:]

    with wide(name, dtype):
        b = found(name)
        assert_agrees(b, Case(rank, (one, two, (6,)), oracle, options), dtype)
        shape = list(x)
        assert_agrees(
            b, Case(f"{rank}_input_grad", (grad, two, shape), by_input, options), dtype
        )
        shape = list(weight)
        assert_agrees(
            b, Case(f"{rank}_weight_grad", (one, grad, shape), by_weight, options), dtype
        )


TRANSPOSED_GEOMETRIES = [
    {},
    {"stride": 2, "padding": 1, "output_padding": 1},
    {"dilation": 2, "groups": 2},
]


@everywhere
@in_both
@pytest.mark.parametrize("options", TRANSPOSED_GEOMETRIES, ids=option_id)
def test_transposed_convolutions_equal_torch(
    options: dict[str, Any], name: str, dtype: str
):
    with wide(name, dtype):
        for rank, tail, oracle in (
            (1, (), F.conv_transpose1d),
            (2, (2,), F.conv_transpose2d),
        ):
            groups = options.get("groups", 1)
            shapes = (2, 4, 5, *(4,) * (rank - 1)), (4, 6 // groups, 3, *tail), (6,)
            case = Case(f"conv_transpose{rank}d", shapes, oracle, options)
            assert_agrees(found(name), case, dtype)


UNFOLD_GEOMETRIES = [
    {"kernel": (2, 3)},
    {"kernel": (2, 2), "stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)},
]


def with_torch_names(function):
    """Wrap a PyTorch function so that its option `kernel_size` is called `kernel`."""
    return lambda *args, kernel, **options: function(*args, kernel_size=kernel, **options)


@everywhere
@in_both
@pytest.mark.parametrize("options", UNFOLD_GEOMETRIES, ids=option_id)
def test_unfold_and_fold_equal_torch(options: dict[str, Any], name: str, dtype: str):
    with wide(name, dtype):
        b = found(name)
        assert_agrees(
            b, Case("unfold", ((2, 3, 6, 7),), with_torch_names(F.unfold), options), dtype
        )
        import torch

        columns = tuple(
            with_torch_names(F.unfold)(torch.zeros(2, 3, 6, 7), **options).shape
        )

        def fold(x, shape, **rest):
            return with_torch_names(F.fold)(x, output_size=shape, **rest)

        case = Case("fold", (columns,), fold, options | {"shape": (6, 7)})
        assert_agrees(b, case, dtype)


POOLING_CALLS = [
    ("max_pool1d", (2, 3, 9), {"kernel": 2, "stride": 2}),
    ("max_pool1d", (2, 3, 9), {"kernel": 3, "stride": 2, "padding": 1}),
    ("max_pool2d", (2, 3, 6, 7), {"kernel": (2, 3), "stride": (2, 1)}),
    ("max_pool2d", (2, 3, 6, 7), {"kernel": 3, "stride": 2, "padding": 1}),
    ("avg_pool1d", (2, 3, 9), {"kernel": 3, "stride": 2, "padding": 1}),
    ("avg_pool2d", (2, 3, 6, 7), {"kernel": (2, 3), "stride": (2, 1), "padding": (1, 0)}),
]


@everywhere
@in_both
@pytest.mark.parametrize(("function", "shape", "options"), POOLING_CALLS, ids=str)
def test_pooling_and_its_gradient_equal_torch(function, shape, options, name, dtype):
    import torch

    more = {"return_indices": True} if function.startswith("max") else {}

    def oracle(x, **rest):
        return with_torch_names(getattr(F, function))(x, **rest, **more)

    with wide(name, dtype):
        b = found(name)
        case = Case(function, (shape,), oracle, options)
        assert_agrees(b, case, dtype)
        (x,) = case.arrays(dtype)
        out = getattr(b, function)(b.asarray(x), **options)
        first = out[0] if more else out
        grad = np.random.default_rng(5).standard_normal(first.shape).astype(dtype)
        leaf = torch.from_numpy(x).double().requires_grad_()
        made = oracle(leaf, **options)
        made = made[0] if more else made
        (expected,) = torch.autograd.grad(made, leaf, torch.from_numpy(grad).double())
        rest = (out[1], shape) if more else (shape,)
        got = getattr(b, f"{function}_grad")(
            b.asarray(grad), *rest, **({} if more else options)
        )
        np.testing.assert_allclose(b.to_numpy(got), expected, rtol=1e-5, atol=1e-5)
