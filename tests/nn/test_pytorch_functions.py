"""Functions with names of PyTorch match PyTorch on three backends, eager and compiled."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")
SL_FUNCTIONAL: Any = sl.nn.functional
TORCH_FUNCTIONAL: Any = torch.nn.functional
SL_TENSOR: Any = sl.tensor


def values(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype("float32")


TARGET_COUNTS = np.arange(12, dtype="float32").reshape(3, 4) // 2
GATHER_INDICES = np.array([[1, 0, 3], [2, 1, 0]])  # shorter than the tensors on both axes
LINE, PLANE = values(2, 3, 11), values(2, 3, 7, 8)

# name of the case: (seqloom function, PyTorch function, differentiated arguments)
FUNCTION_CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "max_pool1d, dilated": (
        lambda x: SL_FUNCTIONAL.max_pool1d(x, 3, 2, 1, 2),
        lambda x: TORCH_FUNCTIONAL.max_pool1d(x, 3, 2, 1, 2),
        [LINE],
    ),
    "max_pool1d in ceil_mode": (
        lambda x: SL_FUNCTIONAL.max_pool1d(x, 2, 2, ceil_mode=True),
        lambda x: TORCH_FUNCTIONAL.max_pool1d(x, 2, 2, ceil_mode=True),
        [LINE],
    ),
    "max_pool2d, dilated in ceil_mode": (
        lambda x: SL_FUNCTIONAL.max_pool2d(x, (2, 3), 2, 1, (2, 1), ceil_mode=True),
        lambda x: TORCH_FUNCTIONAL.max_pool2d(x, (2, 3), 2, 1, (2, 1), ceil_mode=True),
        [PLANE],
    ),
    "avg_pool1d in ceil_mode": (
        lambda x: SL_FUNCTIONAL.avg_pool1d(x, 3, 2, 1, ceil_mode=True),
        lambda x: TORCH_FUNCTIONAL.avg_pool1d(x, 3, 2, 1, ceil_mode=True),
        [values(2, 3, 10)],
    ),
    "avg_pool1d without its padding": (
        lambda x: SL_FUNCTIONAL.avg_pool1d(x, 4, 2, 2, count_include_pad=False),
        lambda x: TORCH_FUNCTIONAL.avg_pool1d(x, 4, 2, 2, count_include_pad=False),
        [LINE],
    ),
    "avg_pool2d, all options": (
        lambda x: SL_FUNCTIONAL.avg_pool2d(
            x, 3, 2, 1, ceil_mode=True, count_include_pad=False
        ),
        lambda x: TORCH_FUNCTIONAL.avg_pool2d(
            x, 3, 2, 1, ceil_mode=True, count_include_pad=False
        ),
        [PLANE],
    ),
    "avg_pool2d by another divisor": (
        lambda x: SL_FUNCTIONAL.avg_pool2d(x, 3, 2, divisor_override=5),
        lambda x: TORCH_FUNCTIONAL.avg_pool2d(x, 3, 2, divisor_override=5),
        [PLANE],
    ),
    "split": (lambda x: SL_TENSOR.split(x, 4, 2), lambda x: torch.split(x, 4, 2), [LINE]),
    "split by lengths": (
        lambda x: SL_TENSOR.split(x, [2, 0, 9], -1),
        lambda x: torch.split(x, [2, 0, 9], -1),
        [LINE],
    ),
    "chunk": (lambda x: SL_TENSOR.chunk(x, 4, 2), lambda x: torch.chunk(x, 4, 2), [LINE]),
    "cumsum": (lambda x: SL_TENSOR.cumsum(x, -1), lambda x: torch.cumsum(x, -1), [LINE]),
    "cumprod": (lambda x: SL_TENSOR.cumprod(x, 1), lambda x: torch.cumprod(x, 1), [LINE]),
    "logcumsumexp": (
        lambda x: SL_TENSOR.logcumsumexp(x, 2),
        lambda x: torch.logcumsumexp(x, 2),
        [LINE],
    ),
    "gather": (
        lambda x: SL_TENSOR.gather(x, 1, x.backend.tensor(GATHER_INDICES)),
        lambda x: torch.gather(x, 1, torch.tensor(GATHER_INDICES)),
        [values(3, 4)],
    ),
    "scatter": (
        lambda x, y: SL_TENSOR.scatter(x, 1, x.backend.tensor(GATHER_INDICES), y),
        lambda x, y: torch.scatter(x, 1, torch.tensor(GATHER_INDICES), y),
        [values(3, 4), values(2, 3, seed=1)],
    ),
    "scatter_add": (
        lambda x, y: SL_TENSOR.scatter_add(x, 1, x.backend.tensor(GATHER_INDICES), y),
        lambda x, y: torch.scatter_add(x, 1, torch.tensor(GATHER_INDICES), y),
        [values(3, 4), values(2, 3, seed=1)],
    ),
    **{
        f"interpolate, {name}": (
            lambda x, options=options: SL_FUNCTIONAL.interpolate(x, **options),
            lambda x, options=options: TORCH_FUNCTIONAL.interpolate(x, **options),
            [PLANE if "bi" in str(options.get("mode")) else LINE],
        )
        for name, options in {
            "nearest": {"size": 17},
            "nearest-exact": {"scale_factor": 0.6, "mode": "nearest-exact"},
            "linear": {"scale_factor": 1.7, "mode": "linear"},
            "bilinear": {"size": (5, 13), "mode": "bilinear"},
            "aligned": {"size": (5, 13), "mode": "bilinear", "align_corners": True},
        }.items()
    },
    **{
        f"{name} of one record": (
            lambda x, *more, name=name, given=given: getattr(SL_FUNCTIONAL, name)(
                x, *more, *given
            ),
            lambda x, *more, name=name, given=given: getattr(TORCH_FUNCTIONAL, name)(
                x, *more, *given
            ),
            arrays,
        )
        for name, given, arrays in (
            ("conv1d", (None, 2, 1), [LINE[0], values(4, 3, 3)]),
            ("conv2d", (None, 1, 1), [PLANE[0], values(4, 3, 2, 3)]),
            ("conv_transpose1d", (None, 2), [LINE[0], values(3, 4, 3)]),
            ("conv_transpose2d", (None, 2), [PLANE[0], values(3, 4, 2, 3)]),
            ("max_pool1d", (3, 2, 1), [LINE[0]]),
            ("max_pool2d", (3, 2, 1), [PLANE[0]]),
            ("avg_pool1d", (3, 2, 1), [LINE[0]]),
            ("avg_pool2d", (3, 2, 1), [PLANE[0]]),
        )
    },
    "softplus beyond a threshold": (
        lambda x: SL_FUNCTIONAL.softplus(x, 2.0, 1.0),
        lambda x: TORCH_FUNCTIONAL.softplus(x, 2.0, 1.0),
        [values(3, 4)],
    ),
    "logsigmoid": (
        SL_FUNCTIONAL.logsigmoid,
        TORCH_FUNCTIONAL.logsigmoid,
        [values(3, 4) * 30],
    ),
    "mish": (SL_FUNCTIONAL.mish, TORCH_FUNCTIONAL.mish, [values(3, 4) * 3]),
    "huber_loss": (
        lambda x: SL_FUNCTIONAL.huber_loss(x, TARGET_COUNTS, "sum", 0.7),
        lambda x: TORCH_FUNCTIONAL.huber_loss(
            x, torch.tensor(TARGET_COUNTS), "sum", delta=0.7
        ),
        [values(3, 4)],
    ),
    "glu": (
        lambda x: SL_FUNCTIONAL.glu(x, 1),
        lambda x: TORCH_FUNCTIONAL.glu(x, 1),
        [values(3, 4)],
    ),
    "poisson_nll_loss": (
        lambda x: SL_FUNCTIONAL.poisson_nll_loss(x, TARGET_COUNTS, full=True),
        lambda x: TORCH_FUNCTIONAL.poisson_nll_loss(
            x, torch.tensor(TARGET_COUNTS), full=True
        ),
        [values(3, 4)],
    ),
    "poisson_nll_loss of counts": (
        lambda x: SL_FUNCTIONAL.poisson_nll_loss(
            abs(x), TARGET_COUNTS, log_input=False, reduction="sum"
        ),
        lambda x: TORCH_FUNCTIONAL.poisson_nll_loss(
            abs(x), torch.tensor(TARGET_COUNTS), log_input=False, reduction="sum"
        ),
        [values(3, 4)],
    ),
}
libraries = pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
SLOW_BACKENDS = [pytest.param(name, marks=pytest.mark.soak) for name in ("torch", "jax")]


def several(out):
    return out if isinstance(out, tuple) else (out,)


def outcome(function, arrays, level):
    """Return the value of the function and the gradients of the sum of its squares."""
    leaves = [level.tensor(each, requires_grad=True) for each in arrays]
    out = function(*leaves)
    parts = several(out)
    total: Any = sum((each * each).sum() for each in parts)
    gradients = total.backward()
    return [each.numpy() for each in parts], [gradients.wrt(x).numpy() for x in leaves]


def pytorch_outcome(function, arrays):
    leaves = [torch.tensor(each, requires_grad=True) for each in arrays]
    out = function(*leaves)
    parts = several(out)
    total: Any = sum((each * each).sum() for each in parts)
    total.backward()
    return [each.detach().numpy() for each in parts], [x.grad.numpy() for x in leaves]


def assert_close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@libraries
@pytest.mark.parametrize("case", FUNCTION_CASES)
def test_values_and_gradients_match_pytorch_on_each_backend(library, case):
    pytest.importorskip(library)
    ours, theirs, arrays = FUNCTION_CASES[case]
    level = sl.tensor.Autodiff(sl.tensor.backend(library))
    found, wanted = outcome(ours, arrays, level), pytorch_outcome(theirs, arrays)
    assert_close(found[0], wanted[0])
    assert_close(found[1], wanted[1])


@pytest.mark.parametrize("library", ["numpy", *SLOW_BACKENDS])
def test_a_compiled_step_with_all_functions_gives_the_eager_values(library):
    pytest.importorskip(library)

    def step(*inputs):
        given = iter(inputs)
        return tuple(
            part
            for ours, _, arrays in FUNCTION_CASES.values()
            for part in several(ours(*[next(given) for _ in arrays]))
        )

    backend = sl.tensor.backend(library)
    tensors = [backend.tensor(x) for case in FUNCTION_CASES.values() for x in case[2]]
    wanted = step(*tensors)
    found = sl.tensor.compile(step)(*tensors)
    assert_close([x.numpy() for x in found], [x.numpy() for x in wanted])


@libraries
def test_pooling_indices_match_pytorch(library):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(PLANE)
    _, ours = SL_FUNCTIONAL.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True, return_indices=True)
    options = {"ceil_mode": True, "return_indices": True}
    _, theirs = TORCH_FUNCTIONAL.max_pool2d(torch.tensor(PLANE), 3, 2, 1, 2, **options)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@libraries
def test_pooling_indices_of_one_record_have_no_batch_axis(library):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(PLANE[0])
    _, ours = SL_FUNCTIONAL.max_pool2d(x, 3, 2, 1, return_indices=True)
    _, theirs = TORCH_FUNCTIONAL.max_pool2d(
        torch.tensor(PLANE[0]), 3, 2, 1, return_indices=True
    )
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@libraries
def test_one_hot_infers_the_number_of_classes(library):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(GATHER_INDICES)
    wanted = TORCH_FUNCTIONAL.one_hot(torch.tensor(GATHER_INDICES)).numpy()
    np.testing.assert_array_equal(SL_FUNCTIONAL.one_hot(x).numpy(), wanted)
    np.testing.assert_array_equal(SL_FUNCTIONAL.one_hot(x, -1).numpy(), wanted)
    with pytest.raises(sl.errors.ArgumentError, match="needs num_classes"):
        SL_FUNCTIONAL.one_hot(x[:0])


@libraries
def test_one_hot_in_a_compiled_step_needs_the_number_of_classes(library):
    pytest.importorskip(library)
    x = sl.tensor.backend(library).tensor(GATHER_INDICES)
    compiled: Any = sl.tensor.compile(SL_FUNCTIONAL.one_hot)
    with pytest.raises(sl.errors.CaptureError, match="needs num_classes"):
        compiled(x)
