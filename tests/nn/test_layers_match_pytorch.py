"""Values, gradients, running averages and state of every layer match PyTorch."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from layer_cases import LAYER_CASES, LINE

torch = pytest.importorskip("torch")

# The layers that `make test` runs on JAX and compiles with PyTorch; soak runs all layers.
CASES_TO_COMPILE = {
    "conv2d depthwise",
    "transposed 1d in strides",
    "batch norm 2d",
    "group norm",
    "PReLU 1",
}
QUICK_BACKENDS_AND_COMPILATION = {("numpy", False), ("numpy", True), ("torch", False)}
LAYERS_AND_BACKENDS = [
    pytest.param(
        case,
        library,
        compiled,
        id=f"{case}, {library}{', compiled' * compiled}",
        marks=[]
        if (library, compiled) in QUICK_BACKENDS_AND_COMPILATION or case in CASES_TO_COMPILE
        else [pytest.mark.soak],
    )
    for compiled in (False, True)
    for library in ("numpy", "torch", "jax")
    for case in LAYER_CASES
]


def make_twins(case, library) -> tuple[Any, Any]:
    """Return a seqloom layer and the PyTorch layer with the same parameters."""
    name, options, _ = LAYER_CASES[case]
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(**options)
    with torch.no_grad():
        for value in theirs.parameters():
            value.copy_(torch.randn_like(value))
    ours = getattr(sl.nn, name)(**options).bind(library, sl.Key(0))
    state = {path: value.numpy() for path, value in theirs.state_dict().items()}
    return ours.load_state_dict(state), theirs


def values(shape, seed):
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype("f4") * 2 + 0.5


def step(layer, x, factors):
    """Return the output of a layer, and gradients for the input and the parameters."""

    def loss_of(layer, x, factors):
        out = layer(x)
        return (out * out * factors).sum(), out

    _, out, slopes = sl.nn.value_and_grad(loss_of, inputs=(0,))(layer, x, factors)
    return out, slopes.wrt(x), *(slopes.wrt(param) for _, param in layer.parameters())


def run_pytorch(layer, x, factors):
    layer.zero_grad()
    x = torch.tensor(x, requires_grad=True)
    out = layer(x)
    (out * out * torch.tensor(factors)).sum().backward()
    slopes = [value.grad for value in layer.parameters()]
    return [part.detach().numpy() for part in (out, x.grad, *slopes)]


def assert_close(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        one, other = np.asarray(one), np.asarray(other)  # noqa: PLW2901
        assert one.shape == other.shape
        assert abs(one - other).max() <= 1e-5 * max(abs(other).max(), 1e-3)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize(("case", "library", "compiled"), LAYERS_AND_BACKENDS)
def test_each_layer_matches_pytorch(case, library, compiled):
    pytest.importorskip(library)
    ours, theirs = make_twins(case, library)
    backend, shape = sl.tensor.backend(library), LAYER_CASES[case][2]
    run = sl.tensor.compile(step) if compiled else step
    factors = values(theirs(torch.tensor(values(shape, 0))).shape, 9)
    theirs.load_state_dict({p: torch.tensor(v) for p, v in ours.state_dict().items()})
    for seed in (1, 2, 3, None):
        if seed is None:  # the last iteration is in evaluation mode
            ours.eval(), theirs.eval()
        x = values(shape, seed or 0)
        found = run(ours, backend.tensor(x), backend.tensor(factors))
        assert_close([part.numpy() for part in found], run_pytorch(theirs, x, factors))
    state, wanted = ours.state_dict(), theirs.state_dict()
    assert list(state) == list(wanted)
    assert_close(state.values(), wanted.values())


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_running_averages_stay_float32_in_a_16_bit_model(library):
    pytest.importorskip(library)
    layer = sl.nn.BatchNorm1d(4).bind(library, sl.Key(0)).to(library, "float16")
    theirs = torch.nn.BatchNorm1d(4)
    x = values(LINE, 0)
    for _ in range(3):
        assert layer(layer.backend.tensor(x).astype("float16")).dtype == "float16"
        theirs(torch.tensor(x))
    state = layer.state_dict()
    assert state["num_batches_tracked"] == 3
    assert state["running_var"].dtype == "float32"
    np.testing.assert_allclose(state["running_var"], theirs.running_var, rtol=2e-3)
    evaluated = layer.eval()(layer.backend.tensor(x).astype("float16"))
    assert evaluated.dtype == "float16"
    wanted = theirs.eval()(torch.tensor(x)).detach()
    np.testing.assert_allclose(evaluated.numpy(), wanted, atol=2e-2)
