"""GRU and LSTM match PyTorch on every backend, eager and compiled."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ShapeError

torch = pytest.importorskip("torch")
utils = torch.nn.utils.rnn

LAYER_NAMES = ["GRU", "LSTM"]
SEQUENCE_LENGTHS = [6, 2, 4]
MASK_OF_REAL_POSITIONS = np.arange(6) < np.array(SEQUENCE_LENGTHS)[:, None]
INPUT_ARRAY = np.random.default_rng(0).normal(size=(3, 6, 5)).astype("float32")
INITIAL_STATES = np.random.default_rng(1).normal(size=(4, 3, 7)).astype("float32")
# Each case compiles another loop in XLA or PyTorch, which takes some seconds.
SLOW_BACKENDS = [pytest.param(name, marks=pytest.mark.soak) for name in ("torch", "jax")]


def make_backend(name):
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name, num_threads=1)


def make_pair(kind, backend, *sizes, **options):
    """Return a PyTorch layer and a seqloom layer with its state dict."""
    torch.manual_seed(0)
    theirs = getattr(torch.nn, kind)(*sizes, batch_first=True, **options)
    ours = getattr(sl.nn, kind)(*sizes, **options).bind(backend, 0)
    return theirs, ours.load_state_dict(theirs.state_dict())


def list_states(states):
    return list(states) if isinstance(states, tuple) else [states]


def first_of(kind, make):
    return (
        make(INITIAL_STATES)
        if kind == "GRU"
        else (make(INITIAL_STATES), make(-INITIAL_STATES))
    )


def total(out, last):
    return (out * out).sum() + sum((state * state * state).sum() for state in last)


def run_torch(layer, x, first, *, padded):
    """Return the outputs and last states of the PyTorch layer; padded input is packed."""
    if not padded:
        out, last = layer(x, first)
        return out, list_states(last)
    lengths = torch.tensor(SEQUENCE_LENGTHS)
    packed = utils.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, last = layer(packed, first)
    return utils.pad_packed_sequence(out, batch_first=True)[0], list_states(last)


def compare(kind, backend, *, padded, compiled=False):
    """Compare outputs and gradients of two bidirectional layers with PyTorch."""
    theirs, ours = make_pair(kind, backend, 5, 7, 2, bidirectional=True)
    expected, last = run_torch(
        theirs, torch.tensor(INPUT_ARRAY), first_of(kind, torch.tensor), padded=padded
    )
    total(expected, last).backward()
    first = first_of(kind, backend.tensor)
    x = (
        np.where(MASK_OF_REAL_POSITIONS[:, :, None], INPUT_ARRAY, np.nan)
        if padded
        else INPUT_ARRAY
    )

    def loss(model, x, mask):
        out, last = model(x, first, mask=mask)
        return total(out, list_states(last))

    def step(model, x, mask):
        _, grads = sl.nn.value_and_grad(loss)(model, x, mask)
        return [grads.wrt(param) for _, param in model.parameters()]

    step = sl.tensor.compile(step) if compiled else step
    mask = backend.tensor(MASK_OF_REAL_POSITIONS) if padded else None
    grads = step(ours, backend.tensor(x), mask)
    out = ours(backend.tensor(x), first, mask=mask)[0].numpy()
    np.testing.assert_allclose(out, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    params = dict(theirs.named_parameters())
    for (path, _), found in zip(ours.parameters(), grads, strict=True):
        wanted = params[path].grad.numpy()
        # A gradient is a sum over positions and sequences, so the tolerance is relative
        # to the largest gradient.
        least = 1e-5 * abs(wanted).max()
        values = np.asarray(found.numpy() if hasattr(found, "numpy") else found)
        np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=least, err_msg=path)


@pytest.mark.parametrize("kind", LAYER_NAMES)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ["numpy", "torch", SLOW_BACKENDS[1]])
def test_bidirectional_layers_match_pytorch(name, padded, kind):
    compare(kind, make_backend(name), padded=padded)


@pytest.mark.parametrize("kind", LAYER_NAMES)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", ["numpy", *SLOW_BACKENDS])
def test_compiled_recurrent_layers_match_pytorch(name, padded, kind):
    compare(kind, make_backend(name), padded=padded, compiled=True)


def test_recurrent_layers_on_jax_match_pytorch():
    backend = make_backend("jax")
    theirs, ours = make_pair("GRU", backend, 5, 7)
    expected, last = theirs(torch.tensor(INPUT_ARRAY))
    found, state = ours(backend.tensor(INPUT_ARRAY))
    np.testing.assert_allclose(
        found.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(state.numpy(), last.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", LAYER_NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_recurrent_kernel_equals_the_default_implementation(reverse, dtype, kind):
    kernel, plain = make_backend("numpy"), sl.tensor.Backend
    states = 1 if kind == "GRU" else 2
    gates = 3 if kind == "GRU" else 4
    rng = np.random.default_rng(0)
    # The width and the number of sequences are not multiples of the register or tile
    # size.
    shapes = [(7, 6, 5), *[(7, 19)] * states, (19 * gates, 5), (19 * gates, 19)]
    shapes += [(19 * gates,)] * 2
    arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    mask = rng.random((7, 6)) > 0.4  # padding at any position
    run = kind.lower()
    outs = getattr(kernel, run)(*arrays, mask, reverse=reverse)
    expected = getattr(plain, run)(kernel, *arrays, mask, reverse=reverse)
    close: dict[str, Any] = {"rtol": 1e-5 if dtype == "float32" else 1e-11, "atol": 1e-6}
    for found, wanted in zip(outs[:-1], expected[:-1], strict=True):
        np.testing.assert_allclose(found, wanted, **close)
    grads = [rng.normal(size=out.shape).astype(dtype) for out in outs[:-1]]
    given = *grads, *arrays, mask, outs[0], outs[-1]
    found = getattr(kernel, f"{run}_grad")(*given, reverse=reverse)
    wanted = getattr(plain, f"{run}_grad")(kernel, *given, reverse=reverse)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("kind", LAYER_NAMES)
def test_recurrent_layers_are_bitwise_equal_for_any_number_of_threads(kind, threads):
    layers = []
    for count in (1, threads):
        backend = sl.tensor.backend("numpy", num_threads=count)
        x = np.random.default_rng(0).normal(size=(13, 20, 32)).astype("float32")
        layer = getattr(sl.nn, kind)(32, 64).bind(backend, 0)
        layers.append(layer(backend.tensor(x))[0].numpy())
    np.testing.assert_array_equal(*layers)


@pytest.mark.parametrize("kind", LAYER_NAMES)
def test_recurrent_layers_give_equal_results_for_lengths_masks_and_packing(kind):
    backend = make_backend("numpy")
    layer = getattr(sl.nn, kind)(5, 7, 2, bidirectional=True).bind(backend, 0)
    by_mask, last = layer(
        backend.tensor(INPUT_ARRAY), mask=MASK_OF_REAL_POSITIONS.astype("float32")
    )
    by_length, last_by_length = layer(backend.tensor(INPUT_ARRAY), lengths=SEQUENCE_LENGTHS)
    bounds = np.cumsum([0, *SEQUENCE_LENGTHS])
    packed, last_packed = layer(
        backend.tensor(INPUT_ARRAY[MASK_OF_REAL_POSITIONS]), cu_seqlens=bounds
    )
    np.testing.assert_array_equal(by_mask.numpy(), by_length.numpy())
    np.testing.assert_array_equal(by_mask.numpy()[MASK_OF_REAL_POSITIONS], packed.numpy())
    assert not by_mask.numpy()[~MASK_OF_REAL_POSITIONS].any()
    for one, other, third in zip(
        *map(list_states, (last, last_by_length, last_packed)), strict=True
    ):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
        np.testing.assert_array_equal(one.numpy(), third.numpy())


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_an_empty_sequence_keeps_its_initial_state(name):
    backend = make_backend(name)
    layer = sl.nn.LSTM(5, 7).bind(backend, 0)
    first = backend.tensor(INITIAL_STATES[:1]), backend.tensor(-INITIAL_STATES[:1])
    out, (last, cell) = layer(backend.tensor(INPUT_ARRAY), first, lengths=[6, 0, 4])
    assert not out.numpy()[1].any()
    np.testing.assert_array_equal(last.numpy()[0, 1], INITIAL_STATES[0, 1])
    np.testing.assert_array_equal(cell.numpy()[0, 1], -INITIAL_STATES[0, 1])


def test_time_first_input_gives_time_first_output():
    backend = make_backend("numpy")
    layer = sl.nn.GRU(5, 7).bind(backend, 0)
    other = sl.nn.GRU(5, 7, batch_first=False).bind(backend, 0)
    out, last = layer(backend.tensor(INPUT_ARRAY))
    found, state = other(backend.tensor(INPUT_ARRAY.swapaxes(0, 1)))
    np.testing.assert_array_equal(found.numpy(), out.numpy().swapaxes(0, 1))
    np.testing.assert_array_equal(state.numpy(), last.numpy())


def test_a_recurrent_layer_accepts_one_sequence_without_a_batch_axis():
    layer = sl.nn.LSTM(5, 7).bind("numpy", 0)
    out, (last, cell) = layer(layer.backend.tensor(INPUT_ARRAY[0]))
    assert (out.shape, last.shape, cell.shape) == ((6, 7), (1, 7), (1, 7))
    np.testing.assert_allclose(
        out.numpy(), layer(layer.backend.tensor(INPUT_ARRAY))[0].numpy()[0]
    )


def test_recurrent_parameters_have_pytorch_names():
    theirs = torch.nn.GRU(5, 7, 2, bidirectional=True)
    ours = sl.nn.GRU(5, 7, 2, bidirectional=True)
    expected = {name: tuple(values.shape) for name, values in theirs.state_dict().items()}
    assert {path: param.shape for path, param in ours.parameters()} == expected


def test_dropout_between_layers_needs_a_key_in_training():
    layer = sl.nn.GRU(5, 7, 2, dropout=0.5).bind("numpy", 0)
    x = layer.backend.tensor(INPUT_ARRAY)
    with pytest.raises(ArgumentError, match="key=sl"):
        layer(x)
    dropped = layer(x, key=sl.Key(1))[0].numpy()
    np.testing.assert_array_equal(dropped, layer(x, key=sl.Key(1))[0].numpy())
    assert (dropped != layer.eval()(x)[0].numpy()).any()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lengths": [6, 7, 1]}, ArgumentError, "lengths must be 3 integers from 0 to 6"),
        ({"mask": [[1, 0]]}, ShapeError, r"mask must have shape \(3, 6\)"),
        (
            {"mask": MASK_OF_REAL_POSITIONS, "lengths": SEQUENCE_LENGTHS},
            ArgumentError,
            "one of mask and lengths",
        ),
        ({"cu_seqlens": [0, 3]}, ShapeError, r"expected x \(total, in\)"),
    ],
)
def test_recurrent_layers_reject_inputs_of_the_wrong_shape(options, error, message):
    layer = sl.nn.GRU(5, 7).bind("numpy", 0)
    with pytest.raises(error, match=message):
        layer(layer.backend.tensor(INPUT_ARRAY), **options)


def test_an_initial_state_of_another_shape_is_rejected():
    layer = sl.nn.GRU(5, 7, 2).bind("numpy", 0)
    with pytest.raises(ShapeError, match=r"first state of shape \(2, 3, 7\)"):
        layer(layer.backend.tensor(INPUT_ARRAY), layer.backend.tensor(INITIAL_STATES[:1]))


def test_second_derivatives_match_pytorch():
    theirs = torch.nn.GRU(2, 3, batch_first=True).double()
    ours = sl.nn.GRU(2, 3).bind("numpy", 0).load_state_dict(theirs.state_dict())
    ours = ours.to("numpy", "float64").load_state_dict(theirs.state_dict())
    x, way = np.random.default_rng(2).normal(size=(2, 2, 4, 2))
    points = ours.backend.tensor(x), ours.backend.tensor(way)
    _, found = sl.tensor.hvp(lambda x: (ours(x)[0] ** 2).sum(), *points)
    expected = torch.autograd.functional.hvp(
        lambda x: (theirs(x)[0] ** 2).sum(), torch.tensor(x), torch.tensor(way)
    )[1]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-8)


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_a_batch_without_positions_is_an_error(kind):
    layer = getattr(sl.nn, kind)(4, 3).bind("numpy", sl.Key(0))
    with pytest.raises(ShapeError, match="at least one position, got length 0"):
        layer(layer.backend.tensor(np.zeros((2, 0, 4), "f4")))
